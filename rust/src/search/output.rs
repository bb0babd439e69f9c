//! The requested columns of matching rows, including those that are not in any split.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Float32Array, RecordBatch, RecordBatchOptions, StringArray,
};
use arrow::datatypes::{Field, Schema, SchemaRef};

use super::options::SnippetOptions;
use super::snippet::Highlighter;
use crate::columns::convert::cast;
use crate::columns::{Docs, SegmentColumns};
use crate::error::{EngineError, Result};
use crate::open::Split;
use crate::query::Node;
use crate::texts::{TEXT, lossy};

pub const SCORE_COLUMN: &str = "_score";
pub const SNIPPET_COLUMN: &str = "_snippet";

/// What a result row is made of.
pub struct Output {
    pub schema: SchemaRef,
    /// Columns that are read from the split.
    inner: SchemaRef,
    sources: Vec<Source>,
}

enum Source {
    Read(usize),
    Score,
    Snippet(Snippets),
}

/// Columns that snippets are cut from, by their places among those that are read.
struct Snippets {
    columns: Vec<(usize, Highlighter)>,
    separator: String,
}

impl Snippets {
    /// The matching parts of all columns; if nothing matches, the start of the first value.
    fn of(&self, read: &[ArrayRef], row: usize) -> Option<String> {
        let mut first = None;
        let mut matching = Vec::new();
        for (at, highlighter) in &self.columns {
            let texts = read[*at].as_binary::<i64>();
            if texts.is_null(row) {
                continue;
            }
            match highlighter.snippet(&lossy(texts.value(row))) {
                (text, true) => matching.push(text),
                (text, false) => first = first.or(Some(text)),
            }
        }
        if matching.is_empty() { first } else { Some(matching.join(&self.separator)) }
    }
}

impl Output {
    pub fn new(
        split: &Arc<Split>,
        node: &Node,
        schema: SchemaRef,
        snippet: Option<&SnippetOptions>,
    ) -> Result<Output> {
        let mut fields: Vec<Arc<Field>> = Vec::new();
        let mut sources = Vec::new();
        for field in schema.fields() {
            let own = split.layout.is_column(field.name());
            match field.name().as_str() {
                SCORE_COLUMN if !own => sources.push(Source::Score),
                SNIPPET_COLUMN if !own => {
                    let options = snippet.ok_or_else(|| {
                        EngineError::bad_query("a snippet needs to know of which column")
                    })?;
                    let mut columns = Vec::new();
                    for name in &options.fields {
                        let text = Arc::new(Field::new(name, TEXT, true));
                        let highlighter = Highlighter::new(split, node, name, options)?;
                        columns.push((place(&mut fields, &text), highlighter));
                    }
                    let separator = options.separator.clone();
                    sources.push(Source::Snippet(Snippets { columns, separator }));
                }
                _ => sources.push(Source::Read(place(&mut fields, field))),
            }
        }
        let inner = Arc::new(Schema::new(fields));
        Ok(Output { schema, inner, sources })
    }

    pub fn wants_score(&self) -> bool {
        self.sources.iter().any(|source| matches!(source, Source::Score))
    }

    pub fn open(&self, split: &Arc<Split>, segment: usize, hits: usize) -> Result<SegmentColumns> {
        SegmentColumns::open(split, segment, self.inner.clone(), hits)
    }

    /// The columns of some documents of one segment.
    pub fn read(
        &self,
        columns: &mut SegmentColumns,
        docs: &Docs<'_>,
        scores: &[f32],
    ) -> Result<RecordBatch> {
        let read = columns.read(docs)?;
        let arrays = self.sources.iter().enumerate().map(|(at, source)| -> Result<ArrayRef> {
            match source {
                Source::Read(inner) => Ok(read[*inner].clone()),
                Source::Score => {
                    let scores: ArrayRef = Arc::new(Float32Array::from(scores.to_vec()));
                    cast(&scores, self.schema.field(at).data_type())
                }
                Source::Snippet(snippets) => {
                    let rows = 0..docs.len();
                    let snippets: StringArray = rows.map(|row| snippets.of(&read, row)).collect();
                    cast(&(Arc::new(snippets) as ArrayRef), self.schema.field(at).data_type())
                }
            }
        });
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let rows = RecordBatchOptions::new().with_row_count(Some(docs.len()));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), arrays, &rows)?)
    }
}

/// The position of a column among those that are read; a column that is also used for snippets is read once.
fn place(fields: &mut Vec<Arc<Field>>, wanted: &Arc<Field>) -> usize {
    let same = |f: &Arc<Field>| f.name() == wanted.name() && f.data_type() == wanted.data_type();
    fields.iter().position(same).unwrap_or_else(|| {
        fields.push(wanted.clone());
        fields.len() - 1
    })
}
