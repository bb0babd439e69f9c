//! Every three characters of a text, in lower case: whatever contains a text has all trigrams of it.

use tantivy::tokenizer::Token;

use super::stream::Scanner;

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
pub struct Trigrams {
    chars: Vec<char>,
    at: usize,
}

impl Scanner for Trigrams {
    fn start(&mut self, text: &str) {
        self.chars.clear();
        self.chars.extend(folded(text));
        self.at = 0;
    }

    #[inline]
    fn next(&mut self, _: &str, token: &mut Token) -> bool {
        let Some(three) = self.chars.get(self.at..self.at + 3) else { return false };
        token.text.clear();
        token.text.extend(three);
        // phrases of trigrams are not searched, so all have one position
        token.position = 0;
        self.at += 1;
        true
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
