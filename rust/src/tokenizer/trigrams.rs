//! The trigrams of a text in lower case, with their positions: a text that contains another one has its trigrams at
//! the same distances.

use tantivy::tokenizer::Token;

use super::stream::Scanner;

/// A folded character and the original one. A character that folds to several is repeated for each.
pub type Letter = (char, char);

/// The letters of a text. The two lower-case sigmas are treated as one: which of them a capital becomes depends on
/// the word and on the implementation.
pub fn letters(text: &str) -> impl Iterator<Item = Letter> + '_ {
    text.chars().flat_map(|written| {
        written.to_lowercase().map(move |c| (if c == 'ς' { 'σ' } else { c }, written))
    })
}

/// The distinct trigrams of a text; none if it is shorter.
pub fn trigrams(text: &str) -> Vec<String> {
    let letters: Vec<Letter> = letters(text).collect();
    let mut found: Vec<String> = letters.windows(3).map(folded).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The folded letters.
pub fn folded(letters: &[Letter]) -> String {
    letters.iter().map(|letter| letter.0).collect()
}

/// The second term of three letters; None if folding does not change them.
pub fn written(three: &[Letter]) -> Option<String> {
    let differs = three.iter().any(|(folded, written)| folded != written);
    differs.then(|| folded(three) + &three.iter().map(|letter| letter.1).collect::<String>())
}

/// Produces every trigram, followed by its second term at the same position if it has one.
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
