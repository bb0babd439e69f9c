//! All rows of a file as batches, for indexing.

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use std::sync::Arc;

use super::Source;
use super::decode::{Projection, Stream};
use super::file::{FileId, SourceFile};
use crate::error::Result;
use crate::texts::inward_schema;

/// The facts of a file, from its footer.
pub struct Facts {
    pub rows: u64,
    /// CRC-32 of its footer.
    pub footer: u32,
    /// Its columns, with the types that Spark would give them.
    pub schema: SchemaRef,
    /// The schema that Spark stored in the file, as JSON.
    pub spark_schema: Option<String>,
}

impl Facts {
    pub fn read(source: &Source, file: FileId) -> Result<Facts> {
        let file = SourceFile::open(source, file, true)?;
        let metadata = file.footer.reader.metadata().file_metadata();
        let notes = metadata.key_value_metadata().into_iter().flatten();
        let mut spark = notes.filter(|n| n.key == "org.apache.spark.sql.parquet.row.metadata");
        Ok(Facts {
            rows: file.footer.rows,
            footer: file.footer.sum,
            schema: file.footer.declared.clone(),
            spark_schema: spark.next().and_then(|note| note.value.clone()),
        })
    }
}

/// The rows of a file from `first` on, in the table's types.
pub fn feed(
    source: Arc<Source>,
    file: FileId,
    schema: &SchemaRef,
    first: u64,
    step: usize,
) -> Result<Box<dyn RecordBatchReader + Send>> {
    let schema = inward_schema(schema);
    let file = SourceFile::open(&source, file, false)?;
    let projection = Projection::new(&source, &file, &schema)?;
    let stream = Stream::open(&file, &projection, first, step)?;
    Ok(Box::new(Feed { source, file, schema, projection, stream, step, done: false }))
}

struct Feed {
    source: Arc<Source>,
    file: SourceFile,
    schema: SchemaRef,
    projection: Projection,
    stream: Stream,
    step: usize,
    done: bool,
}

impl Iterator for Feed {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let before = self.stream.next;
        let arrays =
            self.stream.batch(&self.source, &self.file, &self.projection, self.step).transpose()?;
        let rows = (self.stream.next - before) as usize;
        let batch = arrays.map_err(ArrowError::from).and_then(|arrays: Vec<ArrayRef>| {
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)
        });
        self.done = batch.is_err();
        Some(batch)
    }
}

impl RecordBatchReader for Feed {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
