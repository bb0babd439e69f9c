//! Words of logs: identifiers, paths, addresses and URLs, whole and in their parts.
//!
//! `dfs.DataNode$PacketResponder` gives the whole, the words `dfs`, `DataNode`, `PacketResponder`, and the parts
//! of those in camel case. A whole has the position of its first part, and its position length is the number of
//! its parts, so that phrases of parts match; a query searches for the parts (`is_whole`).

use std::ops::Range;

use tantivy::tokenizer::Token;

use super::source_code::{hex_length, word_length};
use super::stream::{Scanner, set};

/// Characters that may be inside an identifier, a path, an address or a URL.
const JOINTS: &str = "._-/\\@:$#%+~";

/// Whether a token is made of parts that are tokens themselves.
pub fn is_whole(token: &Token) -> bool {
    token.position_length > 1
}

#[derive(Clone, Default)]
pub struct Identifiers {
    at: usize,
    /// Tokens of the current run in reverse order: bytes, position, number of parts.
    ahead: Vec<(Range<usize>, usize, usize)>,
    position: usize,
}

impl Identifiers {
    /// The next run of letters and digits with joints between them.
    fn next_run(&mut self, text: &str) -> Option<Range<usize>> {
        let start = self.at + text[self.at..].find(char::is_alphanumeric)?;
        let ends = |c: char| !(c.is_alphanumeric() || JOINTS.contains(c));
        let end = text[start..].find(ends).map_or(text.len(), |length| start + length);
        self.at = end;
        let run = text[start..end].trim_end_matches(|c: char| !c.is_alphanumeric());
        Some(start..start + run.len())
    }

    /// Finds the tokens of a run: the whole, its words, and the parts of those.
    fn take(&mut self, text: &str, run: Range<usize>) {
        let first = self.position;
        let mut inside = Vec::new();
        let mut at = run.start;
        while let Some(skip) = text[at..run.end].find(char::is_alphanumeric) {
            at += skip;
            let length = text[at..run.end].find(|c: char| !c.is_alphanumeric());
            let end = length.map_or(run.end, |length| at + length);
            self.take_word(&text[at..end], at, &mut inside);
            at = end;
        }
        let parts = self.position - first;
        let one_word = inside.first().is_some_and(|(range, ..)| *range == run);
        if parts > 1 && !one_word {
            self.ahead.push((run, first, parts));
        }
        self.ahead.append(&mut inside);
        self.ahead.reverse();
    }

    fn take_word(
        &mut self,
        text: &str,
        start: usize,
        found: &mut Vec<(Range<usize>, usize, usize)>,
    ) {
        let first = self.position;
        let place = found.len();
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let length =
                if hex_length(text) == text.len() { rest.len() } else { part_length(rest) };
            found.push((start + at..start + at + length, self.position, 1));
            self.position += 1;
            at += length;
        }
        let parts = self.position - first;
        if parts > 1 {
            found.insert(place, (start..start + text.len(), first, parts));
        }
    }
}

/// The length of the part that a word begins with: camel case divides, digits belong to the letters before them.
fn part_length(word: &str) -> usize {
    let letters = word_length(word);
    let digits = word[letters..].find(|c: char| !c.is_numeric());
    letters + digits.unwrap_or(word.len() - letters)
}

impl Scanner for Identifiers {
    fn start(&mut self, _: &str) {
        self.at = 0;
        self.position = 0;
        self.ahead.clear();
    }

    fn next(&mut self, text: &str, token: &mut Token) -> bool {
        while self.ahead.is_empty() {
            let Some(run) = self.next_run(text) else { return false };
            self.take(text, run);
        }
        let Some((range, position, parts)) = self.ahead.pop() else { return false };
        set(token, text, range);
        token.position = position;
        token.position_length = parts;
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::tokenizer::{build, tokens};

    #[test]
    fn wholes_and_parts_are_tokens() {
        let cut = |text| tokens("identifiers", text);
        assert_eq!(
            cut("dfs.DataNode$PacketResponder:"),
            [
                "dfs.datanode$packetresponder",
                "dfs",
                "datanode",
                "data",
                "node",
                "packetresponder",
                "packet",
                "responder"
            ]
        );
        assert_eq!(
            cut("mail user@example.com!"),
            ["mail", "user@example.com", "user", "example", "com"]
        );
        assert_eq!(cut("/var/log/app2.log"), ["var/log/app2.log", "var", "log", "app2", "log"]);
        assert_eq!(
            cut("0x7fFF deadBeef01 HTTPHeader"),
            ["0x7fff", "deadbeef01", "httpheader", "http", "header"]
        );
        assert_eq!(cut("a=b; (c)"), ["a", "b", "c"]);
    }

    proptest! {
        #[test]
        fn parts_follow_each_other(text in "([a-zA-Z0-9 ._/@:=-]{0,9}|\\PC){0,8}") {
            let mut analyzer = build("identifiers").expect("known");
            let mut stream = analyzer.token_stream(&text);
            let mut next = 0;
            while stream.advance() {
                let token = stream.token();
                prop_assert!(text.get(token.offset_from..token.offset_to).is_some());
                prop_assert!(token.position <= next && token.position_length >= 1);
                if !super::is_whole(token) {
                    prop_assert_eq!(token.position, next);
                    next += 1;
                }
            }
        }
    }
}
