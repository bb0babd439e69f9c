//! The part of a text that matches best, with the matching words marked.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use tantivy::tokenizer::TextAnalyzer;

use super::options::SnippetOptions;
use crate::error::{EngineError, Result};
use crate::open::{Column, Split};
use crate::query::{Fields, Node, wildcard_regex};
use crate::store::lock;
use crate::tokenizer;

/// Marks the words of a query in one column.
pub struct Highlighter {
    analyzer: Mutex<TextAnalyzer>,
    wanted: Wanted,
    max_chars: usize,
    pre: String,
    post: String,
}

/// Tokens a query asks for.
#[derive(Default)]
struct Wanted {
    tokens: HashSet<String>,
    prefixes: Vec<String>,
    patterns: Vec<regex::Regex>,
    fuzzy: Vec<(String, u8)>,
}

impl Wanted {
    fn holds(&self, token: &str) -> bool {
        self.tokens.contains(token)
            || self.prefixes.iter().any(|prefix| token.starts_with(prefix.as_str()))
            || self.patterns.iter().any(|pattern| pattern.is_match(token))
            || self.fuzzy.iter().any(|(word, distance)| edits(word, token) <= *distance as usize)
    }
}

impl Highlighter {
    pub fn new(split: &Arc<Split>, node: &Node, options: &SnippetOptions) -> Result<Highlighter> {
        let column = split.layout.get(&options.field);
        let name = column.and_then(|c| c.tokenizer.as_deref()).unwrap_or("raw");
        let mut wanted = Wanted::default();
        if let Some(column) = column {
            collect(split, column, node, &mut wanted)?;
        }
        Ok(Highlighter {
            analyzer: Mutex::new(tokenizer::analyzer(name)?),
            wanted,
            max_chars: options.max_chars.max(1),
            pre: options.pre.clone(),
            post: options.post.clone(),
        })
    }

    /// The window of the text with the most different matching words.
    pub fn snippet(&self, text: &str) -> String {
        let marks = self.marks(text);
        let window = self.window(text, &marks);
        let mut out = String::with_capacity(window.len() + 16);
        let mut at = window.start;
        for (mark, _) in &marks {
            if mark.start < at || mark.end > window.end {
                continue;
            }
            out.push_str(&text[at..mark.start]);
            out.push_str(&self.pre);
            out.push_str(&text[mark.clone()]);
            out.push_str(&self.post);
            at = mark.end;
        }
        out.push_str(&text[at..window.end]);
        out
    }

    /// Bytes of the matching words, in order.
    fn marks(&self, text: &str) -> Vec<(Range<usize>, String)> {
        let mut analyzer = lock(&self.analyzer);
        let mut stream = analyzer.token_stream(text);
        let mut marks: Vec<(Range<usize>, String)> = Vec::new();
        while let Some(token) = stream.next() {
            let range = token.offset_from..token.offset_to;
            let apart = marks.last().is_none_or(|(last, _)| last.end <= range.start);
            if apart && text.get(range.clone()).is_some() && self.wanted.holds(&token.text) {
                marks.push((range, token.text.clone()));
            }
        }
        marks
    }

    fn window(&self, text: &str, marks: &[(Range<usize>, String)]) -> Range<usize> {
        let mut best = (0, 0..self.end_of(text, 0));
        for (first, (mark, _)) in marks.iter().enumerate() {
            let end = self.end_of(text, mark.start);
            let inside = marks[first..].iter().take_while(|(mark, _)| mark.end <= end);
            let words: HashSet<&str> = inside.map(|(_, word)| word.as_str()).collect();
            if words.len() > best.0 {
                best = (words.len(), mark.start..end);
            }
        }
        self.widened(text, best.1)
    }

    /// Where `max_chars` characters from `start` on end, before a word that is cut.
    fn end_of(&self, text: &str, start: usize) -> usize {
        let mut ends = text[start..].char_indices().skip(self.max_chars);
        let Some((cut, _)) = ends.next() else {
            return text.len();
        };
        let whole = text[start..start + cut].rfind(char::is_whitespace);
        match whole {
            Some(space) if space > 0 => start + space,
            _ => start + cut,
        }
    }

    /// Space left after the window's words is filled with the words before them.
    fn widened(&self, text: &str, window: Range<usize>) -> Range<usize> {
        let used = text[window.clone()].chars().count();
        let spare = self.max_chars.saturating_sub(used);
        let before = text[..window.start].char_indices().rev().take(spare).last();
        let Some((mut start, _)) = before else {
            return window;
        };
        if start > 0 && !text[..start].ends_with(char::is_whitespace) {
            let word = text[start..window.start].find(char::is_whitespace);
            start = word.map_or(window.start, |space| start + space);
        }
        let skipped =
            text[start..window.start].len() - text[start..window.start].trim_start().len();
        start + skipped..window.end
    }
}

fn tokens_of(column: &Column, text: &str) -> Result<Vec<String>> {
    let name = column.tokenizer.as_deref().unwrap_or("raw");
    let mut analyzer = tokenizer::analyzer(name)?;
    let mut stream = analyzer.token_stream(text);
    let mut tokens = Vec::new();
    while let Some(token) = stream.next() {
        tokens.push(token.text.clone());
    }
    Ok(tokens)
}

/// Finds the tokens the query asks of the column; what is negated asks for nothing.
fn collect(split: &Arc<Split>, column: &Column, node: &Node, wanted: &mut Wanted) -> Result<()> {
    let here = |field: &str| field == column.name;
    match node {
        Node::And { args } | Node::Or { args } => {
            args.iter().try_for_each(|arg| collect(split, column, arg, wanted))?;
        }
        Node::Boost { arg, .. } => collect(split, column, arg, wanted)?,
        Node::Search { query, fields, mode } => {
            let known = Fields::of_layout(&split.layout);
            collect(split, column, &query.lower(&known, fields, *mode)?, wanted)?;
        }
        Node::TokenTerm { field, text } | Node::Phrase { field, text, .. } if here(field) => {
            wanted.tokens.extend(tokens_of(column, text)?);
        }
        Node::Term { field, value } if here(field) => {
            wanted.tokens.extend(tokens_of(column, value.as_str().unwrap_or_default())?);
        }
        Node::PhrasePrefix { field, text } if here(field) => {
            let mut tokens = tokens_of(column, text)?;
            wanted.prefixes.extend(tokens.pop());
            wanted.tokens.extend(tokens);
        }
        Node::TokenWildcard { field, pattern } if here(field) => {
            wanted.patterns.push(compiled(&format!("(?i){}", wildcard_regex(pattern)))?);
        }
        Node::TokenRegex { field, pattern } if here(field) => {
            wanted.patterns.push(compiled(&format!("\\A(?:{pattern})\\z"))?);
        }
        Node::Fuzzy { field, text, distance } if here(field) => {
            let tokens = tokens_of(column, text)?;
            wanted.fuzzy.extend(tokens.into_iter().map(|token| (token, *distance)));
        }
        _ => {}
    }
    Ok(())
}

fn compiled(pattern: &str) -> Result<regex::Regex> {
    regex::Regex::new(pattern).map_err(EngineError::bad_query)
}

/// Edits between two words, a swap of neighbours being one; words of very different length are far.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > 2 {
        return usize::MAX;
    }
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut cost = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                cost = cost.min(rows[i - 2][j - 2] + 1);
            }
            row.push(cost);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
