//! Query trees as tantivy queries over one split, exact in the sense of SQL.

mod address;
mod ascending;
mod blocks;
mod datemath;
mod dictionary;
mod fields;
mod inside;
mod json;
mod language;
mod leaf;
mod literal;
mod lower;
mod members;
mod near;
mod needles;
mod parts;
mod points;
mod ranges;
mod rows;
mod scan;
mod simple;
mod spans;
mod test;
mod text;
mod tokens;
mod tree;
mod words;

use std::sync::Arc;

use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, EmptyQuery, Occur, Query,
};

pub use fields::{Described, Fields};
pub use language::at_time;
pub use literal::{Kind as KindOf, compare_floats};
pub use lower::wildcard_regex;
pub use needles::trigrams_of;
pub use rows::match_rows;
pub use simple::to_query;
pub use test::Test as ValueTest;
pub use text::SearchText;
pub use tokens::{Near, tokenize};
pub use tree::{Bound, Mode, Node};

use crate::error::{EngineError, Result};
use crate::open::{Column, Split};
use dictionary::Pattern;
use leaf::Target;
use literal::text_value;

/// Path segment for the only member of a list's wrapper.
const ANY_MEMBER: &str = "\u{0}any";

/// Turns a tree into a query; with `scoring`, only searched words give points.
pub fn build(split: &Arc<Split>, node: &Node, scoring: bool) -> Result<Box<dyn Query>> {
    Builder { split, scoring }.build(node)
}

/// The condition of lying from one value (included) to another (excluded).
pub fn range_test(
    kind: KindOf,
    from: Option<&serde_json::Value>,
    to: Option<&serde_json::Value>,
) -> Result<ValueTest> {
    let bound = |value: Option<&serde_json::Value>, inclusive| {
        value.filter(|v| !v.is_null()).map(|v| Bound { value: v.clone(), inclusive })
    };
    let (lower, upper) = (bound(from, true), bound(to, false));
    let span = literal::Span::range(kind, lower.as_ref(), upper.as_ref())?;
    Ok(ValueTest::spans(vec![span]))
}

struct Builder<'a> {
    split: &'a Arc<Split>,
    scoring: bool,
}

impl Builder<'_> {
    fn build(&self, node: &Node) -> Result<Box<dyn Query>> {
        match node {
            Node::All => Ok(self.filter(Box::new(AllQuery))),
            Node::None => Ok(Box::new(EmptyQuery)),
            Node::And { args } => self.combine(args, Occur::Must),
            Node::Or { args } => self.combine(args, Occur::Should),
            Node::Not { arg } if may_intersect(arg) => {
                Ok(scan::all_but(self.split, self.build(arg)?))
            }
            Node::Not { arg } => Ok(negate(self.build(arg)?)),
            Node::Boost { arg, boost } => Ok(Box::new(BoostQuery::new(self.build(arg)?, *boost))),
            Node::Constant { arg, score } => {
                Ok(Box::new(ConstScoreQuery::new(self.build(arg)?, *score)))
            }
            Node::AtLeast { args, count } => self.at_least(args, *count),
            Node::Search { query, fields, mode } => {
                self.build(&query.lower(self.split.fields(), fields, *mode)?)
            }
            Node::TokenTerm { field, text } => self.on_column(field, |c| tokens::words(c, text)),
            Node::Phrase { field, text, slop } => {
                self.on_column(field, |c| tokens::phrase(self.split, c, text, *slop))
            }
            Node::PhrasePrefix { field, text } => {
                // tantivy would score it by the statistics of the split: it gives one point, as other patterns do
                let query =
                    self.on_column(field, |c| tokens::phrase_prefix(self.split, c, text))?;
                Ok(if self.scoring { Box::new(ConstScoreQuery::new(query, 1.0)) } else { query })
            }
            Node::TokenWildcard { field, pattern } => {
                self.on_column(field, |c| tokens::wildcard(self.split, c, pattern))
            }
            Node::TokenRegex { field, pattern } => {
                self.on_column(field, |c| tokens::regex(self.split, c, pattern))
            }
            Node::Fuzzy { field, text, distance, prefix } => {
                self.on_column(field, |c| tokens::fuzzy(self.split, c, text, *distance, *prefix))
            }
            leaf => Ok(self.filter(self.leaf(leaf)?)),
        }
    }

    fn leaf(&self, node: &Node) -> Result<Box<dyn Query>> {
        let on = |field: &str, run: &dyn Fn(&Target<'_>) -> Result<Box<dyn Query>>| {
            // a column this split does not have is null in every row of it
            Target::resolve(self.split, field)
                .map_or_else(|| Ok(Box::new(EmptyQuery) as Box<dyn Query>), |t| run(&t))
        };
        match node {
            Node::Term { field, value } => on(field, &|t| t.term(value)),
            Node::Set { field, values } => on(field, &|t| t.set(values)),
            Node::Range { field, lower, upper } => {
                on(field, &|t| t.range(lower.as_ref(), upper.as_ref()))
            }
            Node::Prefix { field, value } => {
                on(field, &|t| t.matching(Pattern::Prefix(text_value(value)?), node))
            }
            Node::Suffix { field, value } => {
                on(field, &|t| t.matching(Pattern::Suffix(text_value(value)?), node))
            }
            Node::Contains { field, value } => {
                on(field, &|t| t.matching(Pattern::contains(&text_value(value)?)?, node))
            }
            Node::Like { field, pattern, escape } => {
                on(field, &|t| t.matching(Pattern::like(pattern, escape)?, node))
            }
            Node::Regex { field, pattern } => {
                on(field, &|t| t.matching(Pattern::regex(pattern)?, node))
            }
            Node::Trigrams { field, .. } => {
                on(field, &|t| Ok(t.with_trigrams(node).unwrap_or_else(|| Box::new(AllQuery))))
            }
            Node::Exists { field } => on(field, &|t| t.exists()),
            _ => Err(EngineError::internal("not a condition on a column")),
        }
    }

    fn on_column(
        &self,
        field: &str,
        run: impl Fn(&Column) -> Result<Box<dyn Query>>,
    ) -> Result<Box<dyn Query>> {
        match self.split.layout.get(field) {
            Some(column) => run(column),
            None => Ok(Box::new(EmptyQuery)),
        }
    }

    fn combine(&self, args: &[Node], occur: Occur) -> Result<Box<dyn Query>> {
        let mut parts = args.iter().map(|arg| self.build(arg)).collect::<Result<Vec<_>>>()?;
        Ok(match (parts.len(), occur) {
            (0, Occur::Must) => self.filter(Box::new(AllQuery)),
            (0, _) => Box::new(EmptyQuery),
            (1, _) => parts.swap_remove(0),
            _ => Box::new(BooleanQuery::new(parts.into_iter().map(|p| (occur, p)).collect())),
        })
    }

    fn at_least(&self, args: &[Node], count: usize) -> Result<Box<dyn Query>> {
        match count {
            0 | 1 => return self.combine(args, Occur::Should),
            all if all == args.len() => return self.combine(args, Occur::Must),
            _ => {}
        }
        let parts = args.iter().map(|arg| Ok((Occur::Should, self.build(arg)?)));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        Ok(Box::new(BooleanQuery::with_minimum_required_clauses(parts, count)))
    }

    /// A condition that selects rows but says nothing about how well they match.
    fn filter(&self, query: Box<dyn Query>) -> Box<dyn Query> {
        if self.scoring { Box::new(ConstScoreQuery::new(query, 0.0)) } else { query }
    }
}

/// Whether a query may be answered by intersecting postings: tantivy leaves out the rows of such a query by moving
/// it backwards, which it does not allow.
fn may_intersect(node: &Node) -> bool {
    match node {
        Node::Or { args } => args.iter().any(may_intersect),
        Node::Not { arg } | Node::Boost { arg, .. } | Node::Constant { arg, .. } => {
            may_intersect(arg)
        }
        other => matches!(other, Node::And { .. } | Node::AtLeast { .. }) || other.is_search(),
    }
}

fn negate(query: Box<dyn Query>) -> Box<dyn Query> {
    let all: Box<dyn Query> = Box::new(ConstScoreQuery::new(Box::new(AllQuery), 0.0));
    Box::new(BooleanQuery::new(vec![(Occur::Must, all), (Occur::MustNot, query)]))
}
