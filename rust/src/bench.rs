//! What our writer is measured against: the plain way to use tantivy, one owned document per row.

pub mod read;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use tantivy::schema::{
    DateOptions, DateTimePrecision, Field, IndexRecordOption, NumericOptions, Schema,
    TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::TokenizerManager;
use tantivy::{DateTime, Index, IndexSettings, SingleSegmentIndexWriter, TantivyDocument};

use crate::cancel::Cancel;
use crate::error::{EngineError, Result};
use crate::write::{Scratch, WriteOptions};

/// Everything indexed with positions, stored and fast, text by its tokens: the existing implementation.
pub fn upstream_schema(arrow: &arrow::datatypes::Schema, texts: &[String]) -> Schema {
    let mut builder = Schema::builder();
    let number = NumericOptions::default().set_indexed().set_fast().set_stored();
    for field in arrow.fields() {
        let name = field.name();
        match field.data_type() {
            DataType::Float64 => builder.add_f64_field(name, number.clone()),
            DataType::Timestamp(..) => {
                let options = DateOptions::default().set_precision(DateTimePrecision::Microseconds);
                builder.add_date_field(name, options.set_indexed().set_fast().set_stored())
            }
            DataType::Utf8 => {
                let tokenizer = if texts.contains(name) { "default" } else { "raw" };
                let indexing = TextFieldIndexing::default()
                    .set_tokenizer(tokenizer)
                    .set_index_option(IndexRecordOption::WithFreqsAndPositions)
                    .set_fieldnorms(false);
                let options = TextOptions::default().set_indexing_options(indexing);
                builder.add_text_field(name, options.set_fast(tokenizer).set_stored())
            }
            _ => builder.add_i64_field(name, number.clone()),
        };
    }
    builder.build()
}

/// Indexes batches into a temporary folder; returns how many bytes were written.
pub fn index_plainly(
    schema: &Schema,
    options: &WriteOptions,
    batches: &[RecordBatch],
) -> Result<u64> {
    let scratch = Scratch::create(options.temp_dir.as_deref(), Cancel::default())?;
    let tokenizers = TokenizerManager::default();
    let settings = IndexSettings {
        docstore_compression: options.compressor()?,
        docstore_blocksize: options.block_bytes(),
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    };
    let mut writer: SingleSegmentIndexWriter<TantivyDocument> = Index::builder()
        .schema(schema.clone())
        .settings(settings)
        .tokenizers(tokenizers.clone())
        .fast_field_tokenizers(tokenizers)
        .single_segment_index_writer(scratch.clone(), options.heap_bytes)?;
    for batch in batches {
        add_batch(schema, &mut writer, batch)?;
    }
    writer.finalize()?;
    Ok(scratch.written())
}

fn add_batch(
    schema: &Schema,
    writer: &mut SingleSegmentIndexWriter<TantivyDocument>,
    batch: &RecordBatch,
) -> Result<()> {
    let names = batch.schema();
    let columns = names.fields().iter().zip(batch.columns());
    let columns = columns
        .map(|(field, array)| Ok((schema.get_field(field.name())?, array)))
        .collect::<Result<Vec<_>>>()?;
    for row in 0..batch.num_rows() {
        let mut document = TantivyDocument::default();
        for (field, array) in &columns {
            if array.is_valid(row) {
                add_value(&mut document, *field, array.as_ref(), row)?;
            }
        }
        writer.add_document(document)?;
    }
    Ok(())
}

fn add_value(
    document: &mut TantivyDocument,
    field: Field,
    array: &dyn Array,
    row: usize,
) -> Result<()> {
    match array.data_type() {
        DataType::Int32 => {
            document.add_i64(field, i64::from(array.as_primitive::<Int32Type>().value(row)));
        }
        DataType::Int64 => document.add_i64(field, array.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => {
            document.add_f64(field, array.as_primitive::<Float64Type>().value(row));
        }
        DataType::Timestamp(..) => {
            let micros = array.as_primitive::<TimestampMicrosecondType>().value(row);
            document.add_date(field, DateTime::from_timestamp_micros(micros));
        }
        DataType::Utf8 => document.add_text(field, array.as_string::<i32>().value(row)),
        other => return Err(EngineError::internal(format!("no plain way to index {other}"))),
    }
    Ok(())
}
