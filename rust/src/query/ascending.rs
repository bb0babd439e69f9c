//! Rows whose number lies between two ends, in a column whose numbers ascend: binary searches find the first and the
//! last.

use std::ops::Range;

use tantivy::columnar::Column as Values;
use tantivy::index::SegmentId;
use tantivy::query::{ConstScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{DocId, DocSet, Score, SegmentReader, TERMINATED, TantivyError};

use crate::error::Result;
use crate::open::{Column, Split};

/// Adjacent rows of each segment.
#[derive(Debug, Clone)]
pub struct AdjacentRows(Vec<(SegmentId, Range<DocId>)>);

/// The rows with a number from `low` to `high`; nothing if numbers do not ascend, or if that is not known yet.
pub fn adjacent_rows(
    split: &Split,
    column: &Column,
    low: i64,
    high: i64,
) -> Result<Option<Box<dyn Query>>> {
    let mut rows = Vec::with_capacity(split.segments.len());
    for segment in &split.segments {
        let Some(values) = segment.ascending_column(&column.field_name)? else { return Ok(None) };
        let start = first_row(&values, |value| value >= low);
        let end = first_row(&values, |value| value > high);
        rows.push((segment.reader.segment_id(), start..end.max(start)));
    }
    Ok(Some(Box::new(AdjacentRows(rows))))
}

/// The first row that passes; all later ones do.
fn first_row(column: &Values<i64>, passes: impl Fn(i64) -> bool) -> DocId {
    let (mut low, mut high) = (0, column.values.num_vals());
    while low < high {
        let middle = low + (high - low) / 2;
        if passes(column.values.get_val(middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

impl AdjacentRows {
    fn of(&self, reader: &SegmentReader) -> tantivy::Result<Range<DocId>> {
        let found = self.0.iter().find(|(segment, _)| *segment == reader.segment_id());
        let found = found.map(|(_, rows)| rows.clone());
        found.ok_or_else(|| TantivyError::InternalError("a foreign segment".to_owned()))
    }
}

impl Query for AdjacentRows {
    fn weight(&self, _: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(self.clone()))
    }
}

impl Weight for AdjacentRows {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        Ok(Box::new(ConstScorer::new(Rows(self.of(reader)?), boost)))
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        if self.of(reader)?.contains(&doc) {
            return Ok(Explanation::new("AdjacentRows", 1.0));
        }
        Err(TantivyError::InvalidArgument(format!("document {doc} does not match")))
    }
}

/// The rows that are left, the current one first.
struct Rows(Range<DocId>);

impl DocSet for Rows {
    fn advance(&mut self) -> DocId {
        self.seek(self.0.start.saturating_add(1))
    }

    fn seek(&mut self, target: DocId) -> DocId {
        self.0.start = target.clamp(self.0.start, self.0.end);
        self.doc()
    }

    fn doc(&self) -> DocId {
        if self.0.is_empty() { TERMINATED } else { self.0.start }
    }

    fn size_hint(&self) -> u32 {
        self.0.len() as u32
    }
}
