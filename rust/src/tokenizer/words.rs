//! Runs of letters and digits in lower case: what tantivy's simple tokenizer, its filter of long tokens
//! and its lower-caser give together, in one pass that knows ASCII.

use tantivy::tokenizer::Token;

use super::stream::Scanner;

#[derive(Clone)]
pub struct Words {
    at: usize,
    longest: usize,
}

impl Words {
    /// Words of more bytes than `longest` are left out.
    pub fn new(longest: usize) -> Self {
        Self { at: 0, longest }
    }

    /// The next run of word characters.
    #[inline]
    fn next_word(&mut self, text: &str) -> Option<(usize, usize)> {
        let mut start = self.at;
        loop {
            match look(text, start)? {
                (true, _) => break,
                (false, bytes) => start += bytes,
            }
        }
        let mut end = start;
        while let Some((true, bytes)) = look(text, end) {
            end += bytes;
        }
        self.at = end;
        Some((start, end))
    }
}

/// The words of a text, as they are written and however long they are.
pub fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let mut words = Words::new(usize::MAX);
    std::iter::from_fn(move || words.next_word(text).map(|(start, end)| &text[start..end]))
}

/// Makes `term` the term of a word.
#[inline]
pub fn lower_word(word: &str, term: &mut String) {
    term.clear();
    if word.is_ascii() {
        term.push_str(word);
        term.make_ascii_lowercase();
    } else {
        term.extend(word.chars().flat_map(char::to_lowercase));
    }
}

/// The length in bytes of the word character at this position, if there is one.
#[inline]
fn look(text: &str, at: usize) -> Option<(bool, usize)> {
    let byte = *text.as_bytes().get(at)?;
    if byte.is_ascii() {
        return Some((byte.is_ascii_alphanumeric(), 1));
    }
    let c = text[at..].chars().next()?;
    Some((c.is_alphanumeric(), c.len_utf8()))
}

impl Scanner for Words {
    fn start(&mut self, _: &str) {
        self.at = 0;
    }

    #[inline]
    fn next(&mut self, text: &str, token: &mut Token) -> bool {
        while let Some((start, end)) = self.next_word(text) {
            token.position = token.position.wrapping_add(1);
            if end - start > self.longest {
                continue;
            }
            lower_word(&text[start..end], &mut token.text);
            token.offset_from = start;
            token.offset_to = end;
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tantivy::tokenizer::{LowerCaser, RemoveLongFilter, SimpleTokenizer, TextAnalyzer};

    use super::*;
    use crate::tokenizer::stream::Scanned;

    fn all(mut analyzer: TextAnalyzer, text: &str) -> Vec<Token> {
        let mut found = Vec::new();
        analyzer.token_stream(text).process(&mut |token| found.push(token.clone()));
        found
    }

    proptest! {
        #[test]
        fn tokens_are_those_of_tantivy(text in "([a-zA-Z0-9 .-]{0,9}|\\PC){0,12}", longest in 1usize..9) {
            let theirs = TextAnalyzer::builder(SimpleTokenizer::default())
                .filter(RemoveLongFilter::limit(longest + 1))
                .filter(LowerCaser)
                .build();
            let ours = TextAnalyzer::from(Scanned::new(Words::new(longest)));
            prop_assert_eq!(all(ours, &text), all(theirs, &text));
        }
    }
}
