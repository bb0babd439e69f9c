//! Conditions on whole text values, checked once per distinct value in a dictionary.

use std::sync::Arc;

use tantivy::columnar::{BytesColumn, DynamicColumn};
use tantivy::postings::{SegmentPostings, TermInfo};
use tantivy::query::Query;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{BitSet, DocSet, InvertedIndexReader, SegmentReader, TERMINATED};

use super::scan::{FunctionQuery, check_docs, scan_column};
use super::test::{Holds, Test};
use crate::columns::fast::{MAX_FAST_BYTES, gather};
use crate::columns::stored_value::Stored;
use crate::columns::{BlockReader, Docs, open_fast};
use crate::error::{EngineError, Result};
use crate::open::{Column, Split};
use crate::texts::lossy;

/// A condition on a text.
#[derive(Clone)]
pub enum Pattern {
    Prefix(Vec<u8>),
    Suffix(Vec<u8>),
    Contains(regex::bytes::Regex),
    Regex(regex::Regex),
}

impl Pattern {
    pub fn matches(&self, text: &[u8]) -> bool {
        match self {
            Pattern::Prefix(value) => text.starts_with(value),
            Pattern::Suffix(value) => text.ends_with(value),
            Pattern::Contains(finder) => finder.is_match(text),
            // Spark, too, decodes a string before it compares it with an expression
            Pattern::Regex(regex) => regex.is_match(&lossy(text)),
        }
    }

    pub fn as_function(&self) -> Holds {
        let pattern = self.clone();
        Arc::new(move |text| pattern.matches(text))
    }

    /// Every match begins with this.
    fn literal_prefix(&self) -> &[u8] {
        match self {
            Pattern::Prefix(value) => value,
            _ => b"",
        }
    }

    /// Bytes anywhere in the value.
    pub fn contains(value: &[u8]) -> Result<Pattern> {
        Pattern::bytes_regex(value).map(Pattern::Contains)
    }

    /// What finds bytes: as an expression without classes the search is a plain one.
    pub fn bytes_regex(value: &[u8]) -> Result<regex::bytes::Regex> {
        let literal: String = value.iter().map(|byte| format!("\\x{byte:02X}")).collect();
        let built =
            regex::bytes::RegexBuilder::new(&literal).unicode(false).size_limit(64 << 20).build();
        built.map_err(|e| EngineError::bad_query(format!("contains: {e}")))
    }

    /// A regular expression that is found anywhere in the value.
    pub fn regex(pattern: &str) -> Result<Pattern> {
        regex::RegexBuilder::new(pattern)
            .size_limit(16 << 20)
            .build()
            .map(Pattern::Regex)
            .map_err(|e| EngineError::bad_query(format!("regular expression `{pattern}`: {e}")))
    }

    /// SQL LIKE over the whole value.
    pub fn like(pattern: &str, escape: &str) -> Result<Pattern> {
        let escape = escape.chars().next();
        let mut regex = String::from("(?s)^");
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            let literal = match c {
                c if Some(c) == escape => chars.next().ok_or_else(|| {
                    EngineError::bad_query(format!("LIKE pattern `{pattern}` ends with its escape"))
                })?,
                '%' => {
                    regex.push_str(".*");
                    continue;
                }
                '_' => {
                    regex.push('.');
                    continue;
                }
                c => c,
            };
            regex.push_str(&regex::escape(literal.encode_utf8(&mut [0; 4])));
        }
        regex.push_str("\\z");
        Pattern::regex(&regex)
    }
}

/// Values of a raw string column that match.
pub fn matching(split: &Arc<Split>, column: &Column, pattern: Pattern) -> Box<dyn Query> {
    let cut_possible = column.overlong != Some(false);
    if column.indexed && !cut_possible {
        let field = column.field;
        return FunctionQuery::boxed(split, move |split, at| {
            let reader = &split.segments[at].reader;
            let prefix = pattern.literal_prefix();
            docs_of_terms(reader, field, prefix, |term| pattern.matches(term))
        });
    }
    if column.fast {
        let column = column.clone();
        return FunctionQuery::boxed(split, move |split, at| {
            docs_of_values(split, at, &column, &pattern)
        });
    }
    scan_column(split, column, Test::Text(pattern.as_function()), None)
}

/// Documents with a term of the inverted index that passes; `prefix` limits the search.
pub fn docs_of_terms(
    reader: &SegmentReader,
    field: Field,
    prefix: &[u8],
    test: impl Fn(&[u8]) -> bool,
) -> Result<BitSet> {
    let mut found = BitSet::with_max_value(reader.max_doc());
    add_docs_of_terms(reader, field, prefix, test, &mut found)?;
    Ok(found)
}

/// Adds the same to others.
pub fn add_docs_of_terms(
    reader: &SegmentReader,
    field: Field,
    prefix: &[u8],
    test: impl Fn(&[u8]) -> bool,
    found: &mut BitSet,
) -> Result<()> {
    let index = reader.inverted_index(field)?;
    let mut terms = index.terms().range().ge(prefix).into_stream()?;
    while terms.advance() && (prefix.is_empty() || terms.key().starts_with(prefix)) {
        if test(terms.key()) {
            add_postings(&index, terms.value(), found)?;
        }
    }
    Ok(())
}

/// Adds the documents of one term.
pub fn add_postings(
    index: &InvertedIndexReader,
    term: &TermInfo,
    found: &mut BitSet,
) -> Result<()> {
    let mut postings: SegmentPostings =
        index.read_postings_from_terminfo(term, IndexRecordOption::Basic)?;
    while postings.doc() != TERMINATED {
        found.insert(postings.doc());
        postings.advance();
    }
    Ok(())
}

fn docs_of_values(
    split: &Arc<Split>,
    at: usize,
    column: &Column,
    pattern: &Pattern,
) -> Result<BitSet> {
    let segment = &split.segments[at];
    let max_doc = segment.reader.max_doc();
    let mut found = BitSet::with_max_value(max_doc);
    let values: BytesColumn = match open_fast(segment, column)? {
        Some(DynamicColumn::Str(values)) => values.into(),
        Some(DynamicColumn::Bytes(values)) => values,
        _ => return Ok(found),
    };
    // 0: no match, 1: match, 2: the value is cut, the document store decides
    let mut verdicts = vec![0u8; values.num_terms()];
    let mut terms = values.dictionary().stream()?;
    let mut ord = 0;
    while terms.advance() {
        let term = terms.key();
        verdicts[ord] =
            if term.len() >= MAX_FAST_BYTES { 2 } else { u8::from(pattern.matches(term)) };
        ord += 1;
    }
    if verdicts.iter().all(|&verdict| verdict == 0) {
        return Ok(found);
    }
    let mut cut = Vec::new();
    for start in (0..max_doc).step_by(4096) {
        let docs = Docs::Range(start..max_doc.min(start + 4096));
        let (ords, nulls) = gather(values.ords(), &docs, |ord| ord);
        for (row, &ord) in ords.iter().enumerate() {
            if nulls.as_ref().is_some_and(|n| n.is_null(row)) {
                continue;
            }
            match verdicts.get(ord as usize) {
                Some(1) => {
                    found.insert(docs.get(row));
                }
                Some(2) => cut.push(docs.get(row)),
                _ => {}
            }
        }
    }
    check_stored(split, at, column, pattern, &cut, &mut found)?;
    Ok(found)
}

fn check_stored(
    split: &Arc<Split>,
    at: usize,
    column: &Column,
    pattern: &Pattern,
    docs: &[u32],
    found: &mut BitSet,
) -> Result<()> {
    if docs.is_empty() {
        return Ok(());
    }
    if column.outside && !column.stored {
        return check_docs(split, at, column, docs, |text| pattern.matches(text), found);
    }
    let mut blocks = BlockReader::new(split.segments[at].doc_store()?, split.directory.clone());
    let mut row = 0;
    blocks.read(&Docs::of(docs), |document| {
        let value = super::scan::field_value(document, column.field.field_id())?;
        let bytes = match value {
            Some(Stored::Str(text)) => Some(text.as_bytes()),
            Some(Stored::Bytes(bytes)) => Some(bytes),
            _ => None,
        };
        if bytes.is_some_and(|bytes| pattern.matches(bytes)) {
            found.insert(docs[row]);
        }
        row += 1;
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(pattern: &str, text: &str) -> bool {
        Pattern::like(pattern, "\\").is_ok_and(|p| p.matches(text.as_bytes()))
    }

    #[test]
    fn like_is_about_the_whole_value() {
        assert!(like("a%c", "a\nc") && like("a_c", "axc") && like("%", ""));
        assert!(!like("a", "ab") && !like("b", "ab") && !like("a", "a\n"));
        assert!(like("100\\%", "100%") && !like("100\\%", "100x"));
        assert!(like("a.c$", "a.c$") && !like("a.c", "abc"));
        assert!(like("\\\\z", "\\z") && like("$", "$"));
        assert!(Pattern::like("a\\", "\\").is_err());
    }
}
