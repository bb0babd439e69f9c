//! A condition on one value, checked on Arrow arrays or on stored values.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type};

use super::literal::{Kind, Span, between};
use super::points::Points;
use crate::columns::build::{Builder, Unit, cast};
use crate::columns::convert::whole_values;
use crate::columns::stored_value::Stored;
use crate::error::Result;
use crate::texts::{TEXT, bytes_of};

/// Whether something holds for the bytes of a string.
pub type Holds = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// What a value must be.
#[derive(Clone)]
pub enum Test {
    /// Inside any of the spans.
    Spans(Spans),
    /// A text for which this holds.
    Text(Holds),
    Exists,
}

/// Spans, and what is made of them once to compare many values with.
#[derive(Clone)]
pub struct Spans {
    list: Vec<Span>,
    points: Option<Arc<Points>>,
}

/// The values at the end of a path into a nested column: their type, if it is declared, and what their
/// numbers count.
#[derive(Debug, Clone)]
pub struct Leaf {
    pub declared: Option<DataType>,
    pub unit: Unit,
}

impl Test {
    /// A value inside any of the spans.
    pub fn spans(list: Vec<Span>) -> Test {
        let points = Points::of(&list).map(Arc::new);
        Test::Spans(Spans { list, points })
    }

    /// One answer per row; null rows never match.
    pub fn check(&self, array: &ArrayRef) -> Result<Vec<bool>> {
        let mut found: Vec<bool> = match self {
            Test::Exists => vec![true; array.len()],
            Test::Text(holds) => {
                bytes_of(array)?.iter().map(|text| text.is_some_and(|t| holds(t))).collect()
            }
            Test::Spans(spans) => check_spans(spans, array)?,
        };
        if let Some(nulls) = array.logical_nulls() {
            found.iter_mut().enumerate().for_each(|(row, hit)| *hit &= nulls.is_valid(row));
        }
        Ok(found)
    }

    /// Whether a stored value passes, read as a value of the given type or of its own.
    pub fn check_stored(&self, value: Stored<'_>, leaf: &Leaf) -> Result<bool> {
        // no long holds it
        let value = match value {
            Stored::U64(whole) if leaf.declared.is_none() && i64::try_from(whole).is_err() => {
                Stored::F64(whole as f64)
            }
            value => value,
        };
        let own = match value {
            Stored::Null => return Ok(false),
            Stored::Bool(_) => DataType::Boolean,
            Stored::F64(_) => DataType::Float64,
            Stored::I64(_) | Stored::U64(_) => DataType::Int64,
            _ => TEXT,
        };
        if matches!(self, Test::Exists) {
            return Ok(true);
        }
        let mut builder = Builder::new("", leaf.declared.as_ref().unwrap_or(&own), leaf.unit, 1)?;
        builder.push(value);
        let array = builder.finish()?;
        Ok(self.check(&array)?[0])
    }
}

fn check_spans(Spans { list: spans, points }: &Spans, array: &ArrayRef) -> Result<Vec<bool>> {
    let whole_hit = |value: i128| match points {
        Some(points) => points.contains(value),
        None => whole_hit(spans, value),
    };
    let any = |hit: &dyn Fn(&Span) -> bool| spans.iter().any(hit);
    Ok(match Kind::of(array.data_type()) {
        Some(Kind::Bool) => {
            let values = array.as_boolean();
            let hit = |value: bool| {
                any(&|span| match span {
                    Span::Bool { no, yes } => {
                        if value {
                            *yes
                        } else {
                            *no
                        }
                    }
                    _ => false,
                })
            };
            (0..values.len()).map(|row| hit(values.value(row))).collect()
        }
        Some(Kind::Whole) => {
            let values = whole_values(array)?;
            let values = values.as_primitive::<Int64Type>();
            values.values().iter().map(|&value| whole_hit(i128::from(value))).collect()
        }
        Some(Kind::Decimal(_)) => {
            let values = array.as_primitive::<Decimal128Type>();
            values.values().iter().map(|&value| whole_hit(value)).collect()
        }
        Some(Kind::Float) => {
            let values = cast(array, &DataType::Float64)?;
            let values = values.as_primitive::<Float64Type>();
            let hit = |value: f64| {
                any(&|span| match span {
                    Span::Float(span) | Span::Number { float: span, .. } => span.contains(value),
                    // a whole literal against a field whose type is not declared
                    Span::Whole(low, high) => value >= *low as f64 && value <= *high as f64,
                    _ => false,
                })
            };
            values.values().iter().map(|&value| hit(value)).collect()
        }
        Some(Kind::Text) => {
            let values = bytes_of(array)?;
            let hit = |value: &[u8]| {
                any(&|span| match span {
                    Span::Text(low, high) => between::<[u8], Vec<u8>>(value, low, high),
                    _ => false,
                })
            };
            values.iter().map(|value| value.is_some_and(hit)).collect()
        }
        Some(Kind::Bytes) => {
            let values = array.as_binary::<i32>();
            let hit = |value: &[u8]| {
                any(&|span| match span {
                    Span::Bytes(low, high) => between::<[u8], Vec<u8>>(value, low, high),
                    _ => false,
                })
            };
            values.iter().map(|value| value.is_some_and(hit)).collect()
        }
        None => vec![false; array.len()],
    })
}

fn whole_hit(spans: &[Span], value: i128) -> bool {
    spans.iter().any(|span| match span {
        Span::Whole(low, high) | Span::Number { low, high, .. } => (*low..=*high).contains(&value),
        Span::Float(span) => span.contains(value as f64),
        _ => false,
    })
}
