//! Struct, list and map columns as JSON values: each leaf array is converted once per batch, rows are
//! then read in place.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, LargeBinaryArray,
    LargeStringArray, StructArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Fields, Int64Type, TimeUnit};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::columns::convert::cast;
use crate::error::{EngineError, Result};
use crate::texts::{bytes_of, lossy_texts};

/// A nested array whose leaves have the five types of JSON.
#[derive(Debug)]
pub enum Node {
    Null,
    Bool(BooleanArray),
    I64(Int64Array),
    F64(Float64Array),
    Text(LargeStringArray),
    /// Strings of which some are not UTF-8.
    Bytes(LargeBinaryArray),
    Struct {
        names: Fields,
        members: Vec<Node>,
        nulls: Option<NullBuffer>,
    },
    List {
        offsets: OffsetBuffer<i64>,
        items: Box<Node>,
        nulls: Option<NullBuffer>,
    },
    Map {
        offsets: OffsetBuffer<i64>,
        keys: LargeStringArray,
        values: Box<Node>,
        nulls: Option<NullBuffer>,
    },
}

impl Node {
    pub fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(array) => array.is_null(row),
            Self::I64(array) => array.is_null(row),
            Self::F64(array) => array.is_null(row),
            Self::Text(array) => array.is_null(row),
            Self::Bytes(array) => array.is_null(row),
            Self::Struct { nulls, .. } | Self::List { nulls, .. } | Self::Map { nulls, .. } => {
                nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
            }
        }
    }

    /// Bytes of the longest text anywhere below.
    pub fn longest(&self) -> usize {
        match self {
            // bytes are only stored
            Self::Null | Self::Bool(_) | Self::I64(_) | Self::F64(_) | Self::Bytes(_) => 0,
            Self::Text(array) => longest_text(array),
            Self::Struct { members, .. } => members.iter().map(Self::longest).max().unwrap_or(0),
            Self::List { items, .. } => items.longest(),
            // a key is part of every term below it
            Self::Map { keys, values, .. } => longest_text(keys) + values.longest(),
        }
    }
}

fn longest_text(array: &LargeStringArray) -> usize {
    array.value_offsets().windows(2).map(|pair| (pair[1] - pair[0]) as usize).max().unwrap_or(0)
}

/// Whether map keys of this type are written as the member names of an object.
pub fn is_plain_key(data_type: &DataType) -> bool {
    !data_type.is_nested()
}

/// How strings that are not UTF-8 are converted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Strings {
    /// Text with replacements: what an index takes.
    Decoded,
    /// Bytes: what is stored.
    Exact,
}

/// Whether some string inside is not UTF-8.
pub fn has_broken(array: &ArrayRef) -> Result<bool> {
    use DataType as D;
    let any = |arrays: &[ArrayRef]| -> Result<bool> {
        for inner in arrays {
            if has_broken(inner)? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    match array.data_type() {
        D::Utf8 | D::LargeUtf8 | D::Utf8View | D::LargeBinary => {
            Ok(LargeStringArray::try_from_binary(bytes_of(array)?).is_err())
        }
        D::Struct(_) => any(array.as_struct().columns()),
        D::List(_) => has_broken(array.as_list::<i32>().values()),
        D::LargeList(_) => has_broken(array.as_list::<i64>().values()),
        D::FixedSizeList(..) => has_broken(array.as_fixed_size_list().values()),
        D::Map(..) => any(array.as_map().entries().columns()),
        _ => Ok(false),
    }
}

/// Converts an array; `column` names it in errors.
pub fn node(column: &str, array: &ArrayRef, strings: Strings) -> Result<Node> {
    use DataType as D;
    Ok(match array.data_type() {
        D::Null => Node::Null,
        D::Boolean => Node::Bool(array.as_boolean().clone()),
        D::Int8
        | D::Int16
        | D::Int32
        | D::Int64
        | D::Date32
        | D::Timestamp(..)
        | D::Duration(_) => Node::I64(whole_numbers(array)?),
        D::Float32 | D::Float64 => Node::F64(cast(array, &D::Float64)?.as_primitive().clone()),
        D::Struct(names) => {
            let rows: &StructArray = array.as_struct();
            let members = rows
                .columns()
                .iter()
                .map(|c| node(column, c, strings))
                .collect::<Result<Vec<_>>>()?;
            Node::Struct { names: names.clone(), members, nulls: rows.nulls().cloned() }
        }
        D::List(item) | D::FixedSizeList(item, _) => {
            list(column, &cast(array, &D::LargeList(item.clone()))?, strings)?
        }
        D::LargeList(_) => list(column, array, strings)?,
        D::Map(..) => map(column, array, strings)?,
        D::Utf8 | D::LargeUtf8 | D::Utf8View | D::LargeBinary => decoded(array, strings)?,
        _ => Node::Text(texts(column, array)?),
    })
}

/// Integers, dates as days, timestamps and durations as microseconds.
pub fn whole_numbers(array: &ArrayRef) -> Result<Int64Array> {
    use DataType as D;
    let array = match array.data_type() {
        D::Date32 => cast(&cast(array, &D::Int32)?, &D::Int64)?,
        D::Timestamp(_, zone) => {
            cast(&cast(array, &D::Timestamp(TimeUnit::Microsecond, zone.clone()))?, &D::Int64)?
        }
        D::Duration(_) => cast(&cast(array, &D::Duration(TimeUnit::Microsecond))?, &D::Int64)?,
        _ => cast(array, &D::Int64)?,
    };
    Ok(array.as_primitive::<Int64Type>().clone())
}

/// Strings as text if they are valid UTF-8, otherwise as requested.
fn decoded(array: &ArrayRef, strings: Strings) -> Result<Node> {
    let bytes = bytes_of(array)?;
    Ok(match (LargeStringArray::try_from_binary(bytes.clone()), strings) {
        (Ok(texts), _) => Node::Text(texts),
        (Err(_), Strings::Decoded) => Node::Text(lossy_texts(&bytes).0),
        (Err(_), Strings::Exact) => Node::Bytes(bytes),
    })
}

/// Binary as base64, decimals in plain notation.
fn texts(column: &str, array: &ArrayRef) -> Result<LargeStringArray> {
    use DataType as D;
    match array.data_type() {
        D::Decimal128(..) => Ok(cast(array, &D::LargeUtf8)?.as_string::<i64>().clone()),
        D::Binary | D::BinaryView => {
            let bytes = cast(array, &D::LargeBinary)?;
            Ok(bytes.as_binary::<i64>().iter().map(|v| v.map(|v| BASE64.encode(v))).collect())
        }
        other => Err(EngineError::UnsupportedType {
            column: column.to_owned(),
            data_type: other.to_string(),
        }),
    }
}

fn list(column: &str, array: &ArrayRef, strings: Strings) -> Result<Node> {
    let array = array.as_list::<i64>();
    Ok(Node::List {
        offsets: array.offsets().clone(),
        items: Box::new(node(column, array.values(), strings)?),
        nulls: array.nulls().cloned(),
    })
}

fn map(column: &str, array: &ArrayRef, strings: Strings) -> Result<Node> {
    let array = array.as_map();
    let offsets = array.offsets().iter().map(|&offset| i64::from(offset)).collect::<Vec<_>>();
    let offsets = OffsetBuffer::new(offsets.into());
    let nulls = array.nulls().cloned();
    // a key that is not UTF-8 cannot be the name of a member either
    let broken_keys = strings == Strings::Exact && has_broken(array.keys())?;
    if broken_keys || !is_plain_key(array.keys().data_type()) {
        let entries: ArrayRef = Arc::new(array.entries().clone());
        let items = Box::new(node(column, &entries, strings)?);
        return Ok(Node::List { offsets, items, nulls });
    }
    let keys = key_texts(column, array.keys())?;
    Ok(Node::Map { offsets, keys, values: Box::new(node(column, array.values(), strings)?), nulls })
}

/// Map keys as member names: numbers in decimal, the rest as `texts` does.
fn key_texts(column: &str, keys: &ArrayRef) -> Result<LargeStringArray> {
    Ok(match node(column, keys, Strings::Decoded)? {
        Node::Text(texts) => texts,
        Node::Bool(values) => values.iter().map(|v| v.map(|v| v.to_string())).collect(),
        Node::I64(values) => values.iter().map(|v| v.map(|v| v.to_string())).collect(),
        Node::F64(values) => values.iter().map(|v| v.map(float_text)).collect(),
        _ => return Err(EngineError::internal("a nested map key was taken for a plain one")),
    })
}

/// The shortest text that gives the same number back.
fn float_text(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity".to_owned() } else { "-Infinity".to_owned() }
    } else {
        format!("{value:?}")
    }
}
