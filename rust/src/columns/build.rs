//! Stored values into Arrow arrays of the wanted type, whatever encoding they were written with.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, Decimal128Array, Float64Array, Int64Array,
    LargeBinaryBuilder, ListArray, MapArray, NullBufferBuilder, StructArray, new_null_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, FieldRef, Fields};
use base64::Engine as _;

pub use super::convert::{Unit, cast};
use super::convert::{
    entry_of, from_whole, item_of, member_of, to_bool, to_decimal, to_float, to_whole, unit_of,
};
use super::stored_value::{Stored, ip_text, rfc3339};
use crate::error::{EngineError, Result};

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

fn unsupported(column: &str, data_type: &DataType) -> EngineError {
    EngineError::UnsupportedType { column: column.to_owned(), data_type: data_type.to_string() }
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
