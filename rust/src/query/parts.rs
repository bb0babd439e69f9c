//! Rows whose values contain a string, found by the positions of its trigrams: only doubtful values are read.

use std::sync::Arc;

use tantivy::query::{PhraseQuery, Query};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{BitSet, Term};

use super::dictionary::{Pattern, add_docs_of_terms};
use super::leaf::term_query;
use super::needles::Needle;
use super::scan::{FunctionQuery, candidates, check_docs};
use crate::open::{Column, Split};
use crate::tokenizer::{Letter, folded, letters, written};

/// A longer string is verified in the rows that have some of its trigrams.
const MOST_TERMS: usize = 16;

/// The trigrams that cover a string.
pub struct Cover {
    field: Field,
    /// Rows that have them at the right distances.
    rows: Box<dyn Query>,
    /// Rows that may have them in another case: their values decide.
    doubtful: Vec<String>,
}

impl Cover {
    /// The cover of a string in a split whose trigrams have positions.
    pub fn of(split: &Split, column: &Column, needle: &Needle) -> Option<Cover> {
        let field = column.trigrams?;
        let kind = split.schema.get_field_entry(field).field_type();
        let placed =
            kind.get_index_record_option() == Some(IndexRecordOption::WithFreqsAndPositions);
        // invalid UTF-8 is replaced by this character
        if !placed || needle.text.contains(char::REPLACEMENT_CHARACTER) {
            return None;
        }
        let letters: Vec<Letter> = letters(&needle.text).collect();
        let last = letters.len().checked_sub(3)?;
        if last.div_ceil(3) >= MOST_TERMS {
            return None;
        }
        let (mut terms, mut doubtful) = (Vec::new(), Vec::new());
        for at in (0..last).step_by(3).chain([last]) {
            let three = &letters[at..at + 3];
            let exact = if needle.any_case { None } else { written(three) };
            let text = exact.unwrap_or_else(|| {
                if !needle.any_case {
                    doubtful.push(folded(three));
                }
                folded(three)
            });
            terms.push((at, Term::from_field_text(field, &text)));
        }
        Some(Cover { field, rows: in_places(terms), doubtful })
    }

    /// The rows that contain the string; `pattern` is the condition on the values of doubtful ones.
    pub fn matching(self, split: &Arc<Split>, column: &Column, pattern: Pattern) -> Box<dyn Query> {
        let column = column.clone();
        FunctionQuery::boxed(split, move |split, at| {
            let reader = &split.segments[at].reader;
            let mut doubted = BitSet::with_max_value(reader.max_doc());
            for three in &self.doubtful {
                let otherwise = |term: &[u8]| term.len() > three.len();
                add_docs_of_terms(reader, self.field, three.as_bytes(), otherwise, &mut doubted)?;
            }
            let mut found = BitSet::with_max_value(reader.max_doc());
            let mut unsure = Vec::new();
            for doc in candidates(split, at, Some(&*self.rows))?.unwrap_or_default() {
                if doubted.contains(doc) {
                    unsure.push(doc);
                } else {
                    found.insert(doc);
                }
            }
            let passes = |text: &[u8]| pattern.matches(text);
            check_docs(split, at, &column, &unsure, passes, &mut found)?;
            Ok(found)
        })
    }
}

fn in_places(mut terms: Vec<(usize, Term)>) -> Box<dyn Query> {
    match terms.len() {
        1 => term_query(terms.swap_remove(0).1),
        _ => Box::new(PhraseQuery::new_with_offset(terms)),
    }
}
