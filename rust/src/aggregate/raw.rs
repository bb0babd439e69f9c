//! Columns in the form that is cheapest to aggregate: numbers as they are on disk, texts as their
//! positions in a sorted dictionary.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, make_array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, Schema};
use tantivy::columnar::{BytesColumn, Column as Values, DynamicColumn};

use crate::columns::build::Builder;
use crate::columns::fast::{MAX_FAST_BYTES, gather, unit_of};
use crate::columns::stored_value::Stored;
use crate::columns::{Docs, SegmentColumns, open_fast};
use crate::error::{EngineError, Result};
use crate::open::{Column, Split};
use crate::split::Encoding;

/// One column of one segment.
pub enum Raw {
    /// The split or segment has no value of it.
    Absent,
    I64(Values<i64>),
    U64(Values<u64>),
    Bool(Values<bool>),
    Date(Values<tantivy::DateTime>),
    F64(Values<f64>),
    Terms(BytesColumn),
    /// Values that have to be read one by one; none are left in a partial result.
    Arrays(Option<Box<Rows>>),
}

/// Values of a column, or of a member at a path inside its structs.
pub struct Rows {
    columns: SegmentColumns,
    path: Vec<String>,
}

/// Values of a block of documents.
pub enum Block {
    Absent,
    Numbers(Vec<i64>, Option<NullBuffer>),
    Floats(Vec<f64>, Option<NullBuffer>),
    Terms(Vec<u32>, Option<NullBuffer>),
    Array(ArrayRef),
}

impl Block {
    /// The values of the rows that `keep` has, and nulls for the others.
    pub fn only(self, keep: &[bool]) -> Result<Block> {
        let kept = NullBuffer::from(keep.to_vec());
        let both = |nulls: Option<NullBuffer>| NullBuffer::union(nulls.as_ref(), Some(&kept));
        Ok(match self {
            Block::Absent => Block::Absent,
            Block::Numbers(values, nulls) => Block::Numbers(values, both(nulls)),
            Block::Floats(values, nulls) => Block::Floats(values, both(nulls)),
            Block::Terms(ords, nulls) => Block::Terms(ords, both(nulls)),
            Block::Array(array) => Block::Array(with_nulls(&array, Some(&kept))?),
        })
    }

    pub fn nulls(&self) -> Option<NullBuffer> {
        match self {
            Block::Absent => None,
            Block::Numbers(_, nulls) | Block::Floats(_, nulls) | Block::Terms(_, nulls) => {
                nulls.clone()
            }
            Block::Array(array) => array.logical_nulls(),
        }
    }
}

impl Raw {
    /// `values` asks for the values themselves, not just their order.
    pub fn open(
        split: &Arc<Split>,
        segment: usize,
        column: Option<&Column>,
        values: bool,
    ) -> Result<Raw> {
        let Some(column) = column else {
            return Ok(Raw::Absent);
        };
        let plain = column.fast
            && !column.is_json()
            && column.source.is_none()
            && column.overlong != Some(true)
            && !column.number_as_text
            && !column.is_converted()
            && !matches!(column.encoding, Encoding::Text | Encoding::Ip);
        if !plain {
            return Raw::arrays(split, segment, column, &[]);
        }
        Ok(match open_fast(&split.segments[segment], column)? {
            None => Raw::Absent,
            Some(DynamicColumn::I64(values)) => Raw::I64(values),
            Some(DynamicColumn::U64(values)) => Raw::U64(values),
            Some(DynamicColumn::Bool(values)) => Raw::Bool(values),
            Some(DynamicColumn::DateTime(values)) => Raw::Date(values),
            Some(DynamicColumn::F64(values)) => Raw::F64(values),
            Some(DynamicColumn::Bytes(terms)) if !values => Raw::Terms(terms),
            Some(DynamicColumn::Str(terms)) if !values => {
                let terms: BytesColumn = terms.into();
                if column.overlong.is_none() && has_cut_terms(&terms)? {
                    return Raw::arrays(split, segment, column, &[]);
                }
                Raw::Terms(terms)
            }
            Some(_) => return Raw::arrays(split, segment, column, &[]),
        })
    }

    /// A column whose values are given as arrays.
    pub fn partial() -> Raw {
        Raw::Arrays(None)
    }

    /// Whole values of a column, or of a member of it, read row by row.
    pub fn arrays(
        split: &Arc<Split>,
        segment: usize,
        column: &Column,
        path: &[String],
    ) -> Result<Raw> {
        let field = Field::new(&column.name, column.data_type.clone(), true);
        let schema = Arc::new(Schema::new(vec![field]));
        let columns = SegmentColumns::open(split, segment, schema, usize::MAX)?;
        Ok(Raw::Arrays(Some(Box::new(Rows { columns, path: path.to_vec() }))))
    }

    pub fn read(&mut self, docs: &Docs<'_>) -> Result<Block> {
        let numbers = |(values, nulls)| Block::Numbers(values, nulls);
        Ok(match self {
            Raw::Absent => Block::Absent,
            Raw::I64(column) => numbers(gather(column, docs, |v| v)),
            Raw::U64(column) => numbers(gather(column, docs, |v| v as i64)),
            Raw::Bool(column) => numbers(gather(column, docs, i64::from)),
            Raw::Date(column) => numbers(gather(column, docs, |v| v.into_timestamp_nanos())),
            Raw::F64(column) => {
                let (values, nulls) = gather(column, docs, |v| v);
                Block::Floats(values, nulls)
            }
            Raw::Terms(terms) => {
                let (ords, nulls) = gather(terms.ords(), docs, |ord| ord as u32);
                Block::Terms(ords, nulls)
            }
            Raw::Arrays(None) => Block::Absent,
            Raw::Arrays(Some(rows)) => {
                let array = rows.columns.read(docs)?.pop();
                let array = array.ok_or_else(|| EngineError::internal("no column"))?;
                Block::Array(member_values(array, &rows.path)?)
            }
        })
    }

    /// Smallest and largest number on disk, if they are known without reading.
    pub fn number_bounds(&self) -> Option<(i64, i64)> {
        match self {
            Raw::I64(column) => Some((column.min_value(), column.max_value())),
            Raw::Bool(_) => Some((0, 1)),
            _ => None,
        }
    }

    /// Numbers on disk as values of a type.
    pub fn numbers_to_array(
        &self,
        column: Option<&Column>,
        numbers: &[Option<i64>],
        target: &DataType,
    ) -> Result<ArrayRef> {
        let (name, unit) = match column {
            Some(column) => (column.name.as_str(), unit_of(column)),
            None => ("", crate::columns::convert::Unit::Plain),
        };
        let mut builder = Builder::new(name, target, unit, numbers.len())?;
        for number in numbers {
            match (self, number) {
                (_, None) => builder.push_null(),
                (Raw::Bool(_), Some(v)) => builder.push(Stored::Bool(*v != 0)),
                (Raw::Date(_), Some(v)) => builder.push(Stored::Date(*v)),
                (_, Some(v)) => builder.push(Stored::I64(*v)),
            }
        }
        builder.finish()
    }

    /// Positions in the dictionary as values of a type.
    pub fn terms_to_array(
        &self,
        column: &Column,
        ords: &[Option<u32>],
        target: &DataType,
    ) -> Result<ArrayRef> {
        let Raw::Terms(terms) = self else {
            return Err(EngineError::internal("no dictionary"));
        };
        let mut wanted: Vec<u64> = ords.iter().flatten().map(|&ord| u64::from(ord)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut values: Vec<Vec<u8>> = Vec::with_capacity(wanted.len());
        terms.dictionary().sorted_ords_to_term_cb(&wanted, |term| values.push(term.to_vec()))?;
        let mut builder = Builder::new(&column.name, target, unit_of(column), ords.len())?;
        for ord in ords {
            let found = ord.and_then(|ord| wanted.binary_search(&u64::from(ord)).ok());
            match found.and_then(|at| values.get(at)) {
                None => builder.push_null(),
                Some(bytes) => builder.push(Stored::Bytes(bytes)),
            }
        }
        builder.finish()
    }
}

/// The values at a path inside structs; null where a struct on the way is.
fn member_values(array: ArrayRef, path: &[String]) -> Result<ArrayRef> {
    let Some((first, rest)) = path.split_first() else { return Ok(array) };
    let outer = array.as_struct_opt().ok_or_else(|| EngineError::internal("not a struct"))?;
    let inner = outer.column_by_name(first).ok_or_else(|| EngineError::internal("no member"))?;
    member_values(with_nulls(inner, outer.nulls())?, rest)
}

/// An array with more nulls.
fn with_nulls(array: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<ArrayRef> {
    if nulls.is_none() {
        return Ok(array.clone());
    }
    let both = NullBuffer::union(array.nulls(), nulls);
    Ok(make_array(array.to_data().into_builder().nulls(both).build()?))
}

/// Whether some value may have been cut by a writer that does not record it.
fn has_cut_terms(terms: &BytesColumn) -> Result<bool> {
    let mut stream = terms.dictionary().stream()?;
    while stream.advance() {
        if stream.key().len() >= MAX_FAST_BYTES {
            return Ok(true);
        }
    }
    Ok(false)
}
