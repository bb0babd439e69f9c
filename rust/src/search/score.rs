//! How well rows match: BM25 over the split.

use std::sync::Arc;

use tantivy::query::{EnableScoring, Weight};
use tantivy::{DocSet, ReloadPolicy, Score};

use crate::error::{At, Result};
use crate::open::Split;
use crate::query::{Node, build};

use super::top::Place;

/// The query's weight with scores. Deleted rows count in the statistics, as everywhere in search engines.
pub fn scoring_weight(split: &Arc<Split>, node: &Node) -> Result<Box<dyn Weight>> {
    let query = build(split, node, true)?;
    super::warm::fetch_terms(split, query.as_ref());
    let reader = split.index.reader_builder().reload_policy(ReloadPolicy::Manual);
    let searcher = reader.try_into().at(&split.path)?.searcher();
    query.weight(EnableScoring::enabled_from_searcher(&searcher)).at(&split.path)
}

/// The `limit` best rows, best first; equal ones in document order.
pub fn best(split: &Arc<Split>, node: &Node, limit: usize) -> Result<Vec<Place>> {
    let weight = scoring_weight(split, node)?;
    let mut found: Vec<Place> = Vec::new();
    let mut threshold = Score::MIN;
    let better = |a: &Place, b: &Place| {
        b.score.total_cmp(&a.score).then(a.segment.cmp(&b.segment)).then(a.doc.cmp(&b.doc))
    };
    if limit == 0 {
        return Ok(found);
    }
    for (at, segment) in split.segments.iter().enumerate() {
        let alive = segment.reader.alive_bitset();
        weight.for_each_pruning(threshold, &segment.reader, &mut |doc, score| {
            if alive.is_none_or(|a| a.is_alive(doc)) {
                found.push(Place { score, segment: at, doc });
                // cut only now and then: sorting a few times as many costs little
                if found.len() >= limit.saturating_mul(2).max(1024) {
                    found.select_nth_unstable_by(limit - 1, better);
                    found.truncate(limit);
                    threshold = found.iter().map(|s| s.score).fold(Score::MAX, Score::min);
                }
            }
            threshold
        })?;
    }
    found.sort_unstable_by(better);
    found.truncate(limit);
    Ok(found)
}

/// Adds the scores of rows that were found by another order.
pub fn fill(split: &Arc<Split>, node: &Node, places: &mut [Place]) -> Result<()> {
    let weight = scoring_weight(split, node)?;
    for (at, segment) in split.segments.iter().enumerate() {
        let mut here: Vec<&mut Place> = places.iter_mut().filter(|p| p.segment == at).collect();
        here.sort_unstable_by_key(|place| place.doc);
        let mut scorer = weight.scorer(&segment.reader, 1.0)?;
        for place in here {
            if scorer.doc() < place.doc {
                scorer.seek(place.doc);
            }
            if scorer.doc() == place.doc {
                place.score = scorer.score();
            }
        }
    }
    Ok(())
}
