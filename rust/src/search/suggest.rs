//! Words of a column's dictionary: completions and corrections.

use std::collections::HashMap;

use crate::error::{EngineError, Result};
use crate::open::{Column, Split};
use crate::query::{Near, tokenize};

/// Words and their number of rows, most frequent first; deleted rows still count.
pub type Words = Vec<(String, u64)>;

/// Words of a column that complete the last word of a text.
pub fn complete(split: &Split, field: &str, text: &str, limit: usize) -> Result<Words> {
    let Some(column) = searched(split, field)? else { return Ok(Vec::new()) };
    let start = last_word(column, text)?;
    words(split, column, &start, limit, |_| true)
}

/// Words of a column within `distance` edits of the last word of a text, with the same first letter.
pub fn similar(
    split: &Split,
    field: &str,
    text: &str,
    distance: u8,
    limit: usize,
) -> Result<Words> {
    let Some(column) = searched(split, field)? else { return Ok(Vec::new()) };
    let word = last_word(column, text)?;
    let near = Near::new(&word, distance, 1)?;
    let first: String = word.chars().take(1).collect();
    words(split, column, &first, limit, |token| near.holds(token))
}

/// The number of rows that have each of some words; deleted rows still count.
pub fn frequencies(split: &Split, field: &str, words: &[String]) -> Result<Vec<u64>> {
    let mut rows = vec![0; words.len()];
    let Some(column) = searched(split, field)? else { return Ok(rows) };
    for segment in &split.segments {
        let index = segment.reader.inverted_index(column.field)?;
        for (rows, word) in rows.iter_mut().zip(words) {
            let found = index.terms().get(word.as_bytes())?;
            *rows += found.map_or(0, |term| u64::from(term.doc_freq));
        }
    }
    Ok(rows)
}

fn searched<'a>(split: &'a Split, field: &str) -> Result<Option<&'a Column>> {
    match split.layout.get(field) {
        Some(column) if column.tokenizer.is_none() || !column.indexed => {
            Err(EngineError::bad_query(format!("column `{field}` has no dictionary of words")))
        }
        found => Ok(found),
    }
}

/// The last token of a text.
fn last_word(column: &Column, text: &str) -> Result<String> {
    Ok(tokenize(column, text)?.pop().map(|(_, token)| token).unwrap_or_default())
}

fn words(
    split: &Split,
    column: &Column,
    start: &str,
    limit: usize,
    holds: impl Fn(&[u8]) -> bool,
) -> Result<Words> {
    let mut rows: HashMap<Vec<u8>, u64> = HashMap::new();
    for segment in &split.segments {
        let index = segment.reader.inverted_index(column.field)?;
        let mut terms = index.terms().range().ge(start.as_bytes()).into_stream()?;
        while terms.advance() && terms.key().starts_with(start.as_bytes()) {
            if holds(terms.key()) {
                let rows = rows.entry(terms.key().to_vec()).or_default();
                *rows += u64::from(terms.value().doc_freq);
            }
        }
    }
    let mut found: Words = rows
        .into_iter()
        .filter_map(|(word, rows)| Some((String::from_utf8(word).ok()?, rows)))
        .collect();
    found.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    found.truncate(limit);
    Ok(found)
}
