//! What every text that passes a pattern contains, whatever its case: needles to look up trigrams of.

use regex_syntax::hir::{Class, Hir, HirKind};

use super::tree::Node;
use crate::tokenizer::trigrams;

/// More trigrams leave out few rows more, and each costs a lookup.
const MOST_TRIGRAMS: usize = 16;

/// The trigrams that every text has that passes a condition on whole values; none if it is not known of any.
pub fn trigrams_of(node: &Node) -> Vec<String> {
    let needles = match node {
        Node::Prefix { value, .. } | Node::Suffix { value, .. } | Node::Contains { value, .. } => {
            value.as_str().map(str::to_owned).into_iter().collect()
        }
        Node::Trigrams { text, .. } => vec![text.clone()],
        Node::Like { pattern, escape, .. } => like_needles(pattern, escape.chars().next()),
        Node::Regex { pattern, .. } => regex_needles(pattern),
        _ => Vec::new(),
    };
    let mut found: Vec<String> = needles.iter().flat_map(|needle| trigrams(needle)).collect();
    found.sort_unstable();
    found.dedup();
    found.truncate(MOST_TRIGRAMS);
    found
}

fn like_needles(pattern: &str, escape: Option<char>) -> Vec<String> {
    let mut runs = vec![String::new()];
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        let literal = match c {
            c if Some(c) == escape => chars.next(),
            '%' | '_' => None,
            c => Some(c),
        };
        match (literal, runs.last_mut()) {
            (Some(c), Some(run)) => run.push(c),
            _ => runs.push(String::new()),
        }
    }
    runs
}

fn regex_needles(pattern: &str) -> Vec<String> {
    let mut runs = vec![String::new()];
    if let Ok(hir) = regex_syntax::Parser::new().parse(pattern) {
        collect(&hir, &mut runs);
    }
    runs
}

/// Adds what a part of an expression always matches; a new run begins where it may match something else.
fn collect(hir: &Hir, runs: &mut Vec<String>) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
            Ok(text) => runs.last_mut().expect("never empty").push_str(text),
            Err(_) => runs.push(String::new()),
        },
        HirKind::Class(class) => match only_letter(class) {
            Some(letter) => runs.last_mut().expect("never empty").push(letter),
            None => runs.push(String::new()),
        },
        HirKind::Capture(capture) => collect(&capture.sub, runs),
        HirKind::Concat(parts) => parts.iter().for_each(|part| collect(part, runs)),
        HirKind::Repetition(repetition) if repetition.min > 0 => {
            runs.push(String::new());
            collect(&repetition.sub, runs);
            runs.push(String::new());
        }
        HirKind::Repetition(_) | HirKind::Alternation(_) => runs.push(String::new()),
    }
}

/// The letter that a class is in all its cases.
fn only_letter(class: &Class) -> Option<char> {
    let Class::Unicode(class) = class else { return None };
    let chars = class.iter().flat_map(|range| range.start()..=range.end());
    let mut lowered = chars.take(8).map(|c| {
        let mut lower = c.to_lowercase();
        lower.next().filter(|_| lower.next().is_none())
    });
    let first = lowered.next()??;
    let few = class.iter().map(|range| range.len()).sum::<usize>() < 8;
    (few && lowered.all(|letter| letter == Some(first))).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needles_are_what_always_matches() {
        let like = |pattern: &str| like_needles(pattern, Some('\\')).join("|");
        assert_eq!(like("%abc_d\\%e%"), "|abc|d%e|");
        let regex = |pattern: &str| {
            let runs = regex_needles(pattern).into_iter().filter(|run| !run.is_empty());
            runs.collect::<Vec<_>>().join("|")
        };
        assert_eq!(regex("^abc.*d+ef(gh)?$"), "abc|d|ef");
        assert_eq!(regex("(?i)Time(out)"), "timeout");
        assert_eq!(regex("abc|def"), "");
        assert_eq!(regex("(ab)+c"), "ab|c");
        assert_eq!(regex("a[bc]d"), "a|d");
        assert_eq!(regex("("), "");
    }
}
