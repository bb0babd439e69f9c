//! Matching rows in document order, read on demand.

use std::sync::Arc;

use arrow::array::RecordBatch;
use tantivy::query::Weight;

use super::matches::Matches;
use super::options::Options;
use super::output::Output;
use super::points::Points;
use super::score::Scoring;
use crate::columns::{Docs, SegmentColumns};
use crate::error::Result;
use crate::open::Split;
use crate::query::Node;

pub struct RowStream {
    split: Arc<Split>,
    output: Output,
    weight: Option<Box<dyn Weight>>,
    scored: Option<(Scoring, Node)>,
    left: usize,
    batch_rows: usize,
    next_segment: usize,
    current: Option<(Matches, SegmentColumns, Option<Points>)>,
}

impl RowStream {
    pub fn new(
        split: &Arc<Split>,
        node: &Node,
        output: Output,
        options: &Options,
    ) -> Result<RowStream> {
        let weight = if node.is_all() { None } else { Some(super::weight(split, node)?) };
        let scored = output.wants_score().then(|| (options.scoring(split), node.clone()));
        Ok(RowStream {
            split: split.clone(),
            output,
            weight,
            scored,
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
            let Some((matches, columns, points)) = self.current.as_mut() else {
                return Ok(None);
            };
            let mut docs = Vec::new();
            let wanted = self.batch_rows.min(self.left);
            matches.fill(&mut docs, wanted);
            if docs.is_empty() {
                self.current = None;
                continue;
            }
            self.left -= docs.len();
            let scores = points.as_mut().map(|points| points.scores(&docs)).unwrap_or_default();
            return self.output.read(columns, &Docs::of(&docs), &scores).map(Some);
        }
        Ok(None)
    }

    fn open_segment(&self, segment: usize) -> Result<(Matches, SegmentColumns, Option<Points>)> {
        let matches = Matches::new(&self.split, segment, self.weight.as_deref())?;
        let hits = matches.size_hint().min(self.left);
        let columns = self.output.open(&self.split, segment, hits)?;
        let points = match &self.scored {
            Some((scoring, node)) => Some(Points::open(scoring, segment, node, true)?),
            None => None,
        };
        Ok((matches, columns, points))
    }
}

impl Iterator for RowStream {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}
