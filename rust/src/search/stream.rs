//! Matching rows in document order, read only as far as they are asked for.

use std::sync::Arc;

use arrow::array::RecordBatch;
use tantivy::query::Weight;

use super::matches::Matches;
use super::options::Options;
use super::output::Output;
use super::score::scoring_weight;
use crate::columns::{Docs, SegmentColumns};
use crate::error::Result;
use crate::open::Split;
use crate::query::Node;

pub struct RowStream {
    split: Arc<Split>,
    output: Output,
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
        output: Output,
        options: &Options,
    ) -> Result<RowStream> {
        let weight = match (output.wants_score(), node.is_all()) {
            (true, _) => Some(scoring_weight(split, node)?),
            (false, true) => None,
            (false, false) => Some(super::weight(split, node)?),
        };
        Ok(RowStream {
            split: split.clone(),
            output,
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
            let (mut docs, mut scores) = (Vec::new(), Vec::new());
            let wanted = self.batch_rows.min(self.left);
            if self.output.wants_score() {
                matches.fill_scored(&mut docs, &mut scores, wanted);
            } else {
                matches.fill(&mut docs, wanted);
            }
            if docs.is_empty() {
                self.current = None;
                continue;
            }
            self.left -= docs.len();
            return self.output.read(columns, &Docs::of(&docs), &scores).map(Some);
        }
        Ok(None)
    }

    fn open_segment(&self, segment: usize) -> Result<(Matches, SegmentColumns)> {
        let matches = Matches::new(&self.split, segment, self.weight.as_deref())?;
        let hits = matches.size_hint().min(self.left);
        let columns = self.output.open(&self.split, segment, hits)?;
        Ok((matches, columns))
    }
}

impl Iterator for RowStream {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}
