//! Words around the matches of a pattern, such as identifiers in log lines: the matches are left out, or
//! each of them is one token.

use std::ops::Range;

use regex::Regex;
use tantivy::tokenizer::Token;

use super::stream::{Scanner, set_next};

/// The name of the built-in pattern; others are written as the hexadecimal digits of their text, so that a
/// name stays one word.
const UUID: &str = "uuid";
const UUID_PATTERN: &str = r"(?i)\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b";

#[derive(Clone)]
pub struct Pattern {
    pattern: Regex,
    /// Whether a match is a token.
    whole: bool,
    /// Behind the last token.
    at: usize,
    /// The next match, not before `at`.
    found: Option<Range<usize>>,
}

impl Pattern {
    /// The scanner of a name such as `strip(uuid)` or `whole(<digits>)`, if it is one.
    pub fn parse(name: &str) -> Option<Self> {
        let whole = name.starts_with("whole(");
        let inner = name.strip_prefix("whole(").or_else(|| name.strip_prefix("strip("))?;
        let pattern = match inner.strip_suffix(')')? {
            UUID => Regex::new(UUID_PATTERN).ok()?,
            digits => Regex::new(&from_hex(digits)?).ok()?,
        };
        Some(Self { pattern, whole, at: 0, found: None })
    }

    /// The first match from a byte on; an empty match is not an identifier.
    fn find(&self, text: &str, mut from: usize) -> Option<Range<usize>> {
        loop {
            let found = self.pattern.find_at(text, from)?.range();
            if !found.is_empty() {
                return Some(found);
            }
            from = found.end + text[found.end..].chars().next()?.len_utf8();
        }
    }

    /// The next word before the next match.
    fn word(&self, text: &str) -> Option<Range<usize>> {
        let end = self.found.as_ref().map_or(text.len(), |found| found.start);
        let part = &text[self.at..end];
        let start = part.find(char::is_alphanumeric)?;
        let length = part[start..].find(|c: char| !c.is_alphanumeric());
        Some(self.at + start..length.map_or(end, |length| self.at + start + length))
    }
}

impl Scanner for Pattern {
    fn start(&mut self, text: &str) {
        self.at = 0;
        self.found = self.find(text, 0);
    }

    fn next(&mut self, text: &str, token: &mut Token) -> bool {
        loop {
            if let Some(word) = self.word(text) {
                self.at = word.end;
                set_next(token, text, word);
                return true;
            }
            let Some(found) = self.found.take() else {
                return false;
            };
            self.at = found.end;
            self.found = self.find(text, found.end);
            if self.whole {
                set_next(token, text, found);
                return true;
            }
        }
    }
}

fn from_hex(digits: &str) -> Option<String> {
    if digits.is_empty() || !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return None;
    }
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
    let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
    String::from_utf8(bytes?).ok()
}

#[cfg(test)]
mod tests {
    use crate::tokenizer::{analyzer, tokens};

    const LINE: &str = "Request 550E8400-e29b-41d4-a716-446655440000 failed";

    #[test]
    fn matches_are_left_out_or_one_token() {
        assert_eq!(tokens("strip(uuid)", LINE), ["request", "failed"]);
        let whole = ["request", "550e8400-e29b-41d4-a716-446655440000", "failed"];
        assert_eq!(tokens("whole(uuid)", LINE), whole);
        assert_eq!(tokens("whole(uuid)", "no id 550e8400-e29b"), ["no", "id", "550e8400", "e29b"]);
    }

    #[test]
    fn a_pattern_of_ones_own() {
        // [A-Z]+-\d+
        let name = "whole(5b412d5a5d2b2d5c642b)";
        assert_eq!(tokens(name, "see ABC-12, and abc-12"), ["see", "abc-12", "and", "abc", "12"]);
        assert_eq!(tokens("strip(5b412d5a5d2b2d5c642b)", "see ABC-12 é"), ["see", "é"]);
    }

    #[test]
    fn empty_matches_are_not_tokens() {
        // x*
        assert_eq!(tokens("whole(782a)", "aé xx b"), ["aé", "xx", "b"]);
        assert_eq!(tokens("strip(782a)", ""), [""; 0]);
    }

    #[test]
    fn positions_and_places_count_on() {
        let mut analyzer = analyzer("whole(uuid)").expect("a tokenizer");
        let mut stream = analyzer.token_stream(LINE);
        let mut found = Vec::new();
        while let Some(token) = stream.next() {
            found.push((token.position, token.offset_from, token.offset_to));
        }
        assert_eq!(found, [(0, 0, 7), (1, 8, 44), (2, 45, 51)]);
    }

    #[test]
    fn bad_patterns_are_rejected() {
        for bad in ["strip()", "strip(5)", "strip(zz)", "whole(28)", "whole(uuid"] {
            assert!(analyzer(bad).is_err(), "{bad}");
        }
    }
}
