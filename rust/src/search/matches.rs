//! The living documents a query finds, segment by segment, in blocks.

use std::sync::Arc;

use tantivy::query::{Scorer, Weight};
use tantivy::{DocSet, TERMINATED};

use crate::error::Result;
use crate::open::Split;

/// Goes through the matches of one segment.
pub struct Matches {
    split: Arc<Split>,
    segment: usize,
    source: Source,
}

enum Source {
    /// Every document that lives, from here on.
    All(u32),
    Found(Box<dyn Scorer>),
}

impl Matches {
    /// `weight` is nothing when every document matches.
    pub fn new(split: &Arc<Split>, segment: usize, weight: Option<&dyn Weight>) -> Result<Matches> {
        let source = match weight {
            None => Source::All(0),
            Some(weight) => Source::Found(weight.scorer(&split.segments[segment].reader, 1.0)?),
        };
        Ok(Matches { split: split.clone(), segment, source })
    }

    /// At most how many documents are to come.
    pub fn size_hint(&self) -> usize {
        match &self.source {
            Source::All(_) => self.split.segments[self.segment].reader.num_docs() as usize,
            Source::Found(scorer) => scorer.size_hint() as usize,
        }
    }

    /// Adds up to `wanted` documents to `docs`; fewer only at the end.
    pub fn fill(&mut self, docs: &mut Vec<u32>, wanted: usize) {
        let reader = &self.split.segments[self.segment].reader;
        let goal = docs.len() + wanted;
        match (&mut self.source, reader.alive_bitset()) {
            (Source::All(next), None) => {
                let end = reader.max_doc().min(next.saturating_add(wanted as u32));
                docs.extend(*next..end);
                *next = end;
            }
            (Source::All(next), Some(alive)) => {
                while docs.len() < goal && *next < reader.max_doc() {
                    if alive.is_alive(*next) {
                        docs.push(*next);
                    }
                    *next += 1;
                }
            }
            (Source::Found(scorer), alive) => {
                let mut doc = scorer.doc();
                while doc != TERMINATED && docs.len() < goal {
                    if alive.is_none_or(|a| a.is_alive(doc)) {
                        docs.push(doc);
                    }
                    doc = scorer.advance();
                }
            }
        }
    }

    /// The same with the score of each document.
    pub fn fill_scored(&mut self, docs: &mut Vec<u32>, scores: &mut Vec<f32>, wanted: usize) {
        let alive = self.split.segments[self.segment].reader.alive_bitset();
        let Source::Found(scorer) = &mut self.source else {
            return;
        };
        let mut doc = scorer.doc();
        while doc != TERMINATED && docs.len() < wanted {
            if alive.is_none_or(|a| a.is_alive(doc)) {
                docs.push(doc);
                scores.push(scorer.score());
            }
            doc = scorer.advance();
        }
    }
}
