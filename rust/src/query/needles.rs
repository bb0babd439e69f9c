//! Needles: strings that every match of a pattern contains.

use std::slice;

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind};

use super::tree::Node;
use crate::tokenizer::trigrams;

/// More trigrams exclude few more rows, and each costs a lookup.
const MOST_TRIGRAMS: usize = 16;

/// A string to search for.
#[derive(Debug, Clone, PartialEq)]
pub struct Needle {
    pub text: String,
    /// It is an ASCII string in lower case, which is searched in the lower case of values.
    pub any_case: bool,
}

/// The string that a value must contain, if that is the whole condition.
pub fn needle_of(node: &Node) -> Option<Needle> {
    match node {
        Node::Contains { value, .. } => {
            Some(Needle { text: value.as_str()?.to_owned(), any_case: false })
        }
        Node::Regex { pattern, .. } => {
            Some(Needle { text: any_case_text(pattern)?, any_case: true })
        }
        _ => None,
    }
}

/// The longest known string that every value matching a condition contains, if any.
pub fn longest_needle(node: &Node) -> Option<Needle> {
    let exact = |text: String| Some(Needle { text, any_case: false });
    let found = match node {
        Node::Prefix { value, .. } | Node::Suffix { value, .. } => {
            exact(value.as_str()?.to_owned())
        }
        Node::Like { pattern, escape, .. } => {
            let needles = like_needles(pattern, escape.chars().next());
            needles.into_iter().max_by_key(String::len).and_then(exact)
        }
        other => needle_of(other),
    };
    found.filter(|needle| !needle.text.is_empty())
}

/// The string of an expression that searches for it in any case, if it is one.
fn any_case_text(pattern: &str) -> Option<String> {
    let hir = regex_syntax::Parser::new().parse(pattern).ok()?;
    let parts = match hir.kind() {
        HirKind::Concat(parts) => parts.as_slice(),
        _ => slice::from_ref(&hir),
    };
    let mut text = String::new();
    for (at, part) in parts.iter().enumerate() {
        match part.kind() {
            HirKind::Literal(literal) => {
                let caseless = |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphabetic();
                let literal = std::str::from_utf8(&literal.0).ok()?;
                text.push_str(Some(literal).filter(|text| text.as_bytes().iter().all(caseless))?);
            }
            HirKind::Class(Class::Unicode(class)) => {
                text.push(any_case_letter(class, at + 1 == parts.len())?);
            }
            _ => return None,
        }
    }
    Some(text)
}

/// The lower-case letter whose class contains all characters that it is, or starts, the lower case of.
fn any_case_letter(class: &ClassUnicode, is_last: bool) -> Option<char> {
    let chars = class.iter().flat_map(|range| range.start()..=range.end());
    let chars: Vec<char> = chars.take(4).collect();
    let letter = *chars.iter().find(|c| c.is_ascii_lowercase())?;
    let mut all = vec![letter.to_ascii_uppercase(), letter];
    // beyond ASCII, the lower case of the Kelvin sign is k, and that of the I with a dot is i and a combining dot
    all.extend((letter == 'k').then_some('\u{212a}'));
    all.extend((letter == 'i' && is_last).then_some('İ'));
    (chars == all).then_some(letter)
}

/// The known trigrams of every value that matches a condition on whole values.
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

/// Adds what a part of an expression always matches; starts a new run where it may match something else.
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
    fn a_text_in_any_case_has_every_letter_of_each_case() {
        let text = |pattern: &str| any_case_text(pattern).unwrap_or_default();
        assert_eq!(text("[fF][rR] 7\\."), "fr 7.");
        assert_eq!(text("[kK\u{212a}][iI]-"), "ki-");
        assert_eq!(text("x[iIİ]"), "");
        assert_eq!(text("[xX][iIİ]"), "xi");
        for other in
            ["[fF]r", "[kK]", "[xX][iI]", "[iIİ][xX]", "\\A[fF]", "[fF]+", "[a-d]", "é", "("]
        {
            assert_eq!(any_case_text(other), None, "{other}");
        }
    }

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
