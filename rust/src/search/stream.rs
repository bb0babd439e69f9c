//! Matching rows in document order, read only as far as they are asked for.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use tantivy::query::Weight;

use super::matches::Matches;
use super::options::Options;
use crate::columns::{Docs, SegmentColumns};
use crate::error::Result;
use crate::open::Split;
use crate::query::Node;

pub struct RowStream {
    split: Arc<Split>,
    schema: SchemaRef,
    weight: Option<Box<dyn Weight>>,
    left: usize,
    batch_rows: usize,
    next_segment: usize,
    current: Option<(Matches, SegmentColumns)>,
}

impl RowStream {
    pub fn new(
        split: &Arc<Split>,
        node: &Node,
        schema: SchemaRef,
        options: &Options,
    ) -> Result<RowStream> {
        let weight = if node.is_all() { None } else { Some(super::weight(split, node)?) };
        Ok(RowStream {
            split: split.clone(),
            schema,
            weight,
            left: options.limit.unwrap_or(usize::MAX),
            batch_rows: options.batch_rows(),
            next_segment: 0,
            current: None,
        })
    }

    fn advance(&mut self) -> Result<Option<RecordBatch>> {
        while self.left > 0 {
            if self.current.is_none() {
                if self.next_segment == self.split.segments.len() {
                    return Ok(None);
                }
                self.current = Some(self.open_segment(self.next_segment)?);
                self.next_segment += 1;
            }
            let Some((matches, columns)) = self.current.as_mut() else {
                return Ok(None);
            };
            let mut docs = Vec::new();
            matches.fill(&mut docs, self.batch_rows.min(self.left));
            if docs.is_empty() {
                self.current = None;
                continue;
            }
            self.left -= docs.len();
            let arrays = columns.read(&Docs::of(&docs))?;
            let rows = RecordBatchOptions::new().with_row_count(Some(docs.len()));
            let batch = RecordBatch::try_new_with_options(self.schema.clone(), arrays, &rows)?;
            return Ok(Some(batch));
        }
        Ok(None)
    }

    fn open_segment(&self, segment: usize) -> Result<(Matches, SegmentColumns)> {
        let matches = Matches::new(&self.split, segment, self.weight.as_deref())?;
        let hits = matches.size_hint().min(self.left);
        let columns = SegmentColumns::open(&self.split, segment, self.schema.clone(), hits)?;
        Ok((matches, columns))
    }
}

impl Iterator for RowStream {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}
