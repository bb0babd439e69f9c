//! Which words of text columns were written with capitals, and where: their terms are in lower case.
//!
//! `u32 number of columns`, then for each `u32 length · name · u32 number of words`, and for each word
//! `u32 CRC-32 of its term · u32 letters` in the order of the numbers (little-endian).

use std::collections::{BTreeMap, HashMap};

use crate::error::{EngineError, Result};
use crate::tokenizer::{lower_word, words_of};

pub const CAPITALS_FILE: &str = "_indextables_capitals";
/// With more words a column is not listed: the file would grow with the rows.
const MOST_WORDS: usize = 1 << 18;
/// The bit of the 32nd byte of a word and of all later ones.
const LAST: usize = 31;

/// The words of each column that is listed. A column is listed only if every word of its values is a term.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Capitals {
    pub columns: BTreeMap<String, CapitalWords>,
}

/// Words of a column by the checksum of their terms: one bit per byte that some row has as a capital.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CapitalWords(BTreeMap<u32, u32>);

impl CapitalWords {
    /// Whether some row may have other letters than the term at these bytes of it.
    pub fn may_differ(&self, term: &[u8], start: usize, end: usize) -> bool {
        let Some(letters) = self.0.get(&crc32fast::hash(term)) else { return false };
        (start.min(LAST)..=(end - 1).min(LAST)).any(|at| letters >> at & 1 == 1)
    }

    /// Keeps only the words of these terms, named by their checksums.
    pub fn retain(&mut self, terms: impl Iterator<Item = u32>) {
        self.0 = terms.filter_map(|sum| self.0.remove_entry(&sum)).collect();
    }

    /// The words of several splits; nothing if there are too many.
    pub fn union<'a>(parts: impl Iterator<Item = &'a CapitalWords>) -> Option<CapitalWords> {
        let mut all = BTreeMap::new();
        for (sum, letters) in parts.flat_map(|part| &part.0) {
            *all.entry(*sum).or_default() |= letters;
        }
        (all.len() <= MOST_WORDS).then_some(CapitalWords(all))
    }
}

impl Capitals {
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = (self.columns.len() as u32).to_le_bytes().to_vec();
        for (name, words) in &self.columns {
            out.extend_from_slice(&(name.len() as u32).to_le_bytes());
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(&(words.0.len() as u32).to_le_bytes());
            for (sum, letters) in &words.0 {
                out.extend_from_slice(&sum.to_le_bytes());
                out.extend_from_slice(&letters.to_le_bytes());
            }
        }
        out
    }

    pub fn parse(bytes: &[u8]) -> Result<Capitals> {
        let mut rest = bytes;
        let mut read = || -> Option<BTreeMap<String, CapitalWords>> {
            let mut columns = BTreeMap::new();
            for _ in 0..number(&mut rest)? {
                let length = number(&mut rest)? as usize;
                let name = std::str::from_utf8(rest.split_off(..length)?).ok()?;
                let count = number(&mut rest)? as usize;
                let words = rest.split_off(..count.checked_mul(8)?)?.chunks_exact(8);
                let words =
                    words.filter_map(|mut pair| Some((number(&mut pair)?, number(&mut pair)?)));
                columns.insert(name.to_owned(), CapitalWords(words.collect()));
            }
            Some(columns)
        };
        let columns = read();
        let damaged = || EngineError::corrupt("", format!("{CAPITALS_FILE} is cut"));
        columns.map(|columns| Capitals { columns }).ok_or_else(damaged)
    }
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    let (first, others) = rest.split_first_chunk::<4>()?;
    *rest = others;
    Some(u32::from_le_bytes(*first))
}

/// Collects the words of a column as it is written.
#[derive(Debug)]
pub struct CapitalNotes {
    /// Longer words are not terms.
    longest: usize,
    /// None when the column cannot be listed.
    words: Option<HashMap<u32, u32>>,
    term: String,
}

impl CapitalNotes {
    /// For a column whose terms are its words of up to so many bytes.
    pub fn new(longest: usize) -> CapitalNotes {
        CapitalNotes { longest, words: Some(HashMap::new()), term: String::new() }
    }

    /// Adds the words of a value.
    pub fn add(&mut self, text: &str) {
        let Some(words) = &mut self.words else { return };
        let is_plain = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase();
        if text.len() <= self.longest && text.bytes().all(is_plain) {
            return;
        }
        for word in words_of(text) {
            if word.len() > self.longest || words.len() > MOST_WORDS {
                self.words = None;
                return;
            }
            lower_word(word, &mut self.term);
            if word != self.term {
                let sum = crc32fast::hash(self.term.as_bytes());
                *words.entry(sum).or_default() |= capital_letters(word);
            }
        }
    }

    /// The words; nothing if the column cannot be listed.
    pub fn finish(self) -> Option<CapitalWords> {
        self.words.map(|words| CapitalWords(words.into_iter().collect()))
    }
}

/// One bit per byte that is a capital; all of them where the term has its letters at other bytes.
fn capital_letters(word: &str) -> u32 {
    if !word.is_ascii() {
        return u32::MAX;
    }
    let capitals = word.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_uppercase());
    capitals.fold(0, |letters, (at, _)| letters | 1 << at.min(LAST))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn noted(texts: &[&str]) -> Option<CapitalWords> {
        let mut notes = CapitalNotes::new(40);
        texts.iter().for_each(|text| notes.add(text));
        notes.finish()
    }

    #[test]
    fn letters_that_no_row_has_as_capitals_are_certain() {
        let words = noted(&["Timeout of timeout", "plain words", "Größe"]).expect("a list");
        assert!(words.may_differ(b"timeout", 0, 3));
        assert!(!words.may_differ(b"timeout", 1, 7));
        assert!(!words.may_differ(b"plain", 0, 5));
        assert!(words.may_differ("größe".as_bytes(), 2, 4));
    }

    #[test]
    fn letters_far_behind_share_a_bit() {
        let word = format!("{}X{}", "a".repeat(33), "b".repeat(4));
        let words = noted(&[&word]).expect("a list");
        let term = word.to_lowercase();
        assert!(!words.may_differ(term.as_bytes(), 0, 31));
        assert!(words.may_differ(term.as_bytes(), 35, 37));
    }

    #[test]
    fn a_word_that_is_no_term_leaves_the_column_out() {
        assert_eq!(noted(&["a", &"b".repeat(41)]), None);
        assert!(noted(&["b".repeat(40).as_str()]).is_some());
    }

    proptest! {
        #[test]
        fn columns_come_back(
            texts in proptest::collection::vec("[a-cA-C ]{0,12}", 0..9),
            damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..5),
            cut in 0usize..20,
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let words = noted(&texts).expect("short words");
            let columns = BTreeMap::from([("é".to_owned(), words), ("b".to_owned(), CapitalWords::default())]);
            let capitals = Capitals { columns };
            let mut bytes = capitals.to_bytes();
            let back = Capitals::parse(&bytes).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(&back, &capitals);
            for (at, value) in damage {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            bytes.truncate(bytes.len().saturating_sub(cut));
            let _ = Capitals::parse(&bytes);
        }
    }
}
