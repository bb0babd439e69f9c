//! Smallest and largest value of a column, in Spark's order of its type.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array};
use arrow::compute;
use arrow::datatypes::{DataType, Decimal128Type, DecimalType, Int64Type};
use serde_json::{Value, json};

/// The bounds of some values; values that are not comparable or not requested have none.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Bounds {
    #[default]
    None,
    Bool(bool, bool),
    I64(i64, i64),
    F64(f64, f64),
    /// Unscaled numbers and the scale.
    Decimal(i128, i128, i8),
    /// Strings, which may not be UTF-8.
    Text(Vec<u8>, Vec<u8>),
}

impl Bounds {
    /// The bounds of both.
    pub fn fold(&mut self, other: Self) {
        match (&mut *self, other) {
            (_, Self::None) => {}
            (Self::Bool(min, max), Self::Bool(low, high)) => {
                *min &= low;
                *max |= high;
            }
            (Self::I64(min, max), Self::I64(low, high)) => {
                *min = low.min(*min);
                *max = high.max(*max);
            }
            (Self::F64(min, max), Self::F64(low, high)) => {
                if order(low, *min).is_lt() {
                    *min = low;
                }
                if order(high, *max).is_gt() {
                    *max = high;
                }
            }
            (Self::Decimal(min, max, _), Self::Decimal(low, high, _)) => {
                *min = low.min(*min);
                *max = high.max(*max);
            }
            (Self::Text(min, max), Self::Text(low, high)) => {
                if low < *min {
                    *min = low;
                }
                if high > *max {
                    *max = high;
                }
            }
            (_, other) => *self = other,
        }
    }

    /// Both bounds as JSON; text is cut to `limit` characters, a cut maximum is rounded up.
    pub fn to_json(&self, limit: usize) -> (Option<Value>, Option<Value>) {
        match self {
            Self::None => (None, None),
            Self::Bool(min, max) => (Some(json!(min)), Some(json!(max))),
            Self::I64(min, max) => (Some(json!(min)), Some(json!(max))),
            Self::F64(min, max) => (Some(float(*min)), Some(float(*max))),
            Self::Decimal(min, max, scale) => {
                let text = |value| json!(Decimal128Type::format_decimal(value, 38, *scale));
                (Some(text(*min)), Some(text(*max)))
            }
            Self::Text(min, max) => {
                (Some(json!(cut(min, limit))), cut_up(max, limit).map(Value::from))
            }
        }
    }
}

fn float(value: f64) -> Value {
    if value.is_nan() {
        json!("NaN")
    } else if value.is_infinite() {
        json!(if value > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        json!(value)
    }
}

/// Spark's order: NaN is the greatest, zero has no sign.
fn order(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

/// The beginning of a string, up to a limit or the first invalid UTF-8.
fn cut(string: &[u8], limit: usize) -> &str {
    let text = string.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    text.char_indices().nth(limit).map_or(text, |(end, _)| &text[..end])
}

/// The shortest string within the limit that is not less than `string`, if there is one.
fn cut_up(string: &[u8], limit: usize) -> Option<String> {
    let kept = cut(string, limit);
    if kept.len() == string.len() {
        return Some(kept.to_owned());
    }
    let mut kept: Vec<char> = kept.chars().collect();
    while let Some(last) = kept.pop() {
        if let Some(next) = successor(last) {
            kept.push(next);
            return Some(kept.into_iter().collect());
        }
    }
    None
}

fn successor(c: char) -> Option<char> {
    match c {
        '\u{D7FF}' => Some('\u{E000}'),
        _ => char::from_u32(u32::from(c) + 1),
    }
}

pub fn of_bools(array: &BooleanArray) -> Bounds {
    match (compute::min_boolean(array), compute::max_boolean(array)) {
        (Some(min), Some(max)) => Bounds::Bool(min, max),
        _ => Bounds::None,
    }
}

pub fn of_whole_numbers(array: &Int64Array) -> Bounds {
    match (compute::min::<Int64Type>(array), compute::max::<Int64Type>(array)) {
        (Some(min), Some(max)) => Bounds::I64(min, max),
        _ => Bounds::None,
    }
}

pub fn of_floats(array: &Float64Array) -> Bounds {
    let mut bounds = Bounds::None;
    let mut add = |value: f64| {
        // -0.0 and 0.0 are one number to Spark
        let value = if value == 0.0 { 0.0 } else { value };
        match &mut bounds {
            Bounds::F64(min, max) => {
                if order(value, *min).is_lt() {
                    *min = value;
                }
                if order(value, *max).is_gt() {
                    *max = value;
                }
            }
            other => *other = Bounds::F64(value, value),
        }
    };
    match array.nulls() {
        None => array.values().iter().for_each(|&value| add(value)),
        Some(_) => array.iter().flatten().for_each(add),
    }
    bounds
}

pub fn of_decimals(array: &ArrayRef) -> Bounds {
    let DataType::Decimal128(_, scale) = array.data_type() else { return Bounds::None };
    let array = array.as_primitive::<Decimal128Type>();
    match (compute::min(array), compute::max(array)) {
        (Some(min), Some(max)) => Bounds::Decimal(min, max, *scale),
        _ => Bounds::None,
    }
}

pub fn of_texts<'a>(values: impl Iterator<Item = Option<&'a [u8]>>) -> Bounds {
    let mut found: Option<(&[u8], &[u8])> = None;
    for value in values.flatten() {
        found = Some(match found {
            None => (value, value),
            Some((min, max)) => (min.min(value), max.max(value)),
        });
    }
    found.map_or(Bounds::None, |(min, max)| Bounds::Text(min.to_owned(), max.to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_cut_maximum_is_rounded_up() {
        assert_eq!(cut_up(b"abcd", 2).as_deref(), Some("ac"));
        assert_eq!(cut_up("a\u{10FFFF}z".as_bytes(), 2).as_deref(), Some("b"));
        assert_eq!(cut_up("\u{10FFFF}z".as_bytes(), 1), None);
        assert_eq!(cut_up("\u{D7FF}z".as_bytes(), 1).as_deref(), Some("\u{E000}"));
        assert_eq!(cut_up(b"ab", 2).as_deref(), Some("ab"));
        assert_eq!(cut_up(b"ab\x80", 9).as_deref(), Some("ac"));
        assert_eq!(cut_up(b"\x80", 9), None);
    }

    #[test]
    fn nan_is_the_greatest_and_zero_has_no_sign() {
        let bounds = of_floats(&Float64Array::from(vec![Some(f64::NAN), Some(-0.0), None]));
        assert_eq!(bounds.to_json(32), (Some(json!(0.0)), Some(json!("NaN"))));
    }

    proptest! {
        #[test]
        fn text_bounds_hold_every_value(
            values in proptest::collection::vec(
                proptest::collection::vec(proptest::sample::select(vec![b'a', b'b', 0xC3, 0xA9, 0x80, 0xFF]), 0..6),
                1..8),
            limit in 1usize..4,
        ) {
            let bounds = of_texts(values.iter().map(|v| Some(v.as_slice())));
            let (min, max) = bounds.to_json(limit);
            for value in &values {
                prop_assert!(min.as_ref().and_then(Value::as_str).is_none_or(|min| min.as_bytes() <= value.as_slice()));
                prop_assert!(max.as_ref().and_then(Value::as_str).is_none_or(|max| max.as_bytes() >= value.as_slice()));
            }
        }
    }
}
