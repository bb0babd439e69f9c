//! A search over the rows of an Arrow batch, without an index: the same parser and tokenizers, the same answer.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::rc::Rc;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch};
use serde_json::Value;

use super::address;
use super::fields::{Described, FieldKind, Fields};
use super::literal::{Kind, Span};
use super::test::Test;
use super::tokens::{self, Tokens};
use super::tree::{Bound, Node};
use super::words::Words;
use crate::columns::convert::cast;
use crate::error::{EngineError, Result};
use crate::texts::{TEXT, bytes_of, inward_type, lossy};

/// Which rows of a batch a query finds. `described` says how the batch's columns are searched.
pub fn match_rows(
    batch: &RecordBatch,
    node: &Node,
    described: &[Described],
) -> Result<BooleanArray> {
    let mut columns = HashMap::new();
    for field in described {
        let Some(array) = batch.column_by_name(&field.name) else { continue };
        let inside = inward_type(array.data_type());
        let array = if inside == TEXT { cast(array, &TEXT)? } else { array.clone() };
        columns.insert(field.name.as_str(), (field, array));
    }
    let kinds = columns.values().map(|(field, array)| (*field, array.data_type()));
    let rows = Rows {
        count: batch.num_rows(),
        fields: Fields::of_rows(kinds),
        columns,
        words: RefCell::default(),
    };
    Ok(BooleanArray::from(rows.find(node)?))
}

struct Rows<'a> {
    count: usize,
    fields: Fields,
    columns: HashMap<&'a str, (&'a Described, ArrayRef)>,
    /// Tokens of columns, created at first use.
    words: RefCell<HashMap<String, Rc<Words>>>,
}

impl Rows<'_> {
    fn find(&self, node: &Node) -> Result<Vec<bool>> {
        Ok(match node {
            Node::All => vec![true; self.count],
            Node::None => vec![false; self.count],
            Node::And { args } => self.fold(args, true, |a, b| a & b)?,
            Node::Or { args } => self.fold(args, false, |a, b| a | b)?,
            Node::Not { arg } => self.find(arg)?.into_iter().map(|hit| !hit).collect(),
            Node::Boost { arg, .. } | Node::Constant { arg, .. } => self.find(arg)?,
            Node::AtLeast { args, count } => self.at_least(args, *count)?,
            Node::Search { query, fields, mode } => {
                self.find(&query.lower(&self.fields, fields, *mode)?)?
            }
            Node::TokenTerm { field, text } => {
                self.words(field, text, |words, tokens, positions| {
                    if positions { words.phrase(tokens, 0, false) } else { all_of(words, tokens) }
                })?
            }
            Node::Phrase { field, text, slop } => {
                self.words(field, text, |words, tokens, _| words.phrase(tokens, *slop, false))?
            }
            Node::PhrasePrefix { field, text } => {
                self.words(field, text, |words, tokens, _| words.phrase(tokens, 0, true))?
            }
            Node::TokenWildcard { field, pattern } => {
                let pattern = tokens::Pattern::wildcard(self.tokenizer(field), pattern)?;
                self.tokens(field, |token| pattern.is_match(&lossy(token)))?
            }
            Node::TokenRegex { field, pattern } => {
                let pattern = tokens::Pattern::regex(pattern)?;
                self.tokens(field, |token| pattern.is_match(&lossy(token)))?
            }
            Node::Fuzzy { field, text, distance, prefix } => {
                self.fuzzy(field, text, *distance, *prefix)?
            }
            Node::Term { field, value } => {
                self.value(field, |kind| Span::point(kind, value), Some(value))?
            }
            Node::Range { field, lower, upper } if self.kind(field) == Some(FieldKind::Ip) => {
                self.addresses(field, lower.as_ref(), upper.as_ref())?
            }
            Node::Range { field, lower, upper } => {
                self.value(field, |kind| Span::range(kind, lower.as_ref(), upper.as_ref()), None)?
            }
            Node::Exists { field } => match self.columns.get(field.as_str()) {
                Some((_, array)) => Test::Exists.check(array)?,
                None => return self.unknown(field),
            },
            other => {
                let shown = serde_json::to_string(other)?;
                return Err(EngineError::bad_query(format!(
                    "rows without an index cannot answer {shown}"
                )));
            }
        })
    }

    fn fold(&self, args: &[Node], start: bool, join: fn(bool, bool) -> bool) -> Result<Vec<bool>> {
        let mut found = vec![start; self.count];
        for arg in args {
            for (hit, other) in found.iter_mut().zip(self.find(arg)?) {
                *hit = join(*hit, other);
            }
        }
        Ok(found)
    }

    fn at_least(&self, args: &[Node], count: usize) -> Result<Vec<bool>> {
        let mut matched = vec![0; self.count];
        for arg in args {
            for (number, hit) in matched.iter_mut().zip(self.find(arg)?) {
                *number += usize::from(hit);
            }
        }
        Ok(matched.into_iter().map(|number| number >= count).collect())
    }

    fn kind(&self, field: &str) -> Option<FieldKind> {
        self.fields.kind(field)
    }

    fn tokenizer(&self, field: &str) -> &str {
        let described = self.columns.get(field).map(|(described, _)| described.tokenizer.as_str());
        described.filter(|name| !name.is_empty()).unwrap_or("raw")
    }

    /// A known field that is not a column of the batch is a member of one: that needs the index.
    fn unknown(&self, field: &str) -> Result<Vec<bool>> {
        let detail = format!("field `{field}` is nested: only an index can be searched for it");
        Err(EngineError::bad_query(detail))
    }

    fn words_of(&self, field: &str) -> Result<Option<Rc<Words>>> {
        let Some((_, array)) = self.columns.get(field) else {
            return Ok(None);
        };
        if let Some(known) = self.words.borrow().get(field) {
            return Ok(Some(known.clone()));
        }
        let words = Rc::new(Words::of(array, self.tokenizer(field))?);
        self.words.borrow_mut().insert(field.to_owned(), words.clone());
        Ok(Some(words))
    }

    fn words(
        &self,
        field: &str,
        text: &str,
        run: impl Fn(&Words, &Tokens, bool) -> Vec<bool>,
    ) -> Result<Vec<bool>> {
        let tokens = tokens::tokenize_as(self.tokenizer(field), text)?;
        let positions = matches!(self.kind(field), Some(FieldKind::Text { positions: true }));
        match self.words_of(field)? {
            Some(words) if !tokens.is_empty() => Ok(run(&words, &tokens, positions)),
            Some(_) => Ok(vec![false; self.count]),
            None => self.unknown(field),
        }
    }

    fn tokens(&self, field: &str, holds: impl Fn(&[u8]) -> bool) -> Result<Vec<bool>> {
        match self.words_of(field)? {
            Some(words) => Ok(words.any(holds)),
            None => self.unknown(field),
        }
    }

    fn fuzzy(&self, field: &str, text: &str, distance: u8, prefix: usize) -> Result<Vec<bool>> {
        let tokens = tokens::tokenize_as(self.tokenizer(field), text)?;
        let Some(words) = self.words_of(field)? else {
            return self.unknown(field);
        };
        let mut found = vec![!tokens.is_empty(); self.count];
        for (_, token) in &tokens {
            let near = tokens::Near::new(token, distance, prefix)?;
            for (hit, other) in found.iter_mut().zip(words.any(|token| near.holds(token))) {
                *hit &= other;
            }
        }
        Ok(found)
    }

    fn value(
        &self,
        field: &str,
        span: impl Fn(Kind) -> Result<Span>,
        equal: Option<&Value>,
    ) -> Result<Vec<bool>> {
        let Some((_, array)) = self.columns.get(field) else {
            return self.unknown(field);
        };
        if self.kind(field) == Some(FieldKind::Ip) {
            let range = equal.and_then(Value::as_str).and_then(address::parse);
            return self.in_network(field, |address| {
                range.is_some_and(|(low, high)| (low..=high).contains(&address))
            });
        }
        match Kind::of(array.data_type()) {
            Some(kind) => Test::spans(vec![span(kind)?]).check(array),
            None => self.unknown(field),
        }
    }

    fn addresses(
        &self,
        field: &str,
        lower: Option<&Bound>,
        upper: Option<&Bound>,
    ) -> Result<Vec<bool>> {
        let end = |bound: Option<&Bound>| {
            bound.map(|b| (b.value.as_str().and_then(address::parse), b.inclusive))
        };
        let (lower, upper) = (end(lower), end(upper));
        self.in_network(field, |address| {
            let above = match lower {
                None => true,
                Some((None, _)) => false,
                Some((Some((low, _)), true)) => address >= low,
                Some((Some((_, high)), false)) => address > high,
            };
            let below = match upper {
                None => true,
                Some((None, _)) => false,
                Some((Some((_, high)), true)) => address <= high,
                Some((Some((low, _)), false)) => address < low,
            };
            above && below
        })
    }

    fn in_network(&self, field: &str, holds: impl Fn(Ipv6Addr) -> bool) -> Result<Vec<bool>> {
        let Some((_, array)) = self.columns.get(field) else {
            return self.unknown(field);
        };
        let texts = bytes_of(array)?;
        let address = |bytes: &[u8]| match lossy(bytes).trim().parse().ok()? {
            IpAddr::V4(v4) => Some(v4.to_ipv6_mapped()),
            IpAddr::V6(v6) => Some(v6),
        };
        Ok(texts.iter().map(|text| text.and_then(address).is_some_and(&holds)).collect())
    }
}

fn all_of(words: &Words, tokens: &Tokens) -> Vec<bool> {
    let mut found = words.has(&tokens[0].1);
    for (_, token) in &tokens[1..] {
        for (hit, other) in found.iter_mut().zip(words.has(token)) {
            *hit &= other;
        }
    }
    found
}
