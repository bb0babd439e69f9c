//! Literals of a query, in the order and equality Spark gives their types.

use std::cmp::Ordering;

use arrow::datatypes::DataType;
use base64::Engine as _;
use serde_json::Value;

use super::tree::Bound;
use crate::columns::text;
use crate::error::{EngineError, Result};
use crate::open::is_text;

/// What a column's values are compared as.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Bool,
    /// Whole numbers: integers, days, microseconds, months.
    Whole,
    Float,
    /// Unscaled numbers with this many digits after the point.
    Decimal(i8),
    Text,
    Bytes,
}

impl Kind {
    pub fn of(data_type: &DataType) -> Option<Kind> {
        use DataType as D;
        Some(match data_type {
            D::Boolean => Kind::Bool,
            D::Int8
            | D::Int16
            | D::Int32
            | D::Int64
            | D::Date32
            | D::Timestamp(..)
            | D::Duration(_) => Kind::Whole,
            D::Float32 | D::Float64 => Kind::Float,
            D::Decimal128(_, scale) => Kind::Decimal(*scale),
            D::Binary => Kind::Bytes,
            other if is_text(other) => Kind::Text,
            _ => return None,
        })
    }

    /// The kind a bare JSON value suggests, for fields without a declared type.
    pub fn guess(value: &Value) -> Kind {
        match value {
            Value::Bool(_) => Kind::Bool,
            Value::Number(number) if number.is_f64() => Kind::Float,
            Value::Number(_) => Kind::Whole,
            _ => Kind::Text,
        }
    }
}

/// An interval of values, both ends included; an absent end is open.
#[derive(Debug, Clone, PartialEq)]
pub enum Span {
    Empty,
    Bool {
        no: bool,
        yes: bool,
    },
    Whole(i128, i128),
    Float(FloatSpan),
    /// Numbers whose type is not declared: the whole ones, which are exact, and the others.
    Number {
        low: i128,
        high: i128,
        float: FloatSpan,
    },
    Text(Option<(Vec<u8>, bool)>, Option<(Vec<u8>, bool)>),
    Bytes(Option<(Vec<u8>, bool)>, Option<(Vec<u8>, bool)>),
}

/// Numbers between two ends (as total order with NaN last and one zero).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FloatSpan {
    pub lower: Option<(f64, bool)>,
    pub upper: Option<(f64, bool)>,
}

/// Spark's order of doubles: NaN is greatest and equal to itself, zeros are equal.
pub fn compare_floats(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
    }
}

impl FloatSpan {
    pub fn contains(&self, value: f64) -> bool {
        let above = self.lower.is_none_or(|(end, inclusive)| match compare_floats(value, end) {
            Ordering::Greater => true,
            Ordering::Equal => inclusive,
            Ordering::Less => false,
        });
        let below = self.upper.is_none_or(|(end, inclusive)| match compare_floats(value, end) {
            Ordering::Less => true,
            Ordering::Equal => inclusive,
            Ordering::Greater => false,
        });
        above && below
    }
}

fn wrong(value: &Value, kind: &str) -> EngineError {
    EngineError::bad_query(format!("{value} is not a value of a {kind} column"))
}

/// A number that lies at or just above `floor`.
struct Point {
    floor: i128,
    exact: bool,
}

fn point(value: &Value, scale: i8) -> Result<Point> {
    if let Value::Number(number) = value {
        if let Some(whole) = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from)) {
            return decimal_point(whole, 0, scale).ok_or_else(|| wrong(value, "number"));
        }
        return Ok(float_point(number.as_f64().unwrap_or(f64::NAN), scale));
    }
    let written = value.as_str().ok_or_else(|| wrong(value, "number"))?;
    if let Some((digits, from)) = text::unscaled(written) {
        return decimal_point(digits, from, scale).ok_or_else(|| wrong(value, "number"));
    }
    match text::float(written) {
        Some(number) => Ok(float_point(number, scale)),
        None => Err(wrong(value, "number")),
    }
}

/// Saturates: a bound beyond every value keeps its side.
fn decimal_point(digits: i128, from: i8, to: i8) -> Option<Point> {
    let steps = i32::from(to) - i32::from(from);
    let Some(factor) = 10i128.checked_pow(steps.unsigned_abs()) else {
        return Some(Point { floor: if digits < 0 { -1 } else { 0 }, exact: digits == 0 });
    };
    if steps >= 0 {
        let limit = if digits < 0 { i128::MIN / 2 } else { i128::MAX / 2 };
        return Some(match digits.checked_mul(factor) {
            Some(floor) => Point { floor, exact: true },
            None => Point { floor: limit, exact: false },
        });
    }
    Some(Point { floor: digits.div_euclid(factor), exact: digits.rem_euclid(factor) == 0 })
}

fn float_point(number: f64, scale: i8) -> Point {
    let scaled = number * 10f64.powi(i32::from(scale));
    if scaled.is_nan() || scaled >= 1e37 {
        return Point { floor: i128::MAX / 2, exact: false };
    }
    if scaled <= -1e37 {
        return Point { floor: i128::MIN / 2, exact: false };
    }
    Point { floor: scaled.floor() as i128, exact: scaled.fract() == 0.0 }
}

fn whole_span(lower: Option<&Bound>, upper: Option<&Bound>, scale: i8) -> Result<Span> {
    let mut span = (i128::MIN, i128::MAX);
    if let Some(bound) = lower {
        let at = point(&bound.value, scale)?;
        span.0 = if at.exact && bound.inclusive { at.floor } else { at.floor + 1 };
    }
    if let Some(bound) = upper {
        let at = point(&bound.value, scale)?;
        span.1 = if at.exact && !bound.inclusive { at.floor - 1 } else { at.floor };
    }
    Ok(if span.0 > span.1 { Span::Empty } else { Span::Whole(span.0, span.1) })
}

fn float_value(value: &Value) -> Result<f64> {
    match value {
        Value::Number(number) => number.as_f64().ok_or_else(|| wrong(value, "number")),
        Value::String(written) => text::float(written).ok_or_else(|| wrong(value, "number")),
        _ => Err(wrong(value, "number")),
    }
}

fn bool_value(value: &Value) -> Result<bool> {
    match value {
        Value::Bool(value) => Ok(*value),
        Value::String(text) if text == "true" => Ok(true),
        Value::String(text) if text == "false" => Ok(false),
        _ => Err(wrong(value, "boolean")),
    }
}

fn bytes_value(value: &Value) -> Result<Vec<u8>> {
    let text = value.as_str().ok_or_else(|| wrong(value, "binary"))?;
    base64::engine::general_purpose::STANDARD.decode(text).map_err(|_| wrong(value, "binary"))
}

/// The bytes of a string: a JSON string, or `{"base64":…}` for what is not UTF-8.
pub fn text_value(value: &Value) -> Result<Vec<u8>> {
    match value {
        Value::String(text) => Ok(text.clone().into_bytes()),
        Value::Null => Err(wrong(value, "string")),
        Value::Object(members) if members.len() == 1 && members.contains_key("base64") => {
            bytes_value(&members["base64"])
        }
        other => Ok(other.to_string().into_bytes()),
    }
}

fn end<T>(bound: Option<&Bound>, read: impl Fn(&Value) -> Result<T>) -> Result<Option<(T, bool)>> {
    bound.map(|b| Ok((read(&b.value)?, b.inclusive))).transpose()
}

impl Span {
    pub fn range(kind: Kind, lower: Option<&Bound>, upper: Option<&Bound>) -> Result<Span> {
        Ok(match kind {
            Kind::Bool => {
                let (lower, upper) = (end(lower, bool_value)?, end(upper, bool_value)?);
                let inside = |value: bool| between::<bool, bool>(&value, &lower, &upper);
                Span::Bool { no: inside(false), yes: inside(true) }
            }
            Kind::Whole => whole_span(lower, upper, 0)?,
            Kind::Decimal(scale) => whole_span(lower, upper, scale)?,
            Kind::Float => Span::Float(FloatSpan {
                lower: end(lower, float_value)?,
                upper: end(upper, float_value)?,
            }),
            Kind::Text => Span::Text(end(lower, text_value)?, end(upper, text_value)?),
            Kind::Bytes => Span::Bytes(end(lower, bytes_value)?, end(upper, bytes_value)?),
        })
    }

    /// Numbers of JSON, each of which is whole or not.
    pub fn numbers(lower: Option<&Bound>, upper: Option<&Bound>) -> Result<Span> {
        let (low, high) = match whole_span(lower, upper, 0)? {
            Span::Whole(low, high) => (low, high),
            _ => (1, 0),
        };
        let float = FloatSpan { lower: end(lower, float_value)?, upper: end(upper, float_value)? };
        Ok(Span::Number { low, high, float })
    }

    /// The span of exactly one value.
    pub fn point(kind: Kind, value: &Value) -> Result<Span> {
        let bound = Bound { value: value.clone(), inclusive: true };
        Span::range(kind, Some(&bound), Some(&bound))
    }
}

/// Whether a value lies between two ends by byte order.
pub fn between<T: Ord + ?Sized, E: std::borrow::Borrow<T>>(
    value: &T,
    lower: &Option<(E, bool)>,
    upper: &Option<(E, bool)>,
) -> bool {
    let above = lower.as_ref().is_none_or(|(end, inclusive)| match value.cmp(end.borrow()) {
        Ordering::Greater => true,
        Ordering::Equal => *inclusive,
        Ordering::Less => false,
    });
    let below = upper.as_ref().is_none_or(|(end, inclusive)| match value.cmp(end.borrow()) {
        Ordering::Less => true,
        Ordering::Equal => *inclusive,
        Ordering::Greater => false,
    });
    above && below
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn span(kind: Kind, lower: Value, upper: Value, inclusive: bool) -> Option<Span> {
        let bound = |value: Value| (!value.is_null()).then_some(Bound { value, inclusive });
        Span::range(kind, bound(lower).as_ref(), bound(upper).as_ref()).ok()
    }

    #[test]
    fn fractions_move_the_ends_of_whole_numbers() {
        assert_eq!(span(Kind::Whole, json!(1.5), json!(3), false), Some(Span::Whole(2, 2)));
        assert_eq!(span(Kind::Whole, json!(-1.5), json!(-1.5), true), Some(Span::Empty));
        assert_eq!(
            span(Kind::Whole, json!("NaN"), Value::Null, true),
            Some(Span::Whole(i128::MAX / 2 + 1, i128::MAX))
        );
    }

    #[test]
    fn decimals_are_compared_at_their_scale() {
        assert_eq!(
            span(Kind::Decimal(2), json!("1.005"), json!("2.5"), true),
            Some(Span::Whole(101, 250))
        );
        assert_eq!(Span::point(Kind::Decimal(1), &json!("0.25")).ok(), Some(Span::Empty));
    }

    #[test]
    fn nan_is_the_greatest_float() {
        let above = FloatSpan { lower: Some((5.0, false)), upper: None };
        assert!(above.contains(f64::NAN) && above.contains(f64::INFINITY) && !above.contains(5.0));
        let below = FloatSpan { lower: None, upper: Some((0.0, false)) };
        assert!(!below.contains(-0.0) && !below.contains(f64::NAN) && below.contains(-1.0));
    }
}
