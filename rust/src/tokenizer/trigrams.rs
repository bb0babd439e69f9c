//! Every three characters of a text, in lower case: whatever contains a text has all trigrams of it.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// The characters of a text without a difference of case. The two small sigmas are one: which of them a capital
/// becomes depends on the word, and on who asks.
pub fn folded(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().flat_map(char::to_lowercase).map(|c| if c == 'ς' { 'σ' } else { c })
}

/// The trigrams that every text has that contains this one, each once; none if it is shorter.
pub fn trigrams(text: &str) -> Vec<String> {
    let chars: Vec<char> = folded(text).collect();
    let mut found: Vec<String> = chars.windows(3).map(|three| three.iter().collect()).collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[derive(Clone, Default)]
pub struct TrigramTokenizer {
    chars: Vec<char>,
    token: Token,
}

pub struct TrigramStream<'a> {
    chars: &'a [char],
    at: usize,
    token: &'a mut Token,
}

impl Tokenizer for TrigramTokenizer {
    type TokenStream<'a> = TrigramStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> TrigramStream<'a> {
        self.token.reset();
        self.token.position = 0;
        self.chars.clear();
        self.chars.extend(folded(text));
        TrigramStream { chars: &self.chars, at: 0, token: &mut self.token }
    }
}

impl TokenStream for TrigramStream<'_> {
    #[inline]
    fn advance(&mut self) -> bool {
        let Some(three) = self.chars.get(self.at..self.at + 3) else { return false };
        self.token.text.clear();
        self.token.text.extend(three);
        self.at += 1;
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tokenizer::tokens;

    #[test]
    fn case_makes_no_difference() {
        assert_eq!(tokens("trigrams", "AbcD"), ["abc", "bcd"]);
        assert_eq!(tokens("trigrams", "ab"), [""; 0]);
        assert_eq!(trigrams("ΟΔΟΣ"), trigrams("οδος"));
    }

    proptest! {
        #[test]
        fn a_text_has_the_trigrams_of_its_parts(before in "\\PC{0,5}", part in "\\PC{0,9}", after in "\\PC{0,5}") {
            let whole = tokens("trigrams", &format!("{before}{part}{after}"));
            prop_assert!(trigrams(&part).iter().all(|three| whole.contains(three)));
        }
    }
}
