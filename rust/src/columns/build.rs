//! Stored values into Arrow arrays of the wanted type, whatever encoding they were written with.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, Decimal128Array, Float64Array, Int64Array,
    LargeBinaryBuilder, ListArray, MapArray, NullBufferBuilder, StructArray, new_null_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use base64::Engine as _;

use super::stored_value::{Stored, ip_text, rfc3339};
use super::text;
use crate::error::{EngineError, Result};

/// What an integer on disk counts, when the wanted type is not an integer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unit {
    /// The number itself; days for dates, microseconds for times.
    Plain,
    Days,
    /// A decimal's digits without its point.
    Unscaled(i8),
}

/// Collects values of one column.
pub enum Builder {
    Null(usize),
    Bool(BooleanBuilder),
    Whole {
        values: Vec<i64>,
        nulls: NullBufferBuilder,
        target: DataType,
        unit: Unit,
    },
    Float {
        values: Vec<f64>,
        nulls: NullBufferBuilder,
        target: DataType,
    },
    Decimal {
        values: Vec<i128>,
        nulls: NullBufferBuilder,
        precision: u8,
        scale: i8,
        unit: Unit,
    },
    /// Strings are bytes: see `crate::texts`.
    Text(LargeBinaryBuilder),
    Binary(BinaryBuilder),
    Struct {
        fields: Fields,
        members: Vec<Builder>,
        nulls: NullBufferBuilder,
    },
    List {
        item: FieldRef,
        items: Box<Builder>,
        offsets: Vec<i32>,
        nulls: NullBufferBuilder,
    },
    Map(Box<MapParts>),
}

pub struct MapParts {
    entries: FieldRef,
    keys: Builder,
    values: Builder,
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
}

impl MapParts {
    pub fn has_nested_keys(&self) -> bool {
        matches!(self.keys, Builder::Struct { .. } | Builder::List { .. } | Builder::Map(_))
    }
}

/// The same values in another type; a value that does not fit is an error.
pub fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(array.clone());
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    Ok(cast_with_options(array, to, &options)?)
}

impl Builder {
    pub fn new(column: &str, data_type: &DataType, unit: Unit, rows: usize) -> Result<Builder> {
        Builder::widened(column, data_type, unit, None, rows)
    }

    /// A builder of values that were written as another type, which determines the unit of nested numbers.
    pub fn widened(
        column: &str,
        data_type: &DataType,
        unit: Unit,
        written: Option<&DataType>,
        rows: usize,
    ) -> Result<Builder> {
        use DataType as D;
        let nulls = NullBufferBuilder::new(rows);
        let inner = |data_type: &D, written: Option<&D>| {
            Builder::widened(column, data_type, unit_of(written), written, 0)
        };
        Ok(match data_type {
            D::Null => Builder::Null(0),
            D::Boolean => Builder::Bool(BooleanBuilder::with_capacity(rows)),
            D::Int8
            | D::Int16
            | D::Int32
            | D::Int64
            | D::Date32
            | D::Timestamp(..)
            | D::Duration(_) => {
                let values = Vec::with_capacity(rows);
                Builder::Whole { values, nulls, target: data_type.clone(), unit }
            }
            D::Float32 | D::Float64 => {
                let values = Vec::with_capacity(rows);
                Builder::Float { values, nulls, target: data_type.clone() }
            }
            D::Decimal128(precision, scale) => {
                let (precision, scale) = (*precision, *scale);
                let values = Vec::with_capacity(rows);
                Builder::Decimal { values, nulls, precision, scale, unit }
            }
            D::LargeBinary => Builder::Text(LargeBinaryBuilder::with_capacity(rows, rows * 32)),
            D::Binary => Builder::Binary(BinaryBuilder::with_capacity(rows, rows * 16)),
            D::Struct(fields) => Builder::Struct {
                members: fields
                    .iter()
                    .map(|f| inner(f.data_type(), member_of(written, f.name())))
                    .collect::<Result<_>>()?,
                fields: fields.clone(),
                nulls,
            },
            D::List(item) => Builder::List {
                items: Box::new(inner(item.data_type(), item_of(written))?),
                item: item.clone(),
                offsets: vec![0],
                nulls,
            },
            D::Map(entries, _) => {
                let D::Struct(pair) = entries.data_type() else {
                    return Err(unsupported(column, data_type));
                };
                Builder::Map(Box::new(MapParts {
                    keys: inner(pair[0].data_type(), entry_of(written, 0))?,
                    values: inner(pair[1].data_type(), entry_of(written, 1))?,
                    entries: entries.clone(),
                    offsets: vec![0],
                    nulls,
                }))
            }
            _ => return Err(unsupported(column, data_type)),
        })
    }

    #[inline]
    pub fn push_null(&mut self) {
        match self {
            Builder::Null(rows) => *rows += 1,
            Builder::Bool(builder) => builder.append_null(),
            Builder::Whole { values, nulls, .. } => {
                values.push(0);
                nulls.append_null();
            }
            Builder::Float { values, nulls, .. } => {
                values.push(0.0);
                nulls.append_null();
            }
            Builder::Decimal { values, nulls, .. } => {
                values.push(0);
                nulls.append_null();
            }
            Builder::Text(builder) => builder.append_null(),
            Builder::Binary(builder) => builder.append_null(),
            Builder::Struct { members, nulls, .. } => {
                members.iter_mut().for_each(Builder::push_null);
                nulls.append_null();
            }
            Builder::List { items, offsets, nulls, .. } => {
                offsets.push(items.rows() as i32);
                nulls.append_null();
            }
            Builder::Map(map) => {
                map.offsets.push(map.keys.rows() as i32);
                map.nulls.append_null();
            }
        }
    }

    pub fn rows(&self) -> usize {
        use arrow::array::ArrayBuilder;
        match self {
            Builder::Null(rows) => *rows,
            Builder::Bool(builder) => builder.len(),
            Builder::Whole { values, .. } => values.len(),
            Builder::Float { values, .. } => values.len(),
            Builder::Decimal { values, .. } => values.len(),
            Builder::Text(builder) => builder.len(),
            Builder::Binary(builder) => builder.len(),
            Builder::Struct { nulls, .. } => nulls.len(),
            Builder::List { offsets, .. } => offsets.len() - 1,
            Builder::Map(map) => map.offsets.len() - 1,
        }
    }

    /// Adds one value; a value that does not fit the type is null, as with a cast.
    #[inline]
    pub fn push(&mut self, value: Stored<'_>) {
        if matches!(value, Stored::Null) {
            return self.push_null();
        }
        let done = match self {
            Builder::Null(_) => None,
            Builder::Bool(builder) => to_bool(value).map(|v| builder.append_value(v)),
            Builder::Whole { values, nulls, target, unit } => {
                to_whole(value, target, *unit).map(|v| {
                    values.push(v);
                    nulls.append_non_null();
                })
            }
            Builder::Float { values, nulls, .. } => to_float(value).map(|v| {
                values.push(v);
                nulls.append_non_null();
            }),
            Builder::Decimal { values, nulls, scale, unit, .. } => to_decimal(value, *scale, *unit)
                .map(|v| {
                    values.push(v);
                    nulls.append_non_null();
                }),
            Builder::Text(builder) => {
                push_text(builder, value);
                Some(())
            }
            Builder::Binary(builder) => push_binary(builder, value),
            Builder::Struct { fields, members, nulls } => {
                push_struct(fields, members, value).map(|()| nulls.append_non_null())
            }
            Builder::List { items, offsets, nulls, .. } => push_list(items, value).map(|()| {
                offsets.push(items.rows() as i32);
                nulls.append_non_null();
            }),
            Builder::Map(map) => push_map(map, value),
        };
        if done.is_none() {
            self.push_null();
        }
    }

    pub fn finish(self) -> Result<ArrayRef> {
        Ok(match self {
            Builder::Null(rows) => new_null_array(&DataType::Null, rows),
            Builder::Bool(mut builder) => Arc::new(builder.finish()),
            Builder::Whole { values, mut nulls, target, .. } => {
                let array: ArrayRef = Arc::new(Int64Array::new(values.into(), nulls.finish()));
                from_whole(&array, &target)?
            }
            Builder::Float { values, mut nulls, target } => {
                let array: ArrayRef = Arc::new(Float64Array::new(values.into(), nulls.finish()));
                cast(&array, &target)?
            }
            Builder::Decimal { values, mut nulls, precision, scale, .. } => {
                let array = Decimal128Array::new(values.into(), nulls.finish());
                Arc::new(array.with_precision_and_scale(precision, scale)?)
            }
            Builder::Text(mut builder) => Arc::new(builder.finish()),
            Builder::Binary(mut builder) => Arc::new(builder.finish()),
            Builder::Struct { fields, members, mut nulls } => {
                let len = nulls.len();
                let arrays = members.into_iter().map(Builder::finish).collect::<Result<_>>()?;
                let nulls = nulls.finish();
                Arc::new(StructArray::try_new_with_length(fields, arrays, nulls, len)?)
            }
            Builder::List { item, items, offsets, mut nulls } => {
                let offsets = OffsetBuffer::new(offsets.into());
                Arc::new(ListArray::try_new(item, offsets, items.finish()?, nulls.finish())?)
            }
            Builder::Map(map) => finish_map(*map)?,
        })
    }
}

/// What nested numbers count that were written as this type.
pub fn unit_of(written: Option<&DataType>) -> Unit {
    if written == Some(&DataType::Date32) { Unit::Days } else { Unit::Plain }
}

fn member_of<'a>(written: Option<&'a DataType>, name: &str) -> Option<&'a DataType> {
    match written? {
        DataType::Struct(fields) => fields.iter().find(|f| f.name() == name).map(|f| f.data_type()),
        _ => None,
    }
}

fn item_of(written: Option<&DataType>) -> Option<&DataType> {
    match written? {
        DataType::List(item) => Some(item.data_type()),
        _ => None,
    }
}

/// The type of the keys (0) or values (1) of a map.
fn entry_of(written: Option<&DataType>, at: usize) -> Option<&DataType> {
    let DataType::Map(entries, _) = written? else { return None };
    let DataType::Struct(pair) = entries.data_type() else { return None };
    pair.get(at).map(|field| field.data_type())
}

fn unsupported(column: &str, data_type: &DataType) -> EngineError {
    EngineError::UnsupportedType { column: column.to_owned(), data_type: data_type.to_string() }
}

/// Converts integers to their type: days to dates, microseconds to timestamps.
pub fn from_whole(array: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    match target {
        DataType::Date32 => cast(&cast(array, &DataType::Int32)?, target),
        _ => cast(array, target),
    }
}

fn finish_map(mut map: MapParts) -> Result<ArrayRef> {
    let DataType::Struct(pair) = map.entries.data_type() else {
        return Err(EngineError::internal("a map without entries"));
    };
    let entries =
        StructArray::try_new(pair.clone(), vec![map.keys.finish()?, map.values.finish()?], None)?;
    let offsets = OffsetBuffer::new(map.offsets.into());
    let nulls = map.nulls.finish();
    Ok(Arc::new(MapArray::try_new(map.entries.clone(), offsets, entries, nulls, false)?))
}

fn to_bool(value: Stored<'_>) -> Option<bool> {
    match value {
        Stored::Bool(value) => Some(value),
        Stored::Str("true") => Some(true),
        Stored::Str("false") => Some(false),
        _ => None,
    }
}

const NANOS_PER_DAY: i64 = 86_400_000_000_000;
const MICROS_PER_DAY: i64 = 86_400_000_000;

#[inline]
fn to_whole(value: Stored<'_>, target: &DataType, unit: Unit) -> Option<i64> {
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

fn to_float(value: Stored<'_>) -> Option<f64> {
    match value {
        Stored::F64(number) => Some(number),
        Stored::I64(number) => Some(number as f64),
        Stored::U64(number) => Some(number as f64),
        Stored::Str(written) => text::float(written),
        _ => None,
    }
}

fn to_decimal(value: Stored<'_>, scale: i8, unit: Unit) -> Option<i128> {
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

#[inline]
fn push_text(builder: &mut LargeBinaryBuilder, value: Stored<'_>) {
    match value {
        Stored::Bytes(bytes) => builder.append_value(bytes),
        Stored::Str(text) => builder.append_value(text),
        Stored::Ip(address) => builder.append_value(ip_text(address)),
        Stored::Date(nanos) => builder.append_value(rfc3339(nanos)),
        other => builder.append_value(other.to_json().to_string()),
    }
}

fn push_binary(builder: &mut BinaryBuilder, value: Stored<'_>) -> Option<()> {
    match value {
        Stored::Bytes(bytes) => builder.append_value(bytes),
        Stored::Str(text) => {
            let bytes = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
            builder.append_value(bytes);
        }
        _ => return None,
    }
    Some(())
}

fn push_struct(fields: &Fields, members: &mut [Builder], value: Stored<'_>) -> Option<()> {
    let Stored::Object(found) = value else {
        return None;
    };
    // our writer preserves the order of the type, so the next member is nearly always the right one
    let mut rest = found;
    for (field, member) in fields.iter().zip(members) {
        let mut ahead = rest;
        match ahead.next() {
            Some((name, value)) if name == field.name() => {
                member.push(value);
                rest = ahead;
            }
            _ => match found.into_iter().find(|(name, _)| name == field.name()) {
                Some((_, value)) => member.push(value),
                None => member.push_null(),
            },
        }
    }
    Some(())
}

fn push_list(items: &mut Builder, value: Stored<'_>) -> Option<()> {
    let Stored::Array(found) = value else {
        return None;
    };
    found.for_each(|item| items.push(item));
    Some(())
}

fn push_map(map: &mut MapParts, value: Stored<'_>) -> Option<()> {
    match value {
        Stored::Object(members) => {
            for (name, value) in members {
                push_key(&mut map.keys, name);
                map.values.push(value);
            }
        }
        // keys that are nested themselves: a list of pairs
        Stored::Array(pairs) => {
            for pair in pairs {
                let Stored::Object(members) = pair else { continue };
                let mut pair = [Stored::Null, Stored::Null];
                for (name, value) in members {
                    pair[usize::from(name != "key")] = value;
                }
                map.keys.push(pair[0]);
                map.values.push(pair[1]);
            }
        }
        _ => return None,
    }
    map.offsets.push(map.keys.rows() as i32);
    map.nulls.append_non_null();
    Some(())
}

/// A map key is written as the name of a member; dates and times are numbers in it.
fn push_key(keys: &mut Builder, name: &str) {
    match keys {
        Builder::Whole { .. } => match name.parse() {
            Ok(number) => keys.push(Stored::I64(number)),
            Err(_) => keys.push(Stored::Str(name)),
        },
        _ => keys.push(Stored::Str(name)),
    }
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
