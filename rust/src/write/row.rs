//! A row of a batch as a tantivy document: values are read in place, nothing is copied per row.

use std::net::Ipv6Addr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use arrow::array::{
    BinaryArray, BooleanArray, Float64Array, Int64Array, LargeBinaryArray, LargeStringArray,
    StringArray,
};
use arrow::buffer::NullBuffer;
use serde_json::Value as Json;
use tantivy::DateTime;
use tantivy::schema::Field;
use tantivy::schema::document::{Document, ReferenceValue, ReferenceValueLeaf as Leaf, Value};

use crate::write::nested::Node;

/// The values of one column of a batch, in the type its field takes.
#[derive(Debug)]
pub enum Cells {
    Bool(BooleanArray),
    I64(Int64Array),
    F64(Float64Array),
    /// Numbers and how many nanoseconds one of them is.
    Date(Int64Array, i64),
    Text(StringArray),
    LargeText(LargeStringArray),
    Bytes(BinaryArray),
    LargeBytes(LargeBinaryArray),
    Ip(Vec<Ipv6Addr>),
    Json(Vec<Json>),
    Object(Node),
    /// A list under the name of its column, since a field takes objects only.
    Wrapped(String, Node),
}

impl Cells {
    /// The same strings for another field, if they are strings.
    pub fn texts(&self) -> Option<Cells> {
        match self {
            Self::Text(array) => Some(Self::Text(array.clone())),
            Self::LargeText(array) => Some(Self::LargeText(array.clone())),
            _ => None,
        }
    }
}

impl Cells {
    /// Calls `visit` with each string, if they are strings.
    pub fn for_each_text(&self, visit: impl FnMut(&str)) {
        match self {
            Self::Text(array) => array.iter().flatten().for_each(visit),
            Self::LargeText(array) => array.iter().flatten().for_each(visit),
            _ => {}
        }
    }
}

#[derive(Debug)]
pub struct BoundColumn {
    pub field: Field,
    pub cells: Cells,
    pub nulls: Option<NullBuffer>,
    /// In which passes over the row the field is wanted.
    pub passes: Passes,
}

/// A set of passes, one bit each. Tantivy walks over a document four times, in this order: for the
/// inverted index, for the fast columns, and twice for the doc store, to count and to write.
#[derive(Debug, Clone, Copy)]
pub struct Passes(u8);

impl Passes {
    pub fn new(indexed: bool, fast: bool, stored: bool) -> Self {
        let stored = u8::from(stored);
        Self(u8::from(indexed) | u8::from(fast) << 1 | stored << 2 | stored << 3)
    }

    pub fn without_store(self) -> Self {
        Self(self.0 & 0b0011)
    }

    pub fn only_store(self) -> Self {
        Self(self.0 & 0b1100)
    }

    #[inline]
    fn contain(self, pass: u8) -> bool {
        pass > 3 || self.0 >> pass & 1 == 1
    }
}

/// A batch bound to the fields of a schema, in field order.
pub type BoundBatch = Vec<BoundColumn>;

pub struct Row {
    batch: Arc<BoundBatch>,
    row: usize,
    pass: AtomicU8,
}

impl Row {
    pub fn new(batch: Arc<BoundBatch>, row: usize) -> Self {
        Self { batch, row, pass: AtomicU8::new(0) }
    }
}

impl Document for Row {
    type Value<'a> = Cell<'a>;
    type FieldsValuesIter<'a> = RowCells<'a>;

    #[inline]
    fn iter_fields_and_values(&self) -> RowCells<'_> {
        let pass = self.pass.load(Ordering::Relaxed);
        self.pass.store(pass + 1, Ordering::Relaxed);
        RowCells { columns: self.batch.iter(), row: self.row, pass }
    }
}

pub struct RowCells<'a> {
    columns: std::slice::Iter<'a, BoundColumn>,
    row: usize,
    pass: u8,
}

impl<'a> Iterator for RowCells<'a> {
    type Item = (Field, Cell<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (row, pass) = (self.row, self.pass);
        let column = self.columns.by_ref().find(|column| {
            column.passes.contain(pass)
                && match &column.nulls {
                    Some(nulls) => nulls.is_valid(row),
                    None => true,
                }
        })?;
        Some((column.field, column.cells.at(row)))
    }
}

impl Cells {
    #[inline]
    fn at(&self, row: usize) -> Cell<'_> {
        let leaf = match self {
            Self::Bool(array) => Leaf::Bool(array.value(row)),
            Self::I64(array) => Leaf::I64(array.value(row)),
            Self::F64(array) => Leaf::F64(array.value(row)),
            Self::Date(array, nanos) => {
                Leaf::Date(DateTime::from_timestamp_nanos(array.value(row) * nanos))
            }
            Self::Text(array) => Leaf::Str(array.value(row)),
            Self::LargeText(array) => Leaf::Str(array.value(row)),
            Self::Bytes(array) => Leaf::Bytes(array.value(row)),
            Self::LargeBytes(array) => Leaf::Bytes(array.value(row)),
            Self::Ip(values) => Leaf::IpAddr(values[row]),
            Self::Json(values) => return Cell::Json(&values[row]),
            Self::Object(node) => return Cell::Node(node, row),
            Self::Wrapped(name, node) => return Cell::Wrapped(name, node, row),
        };
        Cell::Leaf(leaf)
    }
}

/// One value of a row.
#[derive(Clone, Debug)]
pub enum Cell<'a> {
    Leaf(Leaf<'a>),
    Json(&'a Json),
    Node(&'a Node, usize),
    Wrapped(&'a str, &'a Node, usize),
}

impl<'a> Value<'a> for Cell<'a> {
    type ArrayIter = Items<'a>;
    type ObjectIter = Members<'a>;

    #[inline]
    fn as_value(&self) -> ReferenceValue<'a, Self> {
        match self {
            Self::Leaf(leaf) => ReferenceValue::Leaf(leaf.clone()),
            Self::Json(value) => json_value(value),
            Self::Node(node, row) => node_value(node, *row),
            Self::Wrapped(name, node, row) => {
                ReferenceValue::Object(Members::One(Some((name, node, *row))))
            }
        }
    }
}

fn json_value<'a>(value: &'a Json) -> ReferenceValue<'a, Cell<'a>> {
    let leaf = match value {
        Json::Null => Leaf::Null,
        Json::Bool(value) => Leaf::Bool(*value),
        Json::String(text) => Leaf::Str(text),
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(value), _, _) => Leaf::I64(value),
            (None, Some(value), _) => Leaf::U64(value),
            (None, None, value) => Leaf::F64(value.unwrap_or(f64::NAN)),
        },
        Json::Array(items) => return ReferenceValue::Array(Items::Json(items.iter())),
        Json::Object(members) => return ReferenceValue::Object(Members::Json(members.iter())),
    };
    ReferenceValue::Leaf(leaf)
}

fn node_value<'a>(node: &'a Node, row: usize) -> ReferenceValue<'a, Cell<'a>> {
    if node.is_null(row) {
        return ReferenceValue::Leaf(Leaf::Null);
    }
    let range = |offsets: &[i64]| offsets[row] as usize..offsets[row + 1] as usize;
    let leaf = match node {
        Node::Null => Leaf::Null,
        Node::Bool(array) => Leaf::Bool(array.value(row)),
        Node::I64(array) => Leaf::I64(array.value(row)),
        Node::F64(array) => Leaf::F64(array.value(row)),
        Node::Text(array) => Leaf::Str(array.value(row)),
        Node::Bytes(array) => match std::str::from_utf8(array.value(row)) {
            Ok(text) => Leaf::Str(text),
            Err(_) => Leaf::Bytes(array.value(row)),
        },
        Node::Struct { .. } => return ReferenceValue::Object(Members::Struct(node, row, 0)),
        Node::List { offsets, items, .. } => {
            return ReferenceValue::Array(Items::Node(items, range(offsets)));
        }
        Node::Map { offsets, keys, values, .. } => {
            return ReferenceValue::Object(Members::Map(keys, values, range(offsets)));
        }
    };
    ReferenceValue::Leaf(leaf)
}

pub enum Items<'a> {
    Json(std::slice::Iter<'a, Json>),
    Node(&'a Node, Range<usize>),
}

impl<'a> Iterator for Items<'a> {
    type Item = Cell<'a>;

    fn next(&mut self) -> Option<Cell<'a>> {
        match self {
            Self::Json(items) => items.next().map(Cell::Json),
            Self::Node(node, rows) => rows.next().map(|row| Cell::Node(node, row)),
        }
    }
}

pub enum Members<'a> {
    One(Option<(&'a str, &'a Node, usize)>),
    Json(serde_json::map::Iter<'a>),
    Struct(&'a Node, usize, usize),
    Map(&'a LargeStringArray, &'a Node, Range<usize>),
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, Cell<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::One(member) => {
                member.take().map(|(name, node, row)| (name, Cell::Node(node, row)))
            }
            Self::Json(members) => {
                members.next().map(|(name, value)| (name.as_str(), Cell::Json(value)))
            }
            Self::Struct(node, row, at) => {
                let node: &'a Node = node;
                let Node::Struct { names, members, .. } = node else { return None };
                let member = members.get(*at)?;
                let name = names[*at].name();
                *at += 1;
                Some((name, Cell::Node(member, *row)))
            }
            Self::Map(keys, values, rows) => {
                let keys: &'a LargeStringArray = keys;
                rows.next().map(|row| (keys.value(row), Cell::Node(values, row)))
            }
        }
    }
}
