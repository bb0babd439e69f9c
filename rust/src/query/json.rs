//! Conditions inside JSON columns answered by the index, where our writer made it exact.

use std::ops::Bound as End;

use arrow::datatypes::DataType;
use tantivy::Term;
use tantivy::query::{ExistsQuery, Query, RangeQuery};

use super::leaf::{any_of, term_query};
use super::literal::{FloatSpan, Span};
use crate::open::{Column, Split, is_text};
use crate::split::Encoding;

/// Terms below JSON keep texts up to this length whole.
const MAX_TEXT: usize = 65_000;

/// A place inside a JSON column that the index knows.
pub struct Place<'a> {
    column: &'a Column,
    /// Parts joined by dots; no part has one itself.
    path: String,
    leaf: Option<DataType>,
}

impl<'a> Place<'a> {
    /// Nothing if another writer made the index, or if names would be ambiguous in it.
    pub fn new(
        split: &Split,
        column: &'a Column,
        path: &[String],
        leaf: Option<DataType>,
    ) -> Option<Place<'a>> {
        let plain = |part: &String| !part.is_empty() && !part.contains(['.', '\\', '\u{1}', '\0']);
        let mut parts: Vec<String> = path.to_vec();
        if column.encoding == Encoding::List {
            parts.insert(0, column.written_name.clone());
        }
        let exact = split.sidecar.is_some()
            && column.indexed
            && column.overlong == Some(false)
            && plain(&column.written_name)
            && !parts.is_empty()
            && parts.iter().all(plain);
        exact.then(|| Place { column, path: parts.join("."), leaf })
    }

    fn base(&self) -> Term {
        Term::from_field_json_path(self.column.field, &self.path, false)
    }

    fn text(&self, text: &str) -> Term {
        let mut term = self.base();
        term.append_type_and_str(text);
        term
    }

    fn integer(&self, number: i64) -> Term {
        let mut term = self.base();
        term.append_type_and_fast_value(number);
        term
    }

    /// The index keeps a number that is whole as an integer.
    fn number(&self, number: f64) -> Option<Term> {
        let whole = number as i64;
        if whole as f64 == number && number.abs() < 9.0e15 {
            return Some(self.integer(whole));
        }
        if !number.is_finite() || number.fract() == 0.0 {
            return None;
        }
        let mut term = self.base();
        term.append_type_and_fast_value(number);
        Some(term)
    }

    /// Terms that match exactly these values, or `None` if the index cannot decide.
    pub fn equals(&self, spans: &[Span]) -> Option<Box<dyn Query>> {
        let mut terms = Vec::new();
        for span in spans {
            match span {
                Span::Empty => {}
                Span::Text(Some((low, true)), Some((high, true)))
                    if low == high && low.len() <= MAX_TEXT && self.is_text() =>
                {
                    // what is not UTF-8 is in no index that says it has every value whole
                    terms.extend(std::str::from_utf8(low).map(|text| self.text(text)));
                }
                Span::Bool { no, yes } => {
                    for (wanted, value) in [(*no, false), (*yes, true)] {
                        if wanted {
                            let mut term = self.base();
                            term.append_type_and_fast_value(value);
                            terms.push(term);
                        }
                    }
                }
                Span::Whole(low, high) if low == high && !self.is_decimal() => {
                    terms.push(self.integer(i64::try_from(*low).ok()?));
                }
                Span::Float(FloatSpan { lower: Some((low, true)), upper: Some((high, true)) })
                    if low == high =>
                {
                    terms.push(self.number(*low)?);
                }
                _ => return None,
            }
        }
        Some(any_of(terms.into_iter().map(term_query).collect()))
    }

    /// Whole numbers or texts of a declared type, by their fast column.
    pub fn range(&self, span: &Span) -> Option<Box<dyn Query>> {
        if !self.column.fast {
            return None;
        }
        let (lower, upper) = match (span, self.leaf.as_ref()?) {
            (Span::Whole(low, high), leaf) if is_whole(leaf) => {
                let low = i64::try_from((*low).max(i128::from(i64::MIN))).ok()?;
                let high = i64::try_from((*high).min(i128::from(i64::MAX))).ok()?;
                (End::Included(self.integer(low)), End::Included(self.integer(high)))
            }
            _ => return None,
        };
        Some(Box::new(RangeQuery::new(lower, upper)))
    }

    /// Whether there is a value, where a value always has an entry in the fast column.
    pub fn exists(&self) -> Option<Box<dyn Query>> {
        let indexed = self.leaf.as_ref().is_some_and(|leaf| {
            is_whole(leaf) || is_text(leaf) || matches!(leaf, DataType::Boolean)
        });
        let name = format!("{}.{}", self.column.written_name, self.path);
        (indexed && self.column.fast)
            .then(|| Box::new(ExistsQuery::new(name, false)) as Box<dyn Query>)
    }

    fn is_text(&self) -> bool {
        self.leaf.as_ref().is_none_or(is_text)
    }

    fn is_decimal(&self) -> bool {
        matches!(self.leaf, Some(DataType::Decimal128(..)))
    }
}

fn is_whole(data_type: &DataType) -> bool {
    use DataType as D;
    matches!(
        data_type,
        D::Int8 | D::Int16 | D::Int32 | D::Int64 | D::Date32 | D::Timestamp(..) | D::Duration(_)
    )
}
