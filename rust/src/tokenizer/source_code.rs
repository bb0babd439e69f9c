//! Identifiers cut into their words: `parseHTTPHeader_v2` gives parse, HTTP, Header, v, 2.

use tantivy::tokenizer::Token;

use super::stream::{Scanner, set_next};

#[derive(Clone)]
pub struct SourceCode {
    at: usize,
    keep_hex: bool,
}

impl SourceCode {
    /// With `keep_hex`, hexadecimal numbers such as `0x7fff` or `deadbeef01` stay whole.
    pub fn new(keep_hex: bool) -> Self {
        Self { at: 0, keep_hex }
    }
}

#[derive(PartialEq, Clone, Copy)]
enum Kind {
    Lower,
    Upper,
    Digit,
    Other,
}

fn kind(c: char) -> Kind {
    if c.is_uppercase() {
        Kind::Upper
    } else if c.is_alphabetic() {
        Kind::Lower
    } else if c.is_numeric() {
        Kind::Digit
    } else {
        Kind::Other
    }
}

/// Fewer digits are more likely a word or a decimal number than a hash or an address.
const SHORTEST_HEX: usize = 4;

/// The length of the hexadecimal number this text begins with, 0 if it begins with none.
pub(super) fn hex_length(text: &str) -> usize {
    let body = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let prefix = text.len() - body.len();
    let digits = body.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(body.len());
    let ends = body[digits..].chars().next().is_none_or(|c| !c.is_alphanumeric());
    let number = &body[..digits];
    let telling = prefix > 0
        || (number.contains(|c: char| c.is_ascii_digit())
            && number.contains(|c: char| c.is_ascii_alphabetic())
            && digits >= SHORTEST_HEX);
    if ends && telling && digits > 0 { prefix + digits } else { 0 }
}

/// The length of the word this text begins with.
pub(super) fn word_length(text: &str) -> usize {
    let mut chars = text.char_indices().map(|(at, c)| (at, kind(c))).peekable();
    let Some((_, first)) = chars.next() else { return 0 };
    let mut run = first;
    while let Some((at, next)) = chars.next() {
        if next == run {
            // the last capital before a small letter begins the next word: HTTPHeader
            let small_follows = matches!(chars.peek(), Some((_, Kind::Lower)));
            if run == Kind::Upper && small_follows {
                return at;
            }
        } else if run == Kind::Upper && next == Kind::Lower && first == Kind::Upper {
            run = Kind::Lower;
        } else {
            return at;
        }
    }
    text.len()
}

impl Scanner for SourceCode {
    fn start(&mut self, _: &str) {
        self.at = 0;
    }

    fn next(&mut self, text: &str, token: &mut Token) -> bool {
        let rest = &text[self.at..];
        let Some(skip) = rest.find(|c: char| kind(c) != Kind::Other) else { return false };
        let start = self.at + skip;
        let before = text[..start].chars().next_back();
        let fresh = before.is_none_or(|c| kind(c) == Kind::Other);
        let rest = &text[start..];
        let hex = if self.keep_hex && fresh { hex_length(rest) } else { 0 };
        let length = if hex > 0 { hex } else { word_length(rest) };
        self.at = start + length;
        set_next(token, text, start..self.at);
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::tokenizer::tokens;

    #[test]
    fn identifiers_are_cut_into_words() {
        let cut = |text| tokens("source_code_default", text);
        assert_eq!(cut("parseHTTPHeader_v2"), ["parse", "http", "header", "v", "2"]);
        assert_eq!(cut("snake_case(x1)"), ["snake", "case", "x", "1"]);
        assert_eq!(cut("Réseau.IOError"), ["reseau", "io", "error"]);
    }

    #[test]
    fn hexadecimal_numbers_stay_whole_when_asked() {
        let cut = |text| tokens("source_code_with_hex", text);
        assert_eq!(cut("at 0x7fFF: deadBeef01 face"), ["at", "0x7fff", "deadbeef01", "face"]);
        assert_eq!(tokens("source_code_default", "0x7f"), ["0", "x", "7", "f"]);
        assert_eq!(cut("1a2bXYZ"), ["1", "a", "2", "b", "xyz"]);
    }

    proptest! {
        #[test]
        fn any_text_ends_and_keeps_its_letters(text in "\\PC{0,40}", hex: bool) {
            let name = if hex { "source_code_with_hex" } else { "source_code_default" };
            let mut analyzer = crate::tokenizer::build(name).expect("known");
            let mut stream = analyzer.token_stream(&text);
            let mut at = 0;
            while stream.advance() {
                let token = stream.token();
                prop_assert!(token.offset_from >= at && token.offset_to > token.offset_from);
                at = token.offset_to;
            }
        }
    }
}
