//! Conversions between stored values, numbers on disk and Arrow types.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field};

use super::stored_value::Stored;
use super::text;
use crate::error::Result;

pub const NANOS_PER_DAY: i64 = 86_400_000_000_000;
pub const MICROS_PER_DAY: i64 = 86_400_000_000;

/// What an integer on disk counts, when the wanted type is not an integer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unit {
    /// The number itself; days for dates, microseconds for times.
    Plain,
    Days,
    /// A decimal's digits without its point.
    Unscaled(i8),
}

/// The same values in another type; a value that does not fit is an error.
pub fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(array.clone());
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    Ok(cast_with_options(array, to, &options)?)
}

/// Converts integers to their type: days to dates, microseconds to timestamps.
pub fn from_whole(array: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    match target {
        DataType::Date32 => cast(&cast(array, &DataType::Int32)?, target),
        _ => cast(array, target),
    }
}

/// Integers, days or microseconds as 64-bit numbers.
pub fn whole_values(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Date32 => cast(&cast(array, &DataType::Int32)?, &DataType::Int64),
        _ => cast(array, &DataType::Int64),
    }
}

/// What nested numbers count that were written as this type.
pub fn unit_of(written: Option<&DataType>) -> Unit {
    if written == Some(&DataType::Date32) { Unit::Days } else { Unit::Plain }
}

pub fn member_of<'a>(written: Option<&'a DataType>, name: &str) -> Option<&'a DataType> {
    match written? {
        DataType::Struct(fields) => fields.iter().find(|f| f.name() == name).map(|f| f.data_type()),
        _ => None,
    }
}

pub fn item_of(written: Option<&DataType>) -> Option<&DataType> {
    match written? {
        DataType::List(item) => Some(item.data_type()),
        _ => None,
    }
}

/// The type of the keys (0) or values (1) of a map.
pub fn entry_of(written: Option<&DataType>, at: usize) -> Option<&DataType> {
    let DataType::Map(entries, _) = written? else { return None };
    let DataType::Struct(pair) = entries.data_type() else { return None };
    pair.get(at).map(|field| field.data_type())
}

pub fn to_bool(value: Stored<'_>) -> Option<bool> {
    match value {
        Stored::Bool(value) => Some(value),
        Stored::Str("true") => Some(true),
        Stored::Str("false") => Some(false),
        _ => None,
    }
}

#[inline]
pub fn to_whole(value: Stored<'_>, target: &DataType, unit: Unit) -> Option<i64> {
    match value {
        Stored::I64(number) => Some(match (unit, target) {
            (Unit::Days, DataType::Timestamp(..)) => number * MICROS_PER_DAY,
            _ => number,
        }),
        Stored::U64(number) => i64::try_from(number).ok(),
        Stored::F64(number) => (number.fract() == 0.0).then_some(number as i64),
        Stored::Date(nanos) => Some(match target {
            DataType::Date32 => nanos.div_euclid(NANOS_PER_DAY),
            _ => nanos.div_euclid(1000),
        }),
        Stored::Str(written) => text::whole(written, target),
        _ => None,
    }
}

pub fn to_float(value: Stored<'_>) -> Option<f64> {
    match value {
        Stored::F64(number) => Some(number),
        Stored::I64(number) => Some(number as f64),
        Stored::U64(number) => Some(number as f64),
        Stored::Str(written) => text::float(written),
        _ => None,
    }
}

pub fn to_decimal(value: Stored<'_>, scale: i8, unit: Unit) -> Option<i128> {
    let written_scale = match unit {
        Unit::Unscaled(written) => written,
        _ => 0,
    };
    match value {
        Stored::I64(number) => text::rescale(i128::from(number), written_scale, scale),
        Stored::U64(number) => text::rescale(i128::from(number), written_scale, scale),
        Stored::Bytes(bytes) => {
            text::rescale(sortable_to_i128(bytes.try_into().ok()?), written_scale, scale)
        }
        Stored::F64(number) => text::decimal(&number.to_string(), scale),
        Stored::Str(written) => text::decimal(written, scale),
        _ => None,
    }
}

/// Sixteen bytes whose order is the order of the numbers.
pub fn sortable_to_i128(bytes: [u8; 16]) -> i128 {
    i128::from_be_bytes(bytes) ^ i128::MIN
}

pub fn i128_to_sortable(number: i128) -> [u8; 16] {
    (number ^ i128::MIN).to_be_bytes()
}

/// The field of a list's items or a struct's member in an Arrow type, by name.
pub fn member_type<'a>(data_type: &'a DataType, name: &str) -> Option<&'a DataType> {
    match data_type {
        DataType::Struct(fields) => {
            fields.iter().find(|f| f.name() == name).map(|f: &Arc<Field>| f.data_type())
        }
        DataType::List(item) => member_type(item.data_type(), name),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(pair) => Some(pair[1].data_type()),
            _ => None,
        },
        _ => None,
    }
}
