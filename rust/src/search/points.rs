//! The score of a row, summed in the order of the query.
//!
//! Tantivy adds the scores of words in an order that depends on the split, and sums of floats depend on their
//! order. Tantivy finds the rows; their scores are added here, always in the same order.

use tantivy::query::Scorer;
use tantivy::{DocSet, Score};

use super::score::Scoring;
use crate::error::Result;
use crate::query::{Node, build};

/// The scores of a query in one segment, for rows in ascending order.
pub enum Points {
    /// Every row matches.
    Constant(f64),
    Leaf(Box<dyn Scorer>),
    All(Vec<Points>),
    Any(Vec<Points>),
    Not(Box<Points>),
    Times(Box<Points>, f64),
    /// This score for every row that matches.
    Same(Box<Points>, f64),
    AtLeast(Vec<Points>, usize),
    Never,
}

impl Points {
    /// With `matched`, only rows that match the node are passed: parts without a score are not evaluated.
    pub fn open(scoring: &Scoring, segment: usize, node: &Node, matched: bool) -> Result<Points> {
        let open = |node: &Node, matched| Points::open(scoring, segment, node, matched);
        let all = |args: &[Node], matched| {
            args.iter().map(|arg| open(arg, matched)).collect::<Result<Vec<_>>>()
        };
        Ok(match node {
            Node::All => Points::Constant(0.0),
            Node::None => Points::Never,
            Node::And { args } => Points::All(all(args, matched)?),
            Node::Or { args } => Points::Any(all(args, matched && args.len() == 1)?),
            Node::Not { .. } if matched => Points::Constant(0.0),
            Node::Not { arg } => Points::Not(Box::new(open(arg, false)?)),
            Node::Boost { arg, boost } => {
                Points::Times(Box::new(open(arg, matched)?), f64::from(*boost))
            }
            Node::Constant { score, .. } if matched => Points::Constant(f64::from(*score)),
            Node::Constant { arg, score } => {
                Points::Same(Box::new(open(arg, false)?), f64::from(*score))
            }
            Node::AtLeast { args, count } => Points::AtLeast(all(args, false)?, *count),
            Node::Search { query, fields, mode } => {
                open(&query.lower(scoring.split.fields(), fields, *mode)?, matched)?
            }
            leaf if matched && !is_word(leaf) => Points::Constant(f64::from(leaf.is_search())),
            leaf => {
                let query = build(&scoring.split, leaf, true)?;
                let weight = scoring.weight(query.as_ref())?;
                Points::Leaf(weight.scorer(&scoring.split.segments[segment].reader, 1.0)?)
            }
        })
    }

    /// The score of a row, if the row matches.
    pub fn at(&mut self, doc: u32) -> Option<f64> {
        match self {
            Points::Constant(points) => Some(*points),
            Points::Never => None,
            Points::Leaf(scorer) => {
                if scorer.doc() < doc {
                    scorer.seek(doc);
                }
                (scorer.doc() == doc).then(|| f64::from(scorer.score()))
            }
            Points::All(parts) => parts.iter_mut().map(|part| part.at(doc)).sum(),
            Points::Any(parts) => {
                let found = parts.iter_mut().filter_map(|part| part.at(doc));
                found.fold(None, |sum, points| Some(sum.unwrap_or(0.0) + points))
            }
            Points::Not(part) => {
                if part.at(doc).is_none() {
                    Some(0.0)
                } else {
                    None
                }
            }
            Points::Times(part, times) => part.at(doc).map(|points| points * *times),
            Points::Same(part, points) => part.at(doc).map(|_| *points),
            Points::AtLeast(parts, count) => {
                let found: Vec<f64> = parts.iter_mut().filter_map(|part| part.at(doc)).collect();
                (found.len() >= *count).then(|| found.iter().sum())
            }
        }
    }

    /// The same as a column shows it.
    pub fn score(&mut self, doc: u32) -> Score {
        self.at(doc).unwrap_or_default() as Score
    }

    pub fn scores(&mut self, docs: &[u32]) -> Vec<Score> {
        docs.iter().map(|doc| self.score(*doc)).collect()
    }
}

/// Whether the score of a node depends on the row.
fn is_word(node: &Node) -> bool {
    matches!(node, Node::TokenTerm { .. } | Node::Phrase { .. })
}
