//! Runs of letters and digits in lower case: what tantivy's simple tokenizer, its filter of long tokens
//! and its lower-caser give together, in one pass that knows ASCII.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

#[derive(Clone)]
pub struct WordTokenizer {
    longest: usize,
    token: Token,
}

impl WordTokenizer {
    /// Words of more bytes than `longest` are left out.
    pub fn new(longest: usize) -> Self {
        Self { longest, token: Token::default() }
    }
}

pub struct WordStream<'a> {
    text: &'a str,
    at: usize,
    longest: usize,
    token: &'a mut Token,
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        WordStream { text, at: 0, longest: self.longest, token: &mut self.token }
    }
}

impl WordStream<'_> {
    /// Whether a word character is at this place, and how many bytes it has.
    #[inline]
    fn look(&self, at: usize) -> Option<(bool, usize)> {
        let byte = *self.text.as_bytes().get(at)?;
        if byte.is_ascii() {
            return Some((byte.is_ascii_alphanumeric(), 1));
        }
        let c = self.text[at..].chars().next()?;
        Some((c.is_alphanumeric(), c.len_utf8()))
    }

    /// The next run of word characters.
    #[inline]
    fn next_word(&mut self) -> Option<(usize, usize)> {
        let mut start = self.at;
        loop {
            match self.look(start)? {
                (true, _) => break,
                (false, bytes) => start += bytes,
            }
        }
        let mut end = start;
        while let Some((true, bytes)) = self.look(end) {
            end += bytes;
        }
        self.at = end;
        Some((start, end))
    }
}

impl TokenStream for WordStream<'_> {
    #[inline]
    fn advance(&mut self) -> bool {
        while let Some((start, end)) = self.next_word() {
            self.token.position = self.token.position.wrapping_add(1);
            if end - start > self.longest {
                continue;
            }
            let word = &self.text[start..end];
            let text = &mut self.token.text;
            text.clear();
            if word.is_ascii() {
                text.push_str(word);
                text.make_ascii_lowercase();
            } else {
                text.extend(word.chars().flat_map(char::to_lowercase));
            }
            self.token.offset_from = start;
            self.token.offset_to = end;
            return true;
        }
        false
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
    use tantivy::tokenizer::{LowerCaser, RemoveLongFilter, SimpleTokenizer, TextAnalyzer};

    use super::*;

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
            let ours = TextAnalyzer::from(WordTokenizer::new(longest));
            prop_assert_eq!(all(ours, &text), all(theirs, &text));
        }
    }
}
