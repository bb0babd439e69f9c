//! The hash of a whole value as its only token: values of any length take the same few bytes in the dictionary.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tantivy::tokenizer::Token;
use twox_hash::XxHash3_128;

use super::stream::Scanner;

/// Bytes of the 16-byte hash that are kept: no collision is expected among a billion values.
const KEPT: usize = 12;

#[derive(Clone, Default)]
pub struct Hash {
    given: bool,
}

impl Scanner for Hash {
    fn start(&mut self, _: &str) {
        self.given = false;
    }

    fn next(&mut self, text: &str, token: &mut Token) -> bool {
        if std::mem::replace(&mut self.given, true) {
            return false;
        }
        let hash = XxHash3_128::oneshot(text.as_bytes()).to_be_bytes();
        token.text.clear();
        URL_SAFE_NO_PAD.encode_string(&hash[..KEPT], &mut token.text);
        token.position = 0;
        token.offset_from = 0;
        token.offset_to = text.len();
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::tokenizer::tokens;

    #[test]
    fn every_value_is_one_token_that_never_changes() {
        // persisted in splits: another hash would find nothing in them
        assert_eq!(tokens("hash", ""), ["maoG0wFHmNhgAcMk"]);
        let long = "x".repeat(100_000);
        let all = ["", "a", "A", "a ", "a b", "é", &long].map(|text| tokens("hash", text));
        for (at, one) in all.iter().enumerate() {
            assert_eq!((one.len(), one[0].len()), (1, 16));
            assert!(!all[..at].contains(one));
        }
    }
}
