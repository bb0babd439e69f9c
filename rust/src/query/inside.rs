//! Rows whose values contain a string that lies inside a word, found by the terms that contain it: a value is read
//! only if some row has the term with other letters.

use std::sync::Arc;

use memchr::memmem::Finder as Find;
use tantivy::BitSet;
use tantivy::query::Query;

use super::blocks::Finder;
use super::dictionary::{Pattern, add_postings};
use super::needles::Needle;
use super::scan::{FunctionQuery, check_docs};
use super::tree::Node;
use crate::error::Result;
use crate::open::{Column, Segment, Split};
use crate::split::{CapitalWords, Encoding};
use crate::tokenizer::{longest_word, lower_word};

/// So many bytes of compressed rows are searched in the time in which one term is.
const ROW_BYTES_PER_TERM: u64 = 16;

/// A string of letters and digits, and the column to search for it.
pub struct InsideWord {
    column: Column,
    needle: Needle,
    /// The string as terms have it.
    term: String,
    /// How doubtful rows are read, if they are in the split.
    finder: Option<Finder>,
}

/// What a term that contains a string in lower case says about the rows that have the term.
#[derive(Debug, PartialEq)]
enum Verdict {
    Contained,
    Absent,
    /// It depends on how each row writes the word.
    Unknown,
}

impl InsideWord {
    /// Where the terms of a column are its words, and the split records how they were written.
    pub fn of(
        split: &Split,
        column: &Column,
        needle: Needle,
        node: &Node,
    ) -> Result<Option<InsideWord>> {
        let tokenizer = column.tokenizer.as_deref().unwrap_or_default();
        let by_words = column.encoding == Encoding::Text
            && column.indexed
            && column.source.is_none()
            && longest_word(tokenizer).is_some();
        let in_word = !needle.text.is_empty() && needle.text.chars().all(char::is_alphanumeric);
        if !by_words || !in_word || !split.capitals()?.columns.contains_key(&column.written_name) {
            return Ok(None);
        }
        let finder = Finder::of(column, node);
        if finder.is_some() && !has_few_terms(split, column)? {
            return Ok(None);
        }
        let mut term = String::new();
        lower_word(&needle.text, &mut term);
        Ok(Some(InsideWord { column: column.clone(), needle, term, finder }))
    }

    /// The rows that contain the string; `pattern` is the condition on the values of doubtful ones.
    pub fn matching(self, split: &Arc<Split>, pattern: Pattern) -> Box<dyn Query> {
        FunctionQuery::boxed(split, move |split, at| self.find(split, at, &pattern))
    }

    fn find(&self, split: &Arc<Split>, at: usize, pattern: &Pattern) -> Result<BitSet> {
        let reader = &split.segments[at].reader;
        let capitals = split.capitals()?;
        let capitals = &capitals.columns[&self.column.written_name];
        let index = reader.inverted_index(self.column.field)?;
        let mut found = BitSet::with_max_value(reader.max_doc());
        let mut doubtful = BitSet::with_max_value(reader.max_doc());
        let find = Find::new(self.term.as_bytes());
        let mut terms = index.terms().stream()?;
        while terms.advance() {
            if find.find(terms.key()).is_none() {
                continue;
            }
            match self.judge(terms.key(), &find, capitals) {
                Verdict::Contained => add_postings(&index, terms.value(), &mut found)?,
                Verdict::Unknown => add_postings(&index, terms.value(), &mut doubtful)?,
                Verdict::Absent => {}
            }
        }
        let doubtful: Vec<u32> = (0..reader.max_doc())
            .filter(|&doc| doubtful.contains(doc) && !found.contains(doc))
            .collect();
        match &self.finder {
            _ if doubtful.is_empty() => {}
            Some(finder) => {
                let field = self.column.field.field_id();
                finder.search(split, at, field, Some(&doubtful), pattern, &mut found)?;
            }
            None => {
                let passes = |text: &[u8]| pattern.matches(text);
                check_docs(split, at, &self.column, &doubtful, passes, &mut found)?;
            }
        }
        Ok(found)
    }

    fn judge(&self, term: &[u8], find: &Find<'_>, capitals: &CapitalWords) -> Verdict {
        if self.needle.any_case {
            return Verdict::Contained;
        }
        let mut verdict = Verdict::Absent;
        let mut next = 0;
        // the string may overlap itself
        while let Some(start) = find.find(&term[next..]).map(|at| next + at) {
            next = start + 1;
            let range = start..start + self.term.len();
            if capitals.may_differ(term, range.start, range.end) {
                verdict = Verdict::Unknown;
            } else if term[range] == *self.needle.text.as_bytes() {
                return Verdict::Contained;
            }
        }
        verdict
    }
}

/// Whether searching the terms takes less time than searching the rows.
fn has_few_terms(split: &Split, column: &Column) -> Result<bool> {
    let cost = |segment: &Segment| -> Result<(u64, u64)> {
        let terms = segment.reader.inverted_index(column.field)?.terms().num_terms() as u64;
        Ok((terms * ROW_BYTES_PER_TERM, segment.doc_store()?.num_bytes()))
    };
    let costs = split.segments.iter().map(cost).collect::<Result<Vec<_>>>()?;
    let (terms, rows) = costs.iter().fold((0, 0), |sum, cost| (sum.0 + cost.0, sum.1 + cost.1));
    Ok(terms <= rows)
}
