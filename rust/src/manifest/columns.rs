//! Columns under construction, to which records are appended.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Int32Array, Int64Array, ListArray, MapArray, StringArray, StructArray,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field, Fields};

use crate::error::{EngineError, Result};

fn invalid(error: impl std::fmt::Display) -> EngineError {
    EngineError::corrupt("", error)
}

fn offset(length: usize) -> Result<i32> {
    i32::try_from(length).map_err(|_| EngineError::corrupt("", "a column of it exceeds 2 GB"))
}

fn exhausted(_: std::collections::TryReserveError) -> EngineError {
    EngineError::corrupt("", "there is not enough memory for its entries")
}

/// Reserves this many times the current size, and a little more.
fn room<T>(values: &mut Vec<T>, more: f64) -> Result<()> {
    let extra = (values.len() as f64 * more * 1.03) as usize + 16;
    values.try_reserve_exact(extra).map_err(exhausted)
}

/// Appends without aborting the process if memory is short.
#[inline]
fn put<T>(values: &mut Vec<T>, value: T) -> Result<()> {
    if values.len() == values.capacity() {
        values.try_reserve(1).map_err(exhausted)?;
    }
    values.push(value);
    Ok(())
}

#[inline]
fn put_slice(values: &mut Vec<u8>, slice: &[u8]) -> Result<()> {
    if values.capacity() - values.len() < slice.len() {
        values.try_reserve(slice.len()).map_err(exhausted)?;
    }
    values.extend_from_slice(slice);
    Ok(())
}

fn put_many<T: Clone>(values: &mut Vec<T>, value: T, count: usize) -> Result<()> {
    values.try_reserve(count).map_err(exhausted)?;
    values.resize(values.len() + count, value);
    Ok(())
}

/// Fails if the arrays of this many rows would not fit into memory, which would abort the process.
pub fn check_memory(rows: usize, columns: usize) -> Result<()> {
    const LONG: usize = size_of::<i64>() + 1;
    let mut probe: Vec<u8> = Vec::new();
    probe.try_reserve_exact(rows.saturating_mul(columns * LONG)).map_err(exhausted)
}

/// Validity; nothing is stored as long as all or none of the values are null.
#[derive(Default)]
pub struct Validity {
    length: usize,
    /// The number of leading nulls, as long as there is no value.
    absent: usize,
    bits: Option<Vec<bool>>,
}

impl Validity {
    /// Records a null; true if the column may stay empty, because it has no value yet.
    #[inline]
    fn skip(&mut self) -> Result<bool> {
        let empty = self.bits.is_none() && self.absent == self.length;
        if empty {
            self.absent += 1;
            self.length += 1;
        } else {
            self.push(false)?;
        }
        Ok(empty)
    }

    /// Ends the leading nulls; returns how many values the column has to add for them.
    #[inline]
    fn begin(&mut self) -> Result<usize> {
        if self.absent == 0 {
            return Ok(0);
        }
        let mut bits = Vec::new();
        put_many(&mut bits, false, self.absent)?;
        self.bits = Some(bits);
        Ok(std::mem::take(&mut self.absent))
    }

    #[inline]
    pub fn push(&mut self, valid: bool) -> Result<()> {
        match &mut self.bits {
            Some(bits) => put(bits, valid)?,
            None if !valid => {
                let mut bits = Vec::new();
                put_many(&mut bits, true, self.length)?;
                put(&mut bits, false)?;
                self.bits = Some(bits);
            }
            None => {}
        }
        self.length += 1;
        Ok(())
    }

    /// The number of rows, if all of them are null.
    fn all_null(&self) -> Option<usize> {
        (self.length > 0 && self.absent == self.length).then_some(self.length)
    }

    fn finish(self) -> Option<NullBuffer> {
        self.bits.map(|bits| NullBuffer::new(BooleanBuffer::from(bits)))
    }
}

#[derive(Default)]
pub struct Texts {
    ends: Ends,
    bytes: Vec<u8>,
    validity: Validity,
}

impl Texts {
    #[inline]
    pub fn push(&mut self, value: Option<&[u8]>) -> Result<()> {
        let Some(value) = value else {
            if !self.validity.skip()? {
                put(&mut self.ends.0, self.bytes.len() as i32)?;
            }
            return Ok(());
        };
        let missed = self.validity.begin()?;
        if missed > 0 {
            put_many(&mut self.ends.0, 0, missed)?;
        }
        put_slice(&mut self.bytes, value)?;
        put(&mut self.ends.0, offset(self.bytes.len())?)?;
        self.validity.push(true)
    }

    /// For items of lists and maps, which are never null.
    #[inline]
    pub fn push_item(&mut self, value: &[u8]) -> Result<()> {
        put_slice(&mut self.bytes, value)?;
        // checked when the list or map that holds it is closed
        put(&mut self.ends.0, self.bytes.len() as i32)
    }

    pub fn len(&self) -> usize {
        self.ends.0.len() - 1
    }

    pub fn reserve(&mut self, more: f64) -> Result<()> {
        room(&mut self.ends.0, more)?;
        room(&mut self.bytes, more)
    }

    pub fn finish(self) -> Result<StringArray> {
        offset(self.bytes.len())?;
        if let Some(rows) = self.validity.all_null() {
            return Ok(StringArray::new_null(rows));
        }
        let nulls = self.validity.finish();
        StringArray::try_new(self.ends.finish(), Buffer::from_vec(self.bytes), nulls)
            .map_err(invalid)
    }
}

/// The offsets of items, starting with that of the first.
struct Ends(Vec<i32>);

impl Default for Ends {
    fn default() -> Self {
        Self(vec![0])
    }
}

impl Ends {
    fn finish(self) -> OffsetBuffer<i32> {
        OffsetBuffer::new(ScalarBuffer::from(self.0))
    }
}

#[derive(Default)]
pub struct Maps {
    ends: Ends,
    pub keys: Texts,
    pub values: Texts,
    validity: Validity,
}

impl Maps {
    pub fn close(&mut self, valid: bool) -> Result<()> {
        offset(self.keys.bytes.len())?;
        offset(self.values.bytes.len())?;
        put(&mut self.ends.0, offset(self.keys.len())?)?;
        self.validity.push(valid)
    }

    pub fn reserve(&mut self, more: f64) -> Result<()> {
        room(&mut self.ends.0, more)?;
        self.keys.reserve(more)?;
        self.values.reserve(more)
    }

    pub fn finish(self) -> Result<ArrayRef> {
        let DataType::Map(entries, _) = map_type() else { unreachable!("a map") };
        let DataType::Struct(fields) = entries.data_type() else { unreachable!("a struct") };
        let columns: Vec<ArrayRef> =
            vec![Arc::new(self.keys.finish()?), Arc::new(self.values.finish()?)];
        let items = StructArray::try_new(fields.clone(), columns, None).map_err(invalid)?;
        let nulls = self.validity.finish();
        let array = MapArray::try_new(entries, self.ends.finish(), items, nulls, false);
        Ok(Arc::new(array.map_err(invalid)?))
    }
}

pub fn map_type() -> DataType {
    let members = Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", DataType::Utf8, true),
    ]);
    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(members), false)), false)
}

#[derive(Default)]
pub struct Lists {
    ends: Ends,
    pub items: Texts,
    validity: Validity,
}

impl Lists {
    pub fn close(&mut self, valid: bool) -> Result<()> {
        offset(self.items.bytes.len())?;
        put(&mut self.ends.0, offset(self.items.len())?)?;
        self.validity.push(valid)
    }

    pub fn finish(self) -> Result<ArrayRef> {
        let DataType::List(item) = list_type() else { unreachable!("a list") };
        let items = Arc::new(self.items.finish()?);
        let array = ListArray::try_new(item, self.ends.finish(), items, self.validity.finish());
        Ok(Arc::new(array.map_err(invalid)?))
    }
}

pub fn list_type() -> DataType {
    DataType::List(Arc::new(Field::new("item", DataType::Utf8, true)))
}

#[derive(Default)]
pub struct Longs {
    values: Vec<i64>,
    validity: Validity,
}

impl Longs {
    #[inline]
    pub fn push(&mut self, value: Option<i64>) -> Result<()> {
        let Some(value) = value else {
            if !self.validity.skip()? {
                put(&mut self.values, 0)?;
            }
            return Ok(());
        };
        let missed = self.validity.begin()?;
        if missed > 0 {
            put_many(&mut self.values, 0, missed)?;
        }
        put(&mut self.values, value)?;
        self.validity.push(true)
    }

    pub fn reserve(&mut self, more: f64) -> Result<()> {
        room(&mut self.values, more)
    }

    pub fn finish(self) -> ArrayRef {
        if let Some(rows) = self.validity.all_null() {
            return Arc::new(Int64Array::new_null(rows));
        }
        Arc::new(Int64Array::new(self.values.into(), self.validity.finish()))
    }

    pub fn finish_narrow(self) -> Result<ArrayRef> {
        if let Some(rows) = self.validity.all_null() {
            return Ok(Arc::new(Int32Array::new_null(rows)));
        }
        let values: Vec<i32> = self
            .values
            .into_iter()
            .map(|v| i32::try_from(v).map_err(|_| invalid("a count exceeds 32 bits")))
            .collect::<Result<_>>()?;
        Ok(Arc::new(Int32Array::new(values.into(), self.validity.finish())))
    }
}

#[derive(Default)]
pub struct Flags {
    values: Vec<bool>,
    validity: Validity,
}

impl Flags {
    pub fn push(&mut self, value: Option<bool>) -> Result<()> {
        put(&mut self.values, value.unwrap_or_default())?;
        self.validity.push(value.is_some())
    }

    pub fn finish(self) -> ArrayRef {
        Arc::new(BooleanArray::new(BooleanBuffer::from(self.values), self.validity.finish()))
    }
}

/// Places of deletion vectors.
#[derive(Default)]
pub struct Vectors {
    pub files: Texts,
    pub numbers: [Longs; 3],
    validity: Validity,
}

pub const VECTOR_NUMBERS: [&str; 3] = ["offset", "length", "cardinality"];

impl Vectors {
    pub fn push_null(&mut self) -> Result<()> {
        self.files.push(None)?;
        self.numbers.iter_mut().try_for_each(|n| n.push(None))?;
        self.validity.push(false)
    }

    pub fn close(&mut self) -> Result<()> {
        self.validity.push(true)
    }

    pub fn finish(self) -> Result<ArrayRef> {
        let DataType::Struct(fields) = vector_type() else { unreachable!("a struct") };
        let mut columns: Vec<ArrayRef> = vec![Arc::new(self.files.finish()?)];
        columns.extend(self.numbers.into_iter().map(Longs::finish));
        let array = StructArray::try_new(fields, columns, self.validity.finish());
        Ok(Arc::new(array.map_err(invalid)?))
    }
}

pub fn vector_type() -> DataType {
    let mut members = vec![Field::new("file", DataType::Utf8, true)];
    members.extend(VECTOR_NUMBERS.map(|name| Field::new(name, DataType::Int64, true)));
    DataType::Struct(members.into())
}

/// Runs of a companion's splits: which rows of which source files are their documents.
#[derive(Default)]
pub struct Runs {
    ends: Ends,
    pub numbers: [Longs; 5],
    pub stamps: Texts,
    validity: Validity,
}

pub const RUN_NUMBERS: [&str; 5] = ["file", "row", "rows", "fileRows", "size"];
pub const RUN_STAMP: &str = "stamp";

impl Runs {
    pub fn close(&mut self, valid: bool) -> Result<()> {
        put(&mut self.ends.0, offset(self.numbers[0].validity.length)?)?;
        self.validity.push(valid)
    }

    pub fn finish(self) -> Result<ArrayRef> {
        let DataType::List(item) = runs_type() else { unreachable!("a list") };
        let DataType::Struct(fields) = item.data_type() else { unreachable!("a struct") };
        let mut columns: Vec<ArrayRef> = self.numbers.into_iter().map(Longs::finish).collect();
        columns.push(Arc::new(self.stamps.finish()?));
        let items = StructArray::try_new(fields.clone(), columns, None).map_err(invalid)?;
        let nulls = self.validity.finish();
        let array = ListArray::try_new(item.clone(), self.ends.finish(), Arc::new(items), nulls);
        Ok(Arc::new(array.map_err(invalid)?))
    }
}

pub fn runs_type() -> DataType {
    let mut members: Vec<Field> =
        RUN_NUMBERS.iter().map(|name| Field::new(*name, DataType::Int64, true)).collect();
    members.push(Field::new(RUN_STAMP, DataType::Utf8, true));
    DataType::List(Arc::new(Field::new("item", DataType::Struct(members.into()), true)))
}
