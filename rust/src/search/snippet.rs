//! The part of a text that matches best, with the matching words marked.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use tantivy::tokenizer::TextAnalyzer;

use super::options::SnippetOptions;
use crate::error::{EngineError, Result};
use crate::open::{Column, Split};
use crate::query::{Near, Node, tokenize, wildcard_regex};
use crate::store::lock;
use crate::tokenizer;

/// Bytes of a matching word, and its token.
type Mark = (Range<usize>, String);

/// Marks the words of one column that match a query.
pub struct Highlighter {
    analyzer: Mutex<TextAnalyzer>,
    wanted: Wanted,
    max_chars: usize,
    fragments: usize,
    separator: String,
    pre: String,
    post: String,
}

/// The tokens of a query.
#[derive(Default)]
struct Wanted {
    tokens: HashSet<String>,
    prefixes: Vec<String>,
    patterns: Vec<regex::Regex>,
    fuzzy: Vec<Near>,
}

impl Wanted {
    fn holds(&self, token: &str) -> bool {
        self.tokens.contains(token)
            || self.prefixes.iter().any(|prefix| token.starts_with(prefix.as_str()))
            || self.patterns.iter().any(|pattern| pattern.is_match(token))
            || self.fuzzy.iter().any(|near| near.holds(token.as_bytes()))
    }
}

impl Highlighter {
    pub fn new(
        split: &Arc<Split>,
        node: &Node,
        field: &str,
        options: &SnippetOptions,
    ) -> Result<Highlighter> {
        let column = split.layout.get(field);
        let name = column.and_then(|c| c.tokenizer.as_deref()).unwrap_or("raw");
        let mut wanted = Wanted::default();
        if let Some(column) = column {
            collect(split, column, node, &mut wanted)?;
        }
        Ok(Highlighter {
            analyzer: Mutex::new(tokenizer::analyzer(name)?),
            wanted,
            max_chars: options.max_chars.max(1),
            fragments: options.fragments.max(1),
            separator: options.separator.clone(),
            pre: options.pre.clone(),
            post: options.post.clone(),
        })
    }

    /// The parts of the text with the most different matching words, and whether any matches.
    pub fn snippet(&self, text: &str) -> (String, bool) {
        let marks = self.marks(text);
        let shown = self.windows(text, &marks).into_iter();
        let shown: Vec<String> = shown.map(|window| self.marked(text, window, &marks)).collect();
        (shown.join(&self.separator), !marks.is_empty())
    }

    fn marked(&self, text: &str, window: Range<usize>, marks: &[Mark]) -> String {
        let mut out = String::with_capacity(window.len() + 16);
        let mut at = window.start;
        for (mark, _) in marks {
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

    /// The best windows, in the order of the text; adjacent windows are merged.
    fn windows(&self, text: &str, marks: &[Mark]) -> Vec<Range<usize>> {
        let mut found = vec![self.window(text, marks)];
        while found.len() < self.fragments {
            let shown = |mark: &Range<usize>| {
                found.iter().any(|w| w.start <= mark.start && mark.end <= w.end)
            };
            let left: Vec<Mark> = marks.iter().filter(|(m, _)| !shown(m)).cloned().collect();
            if left.is_empty() {
                break;
            }
            let next = self.window(text, &left);
            if found.contains(&next) {
                break;
            }
            found.push(next);
        }
        found.sort_unstable_by_key(|window| window.start);
        let mut apart: Vec<Range<usize>> = Vec::new();
        for window in found {
            match apart.last_mut() {
                Some(last) if window.start <= last.end => last.end = last.end.max(window.end),
                _ => apart.push(window),
            }
        }
        apart
    }

    /// Bytes of the matching words, in order.
    fn marks(&self, text: &str) -> Vec<Mark> {
        let mut analyzer = lock(&self.analyzer);
        let mut stream = analyzer.token_stream(text);
        let mut marks: Vec<Mark> = Vec::new();
        while let Some(token) = stream.next() {
            let range = token.offset_from..token.offset_to;
            let apart = marks.last().is_none_or(|(last, _)| last.end <= range.start);
            if apart && text.get(range.clone()).is_some() && self.wanted.holds(&token.text) {
                marks.push((range, token.text.clone()));
            }
        }
        marks
    }

    fn window(&self, text: &str, marks: &[Mark]) -> Range<usize> {
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

    /// The end of `max_chars` characters from `start` on, not inside a word.
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

    /// Fills the remaining space of a window with the words before it.
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
    Ok(tokenize(column, text)?.into_iter().map(|(_, token)| token).collect())
}

/// Finds the tokens that the query searches in the column; negated parts have none.
fn collect(split: &Arc<Split>, column: &Column, node: &Node, wanted: &mut Wanted) -> Result<()> {
    let here = |field: &str| field == column.name;
    match node {
        Node::And { args } | Node::Or { args } | Node::AtLeast { args, .. } => {
            args.iter().try_for_each(|arg| collect(split, column, arg, wanted))?;
        }
        Node::Boost { arg, .. } | Node::Constant { arg, .. } => {
            collect(split, column, arg, wanted)?
        }
        Node::Search { query, fields, mode } => {
            collect(split, column, &query.lower(split.fields(), fields, *mode)?, wanted)?;
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
        Node::Fuzzy { field, text, distance, prefix } if here(field) => {
            for token in tokens_of(column, text)? {
                wanted.fuzzy.push(Near::new(&token, *distance, *prefix)?);
            }
        }
        _ => {}
    }
    Ok(())
}

fn compiled(pattern: &str) -> Result<regex::Regex> {
    regex::Regex::new(pattern).map_err(EngineError::bad_query)
}
