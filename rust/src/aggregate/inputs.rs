//! Inputs of keys and functions: columns, struct members, and the rows that a query finds.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::DataType;
use tantivy::BitSet;

use super::functions::mask_block;
use super::raw::{Block, Raw};
use super::request::{Call, Function, Key, Request};
use crate::columns::Docs;
use crate::error::{EngineError, Result};
use crate::open::{Column, Split};
use crate::query::Node;
use crate::search;
use crate::split::Encoding;

/// A member inside a struct column, as a column of its own.
pub struct Member {
    column: Column,
    path: Vec<String>,
}

/// The members that a request names, by name.
pub fn members(split: &Split, request: &Request) -> Result<HashMap<String, Member>> {
    let mut found = HashMap::new();
    for field in request.fields() {
        if let Some((outer, path)) = split.layout.resolve(field)
            && !path.is_empty()
        {
            let kind = member_type(&outer.data_type, &path).ok_or_else(|| {
                EngineError::bad_query(format!("`{field}` is not a member of a struct"))
            })?;
            let scale = if let DataType::Decimal128(_, scale) = kind { *scale } else { 0 };
            let column = Column::computed(&outer.name, kind.clone(), Encoding::Null, scale);
            found.insert(field.to_owned(), Member { column, path });
        }
    }
    Ok(found)
}

fn member_type<'t>(kind: &'t DataType, path: &[String]) -> Option<&'t DataType> {
    let Some((first, rest)) = path.split_first() else { return Some(kind) };
    let DataType::Struct(fields) = kind else { return None };
    member_type(fields.find(first)?.1.data_type(), rest)
}

/// One column that keys or functions need, read once per block.
pub struct Input<'a> {
    pub column: Option<&'a Column>,
    pub raw: Raw,
    /// Documents with a value, if a request needs nothing else of a column that is slow to read.
    present: Option<BitSet>,
    /// Documents whose values count.
    only: Option<BitSet>,
}

impl Input<'_> {
    pub fn read(&mut self, docs: &Docs<'_>) -> Result<Block> {
        let mask = |found: &BitSet| -> Vec<bool> {
            (0..docs.len()).map(|at| found.contains(docs.get(at))).collect()
        };
        if let Some(present) = &self.present {
            return Ok(mask_block(mask(present)));
        }
        let block = self.raw.read(docs)?;
        match &self.only {
            Some(only) => block.only(&mask(only)),
            None => Ok(block),
        }
    }
}

/// What a column is read for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Need {
    Presence,
    Order,
    Values,
}

/// The inputs of one segment; what several keys or functions need is read once.
pub struct Inputs<'a> {
    split: &'a Arc<Split>,
    segment: usize,
    members: &'a HashMap<String, Member>,
    known: Vec<(String, Need, Option<&'a Node>)>,
    pub each: Vec<Input<'a>>,
}

impl<'a> Inputs<'a> {
    pub fn new(
        split: &'a Arc<Split>,
        segment: usize,
        members: &'a HashMap<String, Member>,
    ) -> Inputs<'a> {
        Inputs { split, segment, members, known: Vec::new(), each: Vec::new() }
    }

    /// The position of a key's input.
    pub fn of_key(&mut self, key: &Key) -> Result<usize> {
        let need = if matches!(key, Key::Column { .. }) { Need::Order } else { Need::Values };
        self.find(key.field(), need, None)
    }

    /// The position of a function's input; a count of all rows has none.
    pub fn of_call(&mut self, call: &'a Call) -> Result<Option<usize>> {
        let need = match call.function {
            Function::Sum { .. } => Need::Values,
            Function::Count { .. } | Function::CountStar => Need::Presence,
            _ => Need::Order,
        };
        match (call.function.field(), &call.only) {
            (None, None) => Ok(None),
            (field, only) => self.find(field.unwrap_or(""), need, only.as_ref()).map(Some),
        }
    }

    fn find(&mut self, field: &str, need: Need, only: Option<&'a Node>) -> Result<usize> {
        let need = if only.is_none() { self.widest(field, need) } else { need };
        let wanted = (field.to_owned(), need, only);
        if let Some(at) = self.known.iter().position(|known| *known == wanted) {
            return Ok(at);
        }
        let input = self.open(field, need, only)?;
        self.each.push(input);
        self.known.push(wanted);
        Ok(self.each.len() - 1)
    }

    /// A fast number is read the same way whatever it is needed for, so it is read once.
    fn widest(&self, field: &str, need: Need) -> Need {
        match self.split.layout.get(field) {
            Some(c) if c.fast && !c.is_json() => match (c.encoding, need) {
                (
                    Encoding::String
                    | Encoding::StringBytes
                    | Encoding::DecimalBytes
                    | Encoding::Ip,
                    Need::Order | Need::Values,
                ) => need,
                _ => Need::Order,
            },
            _ => need,
        }
    }

    fn open(&self, field: &str, need: Need, only: Option<&Node>) -> Result<Input<'a>> {
        let member = self.members.get(field);
        let column = member.map(|m| &m.column).or_else(|| self.split.layout.get(field));
        if need == Need::Presence && (column.is_some() || only.is_some()) {
            let exists = (!field.is_empty()).then(|| Node::Exists { field: field.to_owned() });
            let args: Vec<Node> = exists.into_iter().chain(only.cloned()).collect();
            let present = Some(self.found(&Node::And { args })?);
            return Ok(Input { column, raw: Raw::Absent, present, only: None });
        }
        let raw = match (member, member.and_then(|m| self.split.layout.get(&m.column.name))) {
            (Some(member), Some(outer)) => {
                Raw::arrays(self.split, self.segment, outer, &member.path)?
            }
            _ => Raw::open(self.split, self.segment, column, need == Need::Values)?,
        };
        let only = only.map(|node| self.found(node)).transpose()?;
        Ok(Input { column, raw, present: None, only })
    }

    /// The documents that a query finds.
    fn found(&self, node: &Node) -> Result<BitSet> {
        let weight = search::weight(self.split, node)?;
        let reader = &self.split.segments[self.segment].reader;
        let mut found = BitSet::with_max_value(reader.max_doc());
        weight.for_each_no_score(reader, &mut |docs| {
            docs.iter().for_each(|&doc| {
                found.insert(doc);
            });
        })?;
        Ok(found)
    }
}
