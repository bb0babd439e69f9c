//! Every three characters of a text in lower case, each at its place: whatever contains a text has its trigrams one
//! after the other.

use tantivy::tokenizer::Token;

use super::stream::Scanner;

/// A character without a difference of case, and as it was written. One that has several small letters
/// is each of them.
pub type Letter = (char, char);

/// The letters of a text. The two small sigmas are one: which of them a capital becomes depends on the word, and
/// on who asks.
pub fn letters(text: &str) -> impl Iterator<Item = Letter> + '_ {
    text.chars().flat_map(|written| {
        written.to_lowercase().map(move |c| (if c == 'ς' { 'σ' } else { c }, written))
    })
}

/// The trigrams that every text has that contains this one, each once; none if it is shorter.
pub fn trigrams(text: &str) -> Vec<String> {
    let letters: Vec<Letter> = letters(text).collect();
    let mut found: Vec<String> = letters.windows(3).map(folded).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Letters without a difference of case.
pub fn folded(letters: &[Letter]) -> String {
    letters.iter().map(|letter| letter.0).collect()
}

/// The term of three letters as they are written; none if that is how all letters are folded.
pub fn written(three: &[Letter]) -> Option<String> {
    let differs = three.iter().any(|(folded, written)| folded != written);
    differs.then(|| folded(three) + &three.iter().map(|letter| letter.1).collect::<String>())
}

/// Gives every trigram, and after one that is written otherwise how it is: six letters at the same place.
#[derive(Clone, Default)]
pub struct Trigrams {
    letters: Vec<Letter>,
    at: usize,
    written: Option<String>,
}

impl Scanner for Trigrams {
    fn start(&mut self, text: &str) {
        self.letters.clear();
        self.letters.extend(letters(text));
        self.at = 0;
        self.written = None;
    }

    #[inline]
    fn next(&mut self, _: &str, token: &mut Token) -> bool {
        if let Some(written) = self.written.take() {
            token.text = written;
            return true;
        }
        let Some(three) = self.letters.get(self.at..self.at + 3) else { return false };
        token.text.clear();
        token.text.extend(three.iter().map(|letter| letter.0));
        token.position = self.at;
        self.written = written(three);
        self.at += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tokenizer::{TRIGRAMS, tokens};

    #[test]
    fn case_makes_no_difference() {
        assert_eq!(tokens(TRIGRAMS, "ab"), [""; 0]);
        assert_eq!(trigrams("ΟΔΟΣ"), trigrams("οδος"));
    }

    #[test]
    fn what_is_written_otherwise_has_a_term_of_its_own() {
        assert_eq!(tokens(TRIGRAMS, "abcD"), ["abc", "bcd", "bcdbcD"]);
        assert_eq!(tokens(TRIGRAMS, "xİ"), ["xi\u{307}", "xi\u{307}xİİ"]);
    }

    proptest! {
        #[test]
        fn a_text_has_the_trigrams_of_its_parts(before in "\\PC{0,5}", part in "\\PC{0,9}", after in "\\PC{0,5}") {
            let whole = tokens(TRIGRAMS, &format!("{before}{part}{after}"));
            prop_assert!(trigrams(&part).iter().all(|three| whole.contains(three)));
        }
    }
}
