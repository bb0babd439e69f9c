//! Strings inside the engine are bytes. Spark keeps strings that are not valid UTF-8, and its Arrow arrays
//! declare them as `Utf8` anyway: they must never become a `str` unchecked. So a string column is
//! `LargeBinary` here (binary columns are `Binary`), and gets its declared type back when batches leave the
//! engine.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, LargeBinaryArray, LargeStringArray, RecordBatch,
    RecordBatchOptions,
};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};

use crate::columns::convert::cast;
use crate::error::Result;

/// The type of strings inside the engine.
pub const TEXT: DataType = DataType::LargeBinary;

/// The type with other types in the place of its leaves.
fn map_leaves(data_type: &DataType, leaf: &impl Fn(&DataType) -> DataType) -> DataType {
    let inner = |field: &FieldRef| -> FieldRef {
        let mapped = map_leaves(field.data_type(), leaf);
        Arc::new(field.as_ref().clone().with_data_type(mapped))
    };
    match data_type {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        DataType::List(item) => DataType::List(inner(item)),
        DataType::LargeList(item) => DataType::LargeList(inner(item)),
        DataType::Map(entries, sorted) => DataType::Map(inner(entries), *sorted),
        other => leaf(other),
    }
}

fn map_schema(schema: &Schema, leaf: impl Fn(&DataType) -> DataType) -> SchemaRef {
    let fields = schema
        .fields()
        .iter()
        .map(|field| Field::clone(field).with_data_type(map_leaves(field.data_type(), &leaf)));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn inward(leaf: &DataType) -> DataType {
    match leaf {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => TEXT,
        other => other.clone(),
    }
}

/// A declared type as the engine has it inside.
pub fn inward_type(declared: &DataType) -> DataType {
    map_leaves(declared, &inward)
}

pub fn inward_schema(declared: &Schema) -> SchemaRef {
    map_schema(declared, inward)
}

/// A type of the engine as it is declared outside.
pub fn outward_type(inside: &DataType) -> DataType {
    map_leaves(inside, &|leaf| if *leaf == TEXT { DataType::Utf8 } else { leaf.clone() })
}

/// A batch in the memory layout of the declared schema. Strings stay bytes: `Binary` and `Utf8` have
/// one layout, so the exporter of the batch decides which of them it is.
pub fn outward_batch(batch: RecordBatch, declared: &Schema) -> Result<RecordBatch> {
    let layout = map_schema(declared, |leaf| match leaf {
        DataType::Utf8 => DataType::Binary,
        other => other.clone(),
    });
    let columns = batch.columns().iter().zip(layout.fields()).zip(declared.fields());
    let mut fields = Vec::with_capacity(declared.fields().len());
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(declared.fields().len());
    for ((array, field), declared) in columns {
        if array.data_type() == declared.data_type() {
            fields.push(declared.clone());
            arrays.push(array.clone());
        } else {
            fields.push(field.clone());
            arrays.push(cast(array, field.data_type())?);
        }
    }
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &rows)?)
}

/// The bytes of a string array, whatever it is declared as; nothing is checked or decoded.
pub fn bytes_of(array: &ArrayRef) -> Result<LargeBinaryArray> {
    Ok(cast(array, &TEXT)?.as_binary::<i64>().clone())
}

/// The same without widening the offsets, where the array has small ones.
pub fn small_bytes_of(array: &ArrayRef) -> Option<BinaryArray> {
    array.as_string_opt::<i32>().map(|texts| BinaryArray::from(texts.clone()))
}

/// Bytes as text, with U+FFFD for what is not UTF-8, as Java decodes it: a surrogate in three bytes is
/// one replacement, else every longest prefix of a character is.
pub fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(chunk) = rest.utf8_chunks().next() {
        out.push_str(chunk.valid());
        let broken = &rest[chunk.valid().len()..];
        let skipped = match broken {
            [] => 0,
            [0xED, 0xA0..=0xBF, 0x80..=0xBF, ..] => 3,
            _ => chunk.invalid().len(),
        };
        if skipped > 0 {
            out.push(char::REPLACEMENT_CHARACTER);
        }
        rest = &broken[skipped..];
    }
    Cow::Owned(out)
}

/// The texts of an array with replacements for what is not UTF-8, and the rows that needed them.
pub fn lossy_texts(bytes: &LargeBinaryArray) -> (LargeStringArray, Vec<usize>) {
    let mut broken = Vec::new();
    let texts = bytes.iter().enumerate().map(|(row, value)| {
        value.map(|value| {
            let text = lossy(value);
            if matches!(text, Cow::Owned(_)) {
                broken.push(row);
            }
            text
        })
    });
    let texts = texts.collect();
    (texts, broken)
}

#[cfg(test)]
mod tests {
    use arrow::array::StringArray;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_not_a_character_is_replaced_as_java_does() {
        assert_eq!(lossy(b"a\x80\x81b"), "a\u{FFFD}\u{FFFD}b");
        assert_eq!(lossy(b"\xE2\x82"), "\u{FFFD}");
        assert_eq!(lossy(b"\xED\xA0\x80x"), "\u{FFFD}x");
        assert_eq!(lossy(b"\xF0\x9F\x98a"), "\u{FFFD}a");
        assert_eq!(lossy("é€😀".as_bytes()), "é€😀");
    }

    #[test]
    fn a_batch_leaves_in_its_declared_layout() -> Result<()> {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
        let item = Arc::new(Field::new("element", DataType::Utf8, true));
        let declared = Schema::new(vec![
            Field::new("t", DataType::Utf8, true),
            Field::new("l", DataType::List(item), true),
        ]);
        let inside = inward_schema(&declared);
        assert_eq!(inside.field(0).data_type(), &TEXT);
        let list = arrow::array::new_null_array(inside.field(1).data_type(), 2);
        let batch = RecordBatch::try_new(inside, vec![Arc::new(bytes_of(&texts)?), list])?;
        let out = outward_batch(batch, &declared)?;
        assert_eq!(out.column(0).as_binary::<i32>().value(0), b"a");
        assert_eq!(
            outward_type(&inward_type(declared.field(1).data_type())),
            *declared.field(1).data_type()
        );
        Ok(())
    }

    proptest! {
        #[test]
        fn valid_text_stays(text in "\\PC{0,20}") {
            let found = lossy(text.as_bytes()).into_owned();
            prop_assert_eq!(found, text);
        }

        #[test]
        fn any_bytes_become_text(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let text = lossy(&bytes);
            let valid = std::str::from_utf8(&bytes).is_ok();
            prop_assert_eq!(valid, matches!(text, Cow::Borrowed(_)));
        }
    }
}
