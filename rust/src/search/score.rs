//! Scores: BM25 with the statistics of the table, or of the split alone.

use std::sync::Arc;

use tantivy::query::{Bm25StatisticsProvider, EnableScoring, Query, Weight};
use tantivy::{Score, Searcher};

use super::matches::Matches;
use super::points::Points;
use super::statistics::{Statistics, TableStatistics, has_lengths, scored_words};
use super::top::Place;
use crate::error::{At, Result};
use crate::open::Split;
use crate::query::{Node, build};

const BLOCK: usize = 1024;
/// Tantivy's own sums differ from ours in their last digits.
const ROUNDING: Score = 1e-4;

/// A split with the statistics for its scores; without any, those of the split, including deleted rows.
#[derive(Clone)]
pub struct Scoring {
    pub split: Arc<Split>,
    pub statistics: Option<Arc<Statistics>>,
}

impl Scoring {
    pub fn weight(&self, query: &dyn Query) -> Result<Box<dyn Weight>> {
        let searcher = self.split.searcher()?;
        self.with_provider(searcher, |provider| {
            let enabled = EnableScoring::enabled_from_statistics_provider(provider, searcher);
            query.weight(enabled).at(&self.split.path)
        })
    }

    fn with_provider<T>(
        &self,
        searcher: &Searcher,
        run: impl FnOnce(&dyn Bm25StatisticsProvider) -> T,
    ) -> T {
        match self.statistics.as_deref() {
            Some(known) => run(&TableStatistics { split: &self.split, known }),
            None => run(searcher),
        }
    }

    /// By how much a block of postings may score better than its segment records; None if it records nothing.
    ///
    /// A block names the row with its best score under the segment's own average length. Under another average
    /// a different row may be best, but by no more than the ratio of the averages: with `h = (c + d * length /
    /// average) / frequency` and a score of `1 / (1 + h)`, `h` changes by at most that ratio.
    fn slack(&self, segment: usize, node: &Node) -> Result<Option<Score>> {
        let searcher = self.split.searcher()?;
        let reader = &self.split.segments[segment].reader;
        let mut words = Vec::new();
        scored_words(&self.split, node, &mut words)?;
        let mut slack: Score = 1.0;
        for word in &words {
            let (Node::TokenTerm { field, .. } | Node::Phrase { field, .. }) = word else {
                continue;
            };
            let Some(column) = self.split.layout.get(field) else { continue };
            if !has_lengths(&self.split, column) {
                return Ok(None);
            }
            let own = reader.inverted_index(column.field)?.total_num_tokens() as Score
                / reader.max_doc().max(1) as Score;
            let given = self.with_provider(searcher, |provider| -> tantivy::Result<Score> {
                Ok(provider.total_num_tokens(column.field)? as Score
                    / provider.total_num_docs()? as Score)
            })?;
            if own > 0.0 && given > 0.0 {
                slack = slack.max(own / given).max(given / own);
            }
        }
        Ok(Some(slack))
    }
}

/// The `limit` best rows, best first; equal ones in document order.
pub fn best(scoring: &Scoring, node: &Node, limit: usize) -> Result<Vec<Place>> {
    let split = &scoring.split;
    let mut best = Best { kept: Vec::new(), limit, worst: Score::MIN };
    if limit == 0 {
        return Ok(best.kept);
    }
    let query = build(split, node, true)?;
    super::warm::fetch_terms(split, query.as_ref());
    for at in 0..split.segments.len() {
        let mut points = Points::open(scoring, at, node, true)?;
        match scoring.slack(at, node)? {
            Some(slack) => {
                let weight = scoring.weight(query.as_ref())?;
                best_of_blocks(split, at, weight.as_ref(), slack, &mut points, &mut best)?;
            }
            None => {
                let weight = super::weight(split, node)?;
                let mut matches = Matches::new(split, at, Some(weight.as_ref()))?;
                let mut docs = Vec::with_capacity(BLOCK);
                loop {
                    docs.clear();
                    matches.fill(&mut docs, BLOCK);
                    if docs.is_empty() {
                        break;
                    }
                    best.offer(at, &mut docs, &mut points);
                }
            }
        }
    }
    best.cut();
    Ok(best.kept)
}

/// Skips blocks of postings that cannot contain a row that is good enough.
fn best_of_blocks(
    split: &Split,
    at: usize,
    weight: &dyn Weight,
    slack: Score,
    points: &mut Points,
    best: &mut Best,
) -> Result<()> {
    let reader = &split.segments[at].reader;
    let alive = reader.alive_bitset();
    let mut docs = Vec::with_capacity(BLOCK);
    let bound =
        |worst: Score| if worst > 0.0 { worst * (1.0 - ROUNDING) / slack } else { Score::MIN };
    let mut threshold = bound(best.worst);
    weight.for_each_pruning(threshold, reader, &mut |doc, _| {
        if alive.is_none_or(|a| a.is_alive(doc)) {
            docs.push(doc);
            // sorting from time to time costs less than keeping them sorted
            if docs.len() == BLOCK {
                best.offer(at, &mut docs, points);
                threshold = bound(best.worst);
            }
        }
        threshold
    })?;
    best.offer(at, &mut docs, points);
    Ok(())
}

/// The best rows so far.
struct Best {
    kept: Vec<Place>,
    limit: usize,
    /// A row must score more than this to be among the best.
    worst: Score,
}

impl Best {
    fn offer(&mut self, segment: usize, docs: &mut Vec<u32>, points: &mut Points) {
        for doc in docs.drain(..) {
            let score = points.score(doc);
            // rows come in document order, so an equal one is later
            if score > self.worst {
                self.kept.push(Place { score, segment, doc });
            }
        }
        if self.kept.len() >= self.limit.saturating_mul(2) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.kept.sort_unstable_by(|a, b| {
            b.score.total_cmp(&a.score).then(a.segment.cmp(&b.segment)).then(a.doc.cmp(&b.doc))
        });
        self.kept.truncate(self.limit);
        if self.kept.len() == self.limit {
            self.worst = self.kept.last().map_or(Score::MIN, |place| place.score);
        }
    }
}

/// Adds the scores of rows that were found by another order.
pub fn fill(scoring: &Scoring, node: &Node, places: &mut [Place]) -> Result<()> {
    for at in 0..scoring.split.segments.len() {
        let mut here: Vec<&mut Place> = places.iter_mut().filter(|p| p.segment == at).collect();
        here.sort_unstable_by_key(|place| place.doc);
        let mut points = Points::open(scoring, at, node, true)?;
        for place in here {
            place.score = points.score(place.doc);
        }
    }
    Ok(())
}
