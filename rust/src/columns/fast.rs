//! Columns read from fast fields, straight into Arrow arrays of the wanted type.

use std::net::Ipv6Addr;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int64Array, LargeBinaryArray,
    StringBuilder, new_null_array,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::DataType;
use tantivy::columnar::{BytesColumn, Cardinality, Column as Values, DynamicColumn};

use super::Docs;
use super::build::Builder;
use super::convert::{Unit, cast, from_whole, sortable_to_i128};
use super::stored_value::ip_text;
use super::text;
use crate::error::{EngineError, Result};
use crate::open::Column;
use crate::split::Encoding;
use crate::texts::TEXT;

/// A fast value of this length may have been cut by its writer.
pub const MAX_FAST_BYTES: usize = 65_530;
/// Dictionaries up to this many terms are decoded once and cached.
const SMALL_DICTIONARY: usize = 1 << 14;
/// Decoded dictionaries larger than this are not cached.
const MAX_DICTIONARY_BYTES: usize = 256 << 20;

/// One open fast column.
pub struct FastReader {
    values: DynamicColumn,
    dictionary: Option<Dictionary>,
    looked_up: usize,
    target: DataType,
    unit: Unit,
    cut_possible: bool,
    number_as_text: bool,
}

/// The read found a value that only the document store has in full.
pub struct Overlong;

/// Terms of a column in one buffer, by ordinal.
struct Dictionary {
    bytes: Vec<u8>,
    offsets: Vec<usize>,
}

pub fn unit_of(column: &Column) -> Unit {
    match column.encoding {
        Encoding::DecimalI64 | Encoding::DecimalBytes => Unit::Unscaled(column.scale),
        Encoding::DaysI64 => Unit::Days,
        _ => Unit::Plain,
    }
}

impl FastReader {
    pub fn new(values: DynamicColumn, column: &Column, target: &DataType) -> FastReader {
        FastReader {
            values,
            dictionary: None,
            looked_up: 0,
            target: target.clone(),
            unit: unit_of(column),
            cut_possible: column.overlong.is_none(),
            number_as_text: column.number_as_text,
        }
    }

    /// Values of some documents; the inner error asks to read this column from the document store.
    pub fn read(&mut self, docs: &Docs<'_>) -> Result<Result<ArrayRef, Overlong>> {
        let array: ArrayRef = match &self.values {
            DynamicColumn::Bool(column) => {
                let (values, nulls) = gather(column, docs, |v| v);
                Arc::new(BooleanArray::new(values.into(), nulls))
            }
            DynamicColumn::I64(column) => {
                let (values, nulls) = gather(column, docs, |v| v);
                self.from_integers(values, nulls)?
            }
            DynamicColumn::U64(column) => {
                let (values, nulls) = gather(column, docs, |v| v as i64);
                self.from_integers(values, nulls)?
            }
            DynamicColumn::F64(column) => {
                let (values, nulls) = gather(column, docs, |v| v);
                Arc::new(Float64Array::new(values.into(), nulls))
            }
            DynamicColumn::DateTime(column) => {
                let day = matches!(self.target, DataType::Date32);
                let step = if day { 86_400_000_000_000 } else { 1000 };
                let (values, nulls) =
                    gather(column, docs, |v| v.into_timestamp_nanos().div_euclid(step));
                let array: ArrayRef = Arc::new(Int64Array::new(values.into(), nulls));
                from_whole(&array, &self.target)?
            }
            DynamicColumn::IpAddr(column) => read_ips(column, docs),
            DynamicColumn::Bytes(column) if self.target == TEXT => {
                let column = column.clone();
                return self.read_texts(&column, docs);
            }
            DynamicColumn::Bytes(column) => read_decimals(column, docs, self.unit, &self.target)?,
            DynamicColumn::Str(column) => {
                let column: BytesColumn = column.clone().into();
                return self.read_texts(&column, docs);
            }
        };
        Ok(Ok(cast(&array, &self.target)?))
    }

    #[allow(clippy::wrong_self_convention)]
    fn from_integers(&self, values: Vec<i64>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        match (&self.target, self.unit) {
            (DataType::Decimal128(precision, scale), unit) => {
                let written = if let Unit::Unscaled(scale) = unit { scale } else { 0 };
                let values = values.into_iter().map(i128::from);
                decimals(values, nulls, written, (*precision, *scale))
            }
            (DataType::Timestamp(..), Unit::Days) => {
                let micros: Vec<i64> = values.into_iter().map(|v| v * 86_400_000_000).collect();
                let array: ArrayRef = Arc::new(Int64Array::new(micros.into(), nulls));
                from_whole(&array, &self.target)
            }
            _ => {
                let array: ArrayRef = Arc::new(Int64Array::new(values.into(), nulls));
                from_whole(&array, &self.target)
            }
        }
    }

    fn read_texts(
        &mut self,
        column: &BytesColumn,
        docs: &Docs<'_>,
    ) -> Result<Result<ArrayRef, Overlong>> {
        let (ords, nulls) = gather(column.ords(), docs, |ord| ord as u32);
        self.looked_up += ords.len();
        let terms = column.num_terms();
        if self.dictionary.is_none() && (terms <= SMALL_DICTIONARY || self.looked_up >= terms / 2) {
            self.dictionary = Dictionary::whole(column)?;
        }
        let texts = match &self.dictionary {
            Some(dictionary) => dictionary.gather(&ords, nulls)?,
            None => {
                let (dictionary, places) = Dictionary::some(column, &ords, nulls.as_ref())?;
                dictionary.gather(&places, nulls)?
            }
        };
        if self.cut_possible && has_long(&texts) {
            return Ok(Err(Overlong));
        }
        let texts: ArrayRef = Arc::new(texts);
        if self.number_as_text {
            return Ok(Ok(parse_numbers(&texts, &self.target)?));
        }
        Ok(Ok(cast(&texts, &self.target)?))
    }
}

fn has_long(texts: &LargeBinaryArray) -> bool {
    texts.value_offsets().windows(2).any(|pair| (pair[1] - pair[0]) as usize >= MAX_FAST_BYTES)
}

/// Numbers that an earlier writer stored as strings.
pub fn parse_numbers(texts: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    use arrow::array::AsArray;
    let mut builder = Builder::new("", target, Unit::Plain, texts.len())?;
    for text in texts.as_binary::<i64>() {
        match text.and_then(|text| std::str::from_utf8(text).ok()) {
            Some(text) => builder.push(super::stored_value::Stored::Str(text)),
            None => builder.push_null(),
        }
    }
    builder.finish()
}

impl Dictionary {
    fn whole(column: &BytesColumn) -> Result<Option<Dictionary>> {
        let mut bytes = Vec::new();
        let mut offsets = Vec::with_capacity(column.num_terms() + 1);
        offsets.push(0);
        let mut terms = column.dictionary().stream()?;
        while terms.advance() {
            bytes.extend_from_slice(terms.key());
            offsets.push(bytes.len());
            if bytes.len() > MAX_DICTIONARY_BYTES {
                return Ok(None);
            }
        }
        Ok(Some(Dictionary { bytes, offsets }))
    }

    /// Only the terms of some ordinals, and for each ordinal its place among them.
    fn some(
        column: &BytesColumn,
        ords: &[u32],
        nulls: Option<&NullBuffer>,
    ) -> Result<(Dictionary, Vec<u32>)> {
        let is_valid = |row: usize| nulls.is_none_or(|n| n.is_valid(row));
        let mut wanted: Vec<u64> =
            (0..ords.len()).filter(|&row| is_valid(row)).map(|row| u64::from(ords[row])).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut bytes = Vec::new();
        let mut offsets = Vec::with_capacity(wanted.len() + 1);
        offsets.push(0);
        column.dictionary().sorted_ords_to_term_cb(&wanted, |term| {
            bytes.extend_from_slice(term);
            offsets.push(bytes.len());
        })?;
        let place = |ord: u32| wanted.binary_search(&u64::from(ord)).unwrap_or(0) as u32;
        let places = ords.iter().map(|&ord| place(ord)).collect();
        Ok((Dictionary { bytes, offsets }, places))
    }

    fn gather(&self, ords: &[u32], nulls: Option<NullBuffer>) -> Result<LargeBinaryArray> {
        let is_valid = |row: usize| nulls.as_ref().is_none_or(|n| n.is_valid(row));
        let mut offsets: Vec<i64> = Vec::with_capacity(ords.len() + 1);
        let mut bytes: Vec<u8> = Vec::with_capacity(ords.len() * 8);
        offsets.push(0);
        for (row, &ord) in ords.iter().enumerate() {
            if is_valid(row) {
                let ord = ord as usize;
                let found = self.offsets.get(ord).zip(self.offsets.get(ord + 1));
                let (&start, &end) =
                    found.ok_or_else(|| EngineError::corrupt("", "a term is missing"))?;
                bytes.extend_from_slice(&self.bytes[start..end]);
            }
            offsets.push(bytes.len() as i64);
        }
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        Ok(LargeBinaryArray::try_new(offsets, Buffer::from_vec(bytes), nulls)?)
    }
}

fn decimals(
    values: impl Iterator<Item = i128>,
    nulls: Option<NullBuffer>,
    written: i8,
    (precision, scale): (u8, i8),
) -> Result<ArrayRef> {
    let values: Option<Vec<i128>> = values.map(|v| text::rescale(v, written, scale)).collect();
    let values =
        values.ok_or_else(|| EngineError::bad_value("", "a decimal does not fit its type"))?;
    let array = Decimal128Array::new(values.into(), nulls);
    Ok(Arc::new(array.with_precision_and_scale(precision, scale)?))
}

fn read_decimals(
    column: &BytesColumn,
    docs: &Docs<'_>,
    unit: Unit,
    target: &DataType,
) -> Result<ArrayRef> {
    let DataType::Decimal128(precision, scale) = target else {
        return Ok(new_null_array(target, docs.len()));
    };
    let written = if let Unit::Unscaled(scale) = unit { scale } else { 0 };
    let (ords, nulls) = gather(column.ords(), docs, |ord| ord as u32);
    let (dictionary, places) = Dictionary::some(column, &ords, nulls.as_ref())?;
    let numbers: Option<Vec<i128>> = dictionary
        .offsets
        .windows(2)
        .map(|pair| dictionary.bytes[pair[0]..pair[1]].try_into().ok().map(sortable_to_i128))
        .collect();
    let numbers =
        numbers.ok_or_else(|| EngineError::corrupt("", "a decimal has a wrong length"))?;
    let values = places.iter().map(|&place| numbers.get(place as usize).copied().unwrap_or(0));
    decimals(values, nulls, written, (*precision, *scale))
}

fn read_ips(column: &Values<Ipv6Addr>, docs: &Docs<'_>) -> ArrayRef {
    let mut builder = StringBuilder::with_capacity(docs.len(), docs.len() * 14);
    for row in 0..docs.len() {
        match column.first(docs.get(row)) {
            Some(address) => builder.append_value(ip_text(address.to_bits())),
            None => builder.append_null(),
        }
    }
    Arc::new(builder.finish())
}

/// Values of some documents, the first one where there are several, and which are missing.
pub fn gather<T, V>(
    column: &Values<T>,
    docs: &Docs<'_>,
    convert: impl Fn(T) -> V,
) -> (Vec<V>, Option<NullBuffer>)
where
    T: PartialOrd + Copy + std::fmt::Debug + Send + Sync + Default + 'static,
    V: Copy + Default,
{
    const CHUNK: usize = 1024;
    let rows = docs.len();
    let mut out: Vec<V> = Vec::with_capacity(rows);
    if column.get_cardinality() == Cardinality::Full {
        let mut buffer = [T::default(); CHUNK];
        let mut wide = [T::default(); 2 * CHUNK];
        let mut at = 0;
        while at < rows {
            let len = CHUNK.min(rows - at);
            match docs {
                Docs::Range(range) => {
                    let start = u64::from(range.start) + at as u64;
                    column.values.get_range(start, &mut buffer[..len]);
                }
                Docs::List(list) => {
                    let some = &list[at..at + len];
                    let (first, last) = (some[0], some[len - 1]);
                    let span = (last - first) as usize + 1;
                    // with few gaps, reading all and picking is faster than looking up each
                    if span <= 2 * len {
                        column.values.get_range(u64::from(first), &mut wide[..span]);
                        out.extend(some.iter().map(|&doc| convert(wide[(doc - first) as usize])));
                        at += len;
                        continue;
                    }
                    column.values.get_vals(some, &mut buffer[..len]);
                }
            }
            out.extend(buffer[..len].iter().map(|&v| convert(v)));
            at += len;
        }
        return (out, None);
    }
    let (mut found, mut row_ids) = (Vec::new(), Vec::new());
    let every: Vec<u32>;
    let list: &[u32] = match docs {
        Docs::List(list) => list,
        Docs::Range(range) => {
            every = range.clone().collect();
            &every
        }
    };
    column.row_ids_for_docs(list, &mut found, &mut row_ids);
    let mut values = vec![T::default(); row_ids.len()];
    column.values.get_vals(&row_ids, &mut values);
    let mut valid = arrow::array::BooleanBufferBuilder::new(rows);
    let mut at = 0;
    for &doc in list {
        if found.get(at) == Some(&doc) {
            out.push(convert(values[at]));
            valid.append(true);
            while found.get(at) == Some(&doc) {
                at += 1;
            }
        } else {
            out.push(V::default());
            valid.append(false);
        }
    }
    (out, Some(NullBuffer::new(valid.finish())).filter(|n| n.null_count() > 0))
}
