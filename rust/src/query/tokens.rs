//! Conditions on the tokens of a field, as the query language has them.

use std::sync::Arc;

use tantivy::Term;
use tantivy::query::{
    BooleanQuery, EmptyQuery, FuzzyTermQuery, Occur, PhrasePrefixQuery, PhraseQuery, Query,
    TermQuery,
};
use tantivy::schema::IndexRecordOption;

use super::dictionary::docs_of_terms;
use super::near;
use super::scan::FunctionQuery;
use crate::error::{EngineError, Result};
use crate::open::{Column, Split};
use crate::texts::lossy;
use crate::tokenizer;

/// Tokens with their positions.
pub type Tokens = [(usize, String)];

/// Tokens of a text with their positions, made as the field's writer made them.
pub fn tokenize(column: &Column, text: &str) -> Result<Vec<(usize, String)>> {
    tokenize_as(column.tokenizer.as_deref().unwrap_or("raw"), text)
}

pub fn tokenize_as(name: &str, text: &str) -> Result<Vec<(usize, String)>> {
    let mut analyzer = tokenizer::analyzer(name)?;
    let mut stream = analyzer.token_stream(text);
    let mut tokens = Vec::new();
    while let Some(token) = stream.next() {
        // what has parts is found by them
        if !tokenizer::is_whole(token) {
            tokens.push((token.position, token.text.clone()));
        }
    }
    Ok(tokens)
}

fn term(column: &Column, token: &str) -> Term {
    Term::from_field_text(column.field, token)
}

fn one_token(column: &Column, token: &str) -> Box<dyn Query> {
    // one token has no neighbors: its positions are not needed
    let record = match column.record.unwrap_or_default() {
        IndexRecordOption::WithFreqsAndPositions => IndexRecordOption::WithFreqs,
        less => less,
    };
    Box::new(TermQuery::new(term(column, token), record))
}

fn all_of(column: &Column, tokens: &[(usize, String)]) -> Box<dyn Query> {
    let parts = tokens.iter().map(|(_, token)| (Occur::Must, one_token(column, token)));
    Box::new(BooleanQuery::new(parts.collect()))
}

fn checked(column: &Column) -> Result<()> {
    if column.indexed {
        return Ok(());
    }
    Err(EngineError::bad_query(format!("column `{}` is not indexed for search", column.name)))
}

/// A word: its tokens in a row where positions are kept, else all of them.
pub fn words(column: &Column, text: &str) -> Result<Box<dyn Query>> {
    checked(column)?;
    let tokens = tokenize(column, text)?;
    Ok(match tokens.len() {
        0 => Box::new(EmptyQuery),
        1 => one_token(column, &tokens[0].1),
        _ if column.positions() => phrase_query(column, tokens, 0),
        _ => all_of(column, &tokens),
    })
}

fn phrase_query(column: &Column, tokens: Vec<(usize, String)>, slop: u32) -> Box<dyn Query> {
    let terms = tokens.into_iter().map(|(at, token)| (at, term(column, &token))).collect();
    Box::new(PhraseQuery::new_with_offset_and_slop(terms, slop))
}

fn needs_positions(column: &Column) -> EngineError {
    EngineError::bad_query(format!(
        "column `{}` keeps no positions, a phrase cannot be searched in it",
        column.name
    ))
}

/// The tokens of a text next to each other, with up to `slop` moves.
pub fn phrase(
    split: &Arc<Split>,
    column: &Column,
    text: &str,
    slop: u32,
) -> Result<Box<dyn Query>> {
    checked(column)?;
    let tokens = tokenize(column, text)?;
    Ok(match tokens.len() {
        0 => Box::new(EmptyQuery),
        1 => one_token(column, &tokens[0].1),
        _ if !column.positions() => return Err(needs_positions(column)),
        3.. if slop > 0 => {
            let terms = tokens.into_iter().map(|(at, token)| (at, term(column, &token)));
            near::near_words(split, terms.collect(), slop)
        }
        _ => phrase_query(column, tokens, slop),
    })
}

/// A phrase whose last token is a prefix.
pub fn phrase_prefix(split: &Arc<Split>, column: &Column, text: &str) -> Result<Box<dyn Query>> {
    checked(column)?;
    let tokens = tokenize(column, text)?;
    Ok(match tokens.len() {
        0 => Box::new(EmptyQuery),
        1 => prefix(split, column, &tokens[0].1),
        _ if !column.positions() => return Err(needs_positions(column)),
        last => {
            let is_behind = tokens[last - 1].0 == tokens[last - 2].0 + 1;
            let terms = tokens.into_iter().map(|(at, token)| (at, term(column, &token))).collect();
            if !is_behind {
                return Ok(near::before_prefix(split, terms));
            }
            let mut query = PhrasePrefixQuery::new_with_offset(terms);
            // every word with the prefix counts, not only the first few of each dictionary
            query.set_max_expansions(u32::MAX);
            Box::new(query)
        }
    })
}

fn prefix(split: &Arc<Split>, column: &Column, start: &str) -> Box<dyn Query> {
    let (field, start) = (column.field, start.as_bytes().to_vec());
    FunctionQuery::boxed(split, move |split, at| {
        docs_of_terms(&split.segments[at].reader, field, &start, |_| true)
    })
}

/// Whether a tokenizer converts to lower case.
fn lowers(tokenizer: &str) -> bool {
    tokenize_as(tokenizer, "A").is_ok_and(|tokens| tokens.iter().any(|(_, token)| token == "a"))
}

/// A condition on whole tokens.
pub struct Pattern {
    regex: regex::Regex,
    /// Every match begins with this.
    start: String,
}

impl Pattern {
    pub fn is_match(&self, token: &str) -> bool {
        self.regex.is_match(token)
    }

    /// Tokens that match a regular expression as a whole.
    pub fn regex(pattern: &str) -> Result<Pattern> {
        Pattern::new(&format!("\\A(?:{pattern})\\z"), String::new())
    }

    fn new(regex: &str, start: String) -> Result<Pattern> {
        let regex = regex::RegexBuilder::new(regex)
            .size_limit(16 << 20)
            .build()
            .map_err(|e| EngineError::bad_query(format!("pattern `{regex}`: {e}")))?;
        Ok(Pattern { regex, start })
    }

    /// `*` matches any characters, `?` one; `\` escapes the next character.
    pub fn wildcard(tokenizer: &str, pattern: &str) -> Result<Pattern> {
        let lower = lowers(tokenizer);
        let mut regex = String::from("(?s)\\A");
        let mut start = String::new();
        let mut plain = true;
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            let literal = match c {
                '*' | '?' => {
                    regex.push_str(if c == '*' { ".*" } else { "." });
                    plain = false;
                    continue;
                }
                '\\' => chars.next().unwrap_or('\\'),
                c => c,
            };
            let literal: String =
                if lower { literal.to_lowercase().collect() } else { literal.to_string() };
            if plain {
                start.push_str(&literal);
            }
            regex.push_str(&regex::escape(&literal));
        }
        regex.push_str("\\z");
        Pattern::new(&regex, start)
    }
}

/// Tokens that match `*` (anything) and `?` (one character).
pub fn wildcard(split: &Arc<Split>, column: &Column, pattern: &str) -> Result<Box<dyn Query>> {
    checked(column)?;
    let tokenizer = column.tokenizer.as_deref().unwrap_or("raw");
    Ok(matching_tokens(split, column, Pattern::wildcard(tokenizer, pattern)?))
}

/// Tokens that match a regular expression as a whole.
pub fn regex(split: &Arc<Split>, column: &Column, pattern: &str) -> Result<Box<dyn Query>> {
    checked(column)?;
    Ok(matching_tokens(split, column, Pattern::regex(pattern)?))
}

fn matching_tokens(split: &Arc<Split>, column: &Column, pattern: Pattern) -> Box<dyn Query> {
    let field = column.field;
    FunctionQuery::boxed(split, move |split, at| {
        let reader = &split.segments[at].reader;
        let start = pattern.start.as_bytes();
        docs_of_terms(reader, field, start, |term| pattern.is_match(&lossy(term)))
    })
}

/// A word and the maximum edit distance of a token; a swap of neighbors is one edit.
pub struct Near {
    automaton: levenshtein_automata::DFA,
    distance: u8,
    prefix: String,
}

impl Near {
    /// The first `prefix` characters must match.
    pub fn new(word: &str, distance: u8, prefix: usize) -> Result<Near> {
        checked_distance(distance)?;
        let builder = levenshtein_automata::LevenshteinAutomatonBuilder::new(distance, true);
        let prefix = word.chars().take(prefix).collect();
        Ok(Near { automaton: builder.build_dfa(word), distance, prefix })
    }

    pub fn holds(&self, token: &[u8]) -> bool {
        let starts = token.starts_with(self.prefix.as_bytes());
        starts
            && matches!(
                self.automaton.eval(token),
                levenshtein_automata::Distance::Exact(edits) if edits <= self.distance
            )
    }
}

fn checked_distance(distance: u8) -> Result<()> {
    if distance > 2 {
        return Err(EngineError::bad_query("a fuzzy distance is 0, 1 or 2"));
    }
    Ok(())
}

/// Tokens at most `distance` edits away, whose first `prefix` characters are the same.
pub fn fuzzy(
    split: &Arc<Split>,
    column: &Column,
    text: &str,
    distance: u8,
    prefix: usize,
) -> Result<Box<dyn Query>> {
    checked(column)?;
    checked_distance(distance)?;
    let mut parts = Vec::new();
    for (_, token) in tokenize(column, text)? {
        let query: Box<dyn Query> = if prefix == 0 {
            Box::new(FuzzyTermQuery::new(term(column, &token), distance, true))
        } else {
            let (field, near) = (column.field, Near::new(&token, distance, prefix)?);
            FunctionQuery::boxed(split, move |split, at| {
                let reader = &split.segments[at].reader;
                docs_of_terms(reader, field, near.prefix.as_bytes(), |term| near.holds(term))
            })
        };
        parts.push((Occur::Must, query));
    }
    Ok(if parts.is_empty() { Box::new(EmptyQuery) } else { Box::new(BooleanQuery::new(parts)) })
}

/// A query that every value equal to `text` passes; nothing when the index cannot help.
pub fn all_tokens(split: &Arc<Split>, column: &Column, text: &str) -> Option<Box<dyn Query>> {
    // other writers drop long tokens at another length than their names say
    if !column.indexed || split.sidecar.is_none() {
        return None;
    }
    let tokens = tokenize(column, text).ok()?;
    (!tokens.is_empty()).then(|| all_of(column, &tokens))
}
