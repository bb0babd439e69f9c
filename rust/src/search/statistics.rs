//! The statistics of BM25: the number of rows, the lengths of their texts, and the number of rows that have
//! each searched word.
//!
//! Scores belong to the table: they are computed from the live rows of its snapshot, whatever their splits. A
//! row's length is the one byte in the index (exact up to 40 tokens), both for the sum and for the score, so
//! that a merge, which sees only these bytes, changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet, SegmentReader, TantivyError, Term};

use super::term_rows::term_rows;
use crate::error::{EngineError, Result};
use crate::open::{Column, Segment, Split};
use crate::query::{Node, build};
use crate::split::sum_lengths;

/// Of one split, or of all splits of a table together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    pub rows: u64,
    /// Tokens of each searched field that keeps the lengths of its texts.
    pub tokens: BTreeMap<String, u64>,
    /// Rows that have a token, by field and token.
    pub terms: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Statistics {
    pub fn from_value(value: Value) -> Result<Statistics> {
        serde_json::from_value(value)
            .map_err(|e| EngineError::bad_query(format!("statistics of a score: {e}")))
    }
}

/// The statistics of the living rows of a split for the words of some queries.
pub fn gather(split: &Arc<Split>, nodes: &[Node]) -> Result<Statistics> {
    let mut found = Statistics { rows: split.num_docs(), ..Statistics::default() };
    for term in scored_terms(split, nodes)? {
        let Some(column) = column_of(split, term.field()) else { continue };
        if has_lengths(split, column) && !found.tokens.contains_key(&column.name) {
            found.tokens.insert(column.name.clone(), living_tokens(split, column)?);
        }
        let token = String::from_utf8_lossy(term.serialized_value_bytes()).into_owned();
        let rows = split.term_counts.term(&term, || living_rows(split, &term))?;
        found.terms.entry(column.name.clone()).or_default().insert(token, rows);
    }
    Ok(found)
}

/// Whether the index has the lengths of a column's rows.
pub fn has_lengths(split: &Split, column: &Column) -> bool {
    split.schema.get_field_entry(column.field).has_fieldnorms()
}

/// Words and phrases that are scored; negated ones are not, and a pattern has a constant score.
pub fn scored_words(split: &Split, node: &Node, found: &mut Vec<Node>) -> Result<()> {
    match node {
        Node::And { args } | Node::Or { args } | Node::AtLeast { args, .. } => {
            args.iter().try_for_each(|arg| scored_words(split, arg, found))?;
        }
        // tantivy also counts the words below a constant
        Node::Boost { arg, .. } | Node::Constant { arg, .. } => scored_words(split, arg, found)?,
        Node::Search { query, fields, mode } => {
            scored_words(split, &query.lower(split.fields(), fields, *mode)?, found)?;
        }
        Node::TokenTerm { .. } | Node::Phrase { .. } => found.push(node.clone()),
        _ => {}
    }
    Ok(())
}

fn scored_terms(split: &Arc<Split>, nodes: &[Node]) -> Result<BTreeSet<Term>> {
    let mut words = Vec::new();
    nodes.iter().try_for_each(|node| scored_words(split, node, &mut words))?;
    let mut terms = BTreeSet::new();
    for word in &words {
        build(split, word, true)?.query_terms(&mut |term, _| {
            terms.insert(term.clone());
        });
    }
    Ok(terms)
}

fn column_of(split: &Split, field: Field) -> Option<&Column> {
    split.layout.iter().find(|column| column.field == field)
}

fn living_rows(split: &Split, term: &Term) -> Result<u64> {
    let mut rows = 0;
    for segment in &split.segments {
        let rows_here = match segment.reader.alive_bitset() {
            None => term_rows(&segment.reader, term)?,
            Some(alive) => {
                let index = segment.reader.inverted_index(term.field())?;
                let postings = index.read_postings(term, IndexRecordOption::Basic)?;
                postings.map_or(0, |mut postings| postings.count(alive))
            }
        };
        rows += u64::from(rows_here);
    }
    Ok(rows)
}

fn living_tokens(split: &Split, column: &Column) -> Result<u64> {
    split.term_counts.tokens(column.field, || {
        let noted = split.sidecar.as_ref().and_then(|s| s.column(&column.name)?.tokens);
        let mut tokens = match noted {
            Some(tokens) => tokens,
            None => split
                .segments
                .iter()
                .map(|s| all_tokens(&s.reader, column.field))
                .sum::<Result<u64>>()?,
        };
        for segment in split.segments.iter().filter(|segment| segment.alive.is_some()) {
            tokens -= deleted_tokens(segment, column.field)?;
        }
        Ok(tokens)
    })
}

fn all_tokens(reader: &SegmentReader, field: Field) -> Result<u64> {
    Ok(sum_lengths(reader, field)?.unwrap_or_default())
}

fn deleted_tokens(segment: &Segment, field: Field) -> Result<u64> {
    let Some(lengths) = segment.reader.fieldnorms_readers().get_field(field)? else { return Ok(0) };
    let Some(words) = segment.alive.as_deref() else { return Ok(0) };
    let mut tokens = 0;
    for (at, word) in words.iter().enumerate() {
        let mut dead = !word;
        while dead != 0 {
            let doc = at as u32 * 64 + dead.trailing_zeros();
            if doc >= segment.reader.max_doc() {
                break;
            }
            tokens += u64::from(lengths.fieldnorm(doc));
            dead &= dead - 1;
        }
    }
    Ok(tokens)
}

/// The statistics of a table in the form that tantivy requests for one split.
pub struct TableStatistics<'a> {
    pub split: &'a Split,
    pub known: &'a Statistics,
}

impl Bm25StatisticsProvider for TableStatistics<'_> {
    /// Without lengths, every row is one token long.
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        let column = column_of(self.split, field).filter(|column| has_lengths(self.split, column));
        let tokens = column.and_then(|column| self.known.tokens.get(&column.name)).copied();
        Ok(tokens.unwrap_or(self.known.rows).max(1))
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.known.rows.max(1))
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let column = column_of(self.split, term.field());
        let token = String::from_utf8_lossy(term.serialized_value_bytes());
        let known =
            column.and_then(|column| self.known.terms.get(&column.name)?.get(token.as_ref()));
        // a word that was not counted would get a wrong score
        known.map(|rows| (*rows).min(self.known.rows.max(1))).ok_or_else(|| {
            TantivyError::InternalError(format!("the statistics lack the word `{token}`"))
        })
    }
}
