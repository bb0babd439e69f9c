//! Common code of our tokenizers: a [`Scanner`] finds the tokens of a text one by one, and the stream passes
//! them to tantivy.

use std::ops::Range;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// Finds the tokens of a text, from its start to its end.
pub trait Scanner: Clone + Send + Sync + 'static {
    /// Starts a new text.
    fn start(&mut self, text: &str);

    /// Makes `token` the next token of the text; false behind the last.
    fn next(&mut self, text: &str, token: &mut Token) -> bool;
}

/// The tokenizer that a scanner makes.
#[derive(Clone, Default)]
pub struct Scanned<S> {
    scanner: S,
    token: Token,
}

impl<S> Scanned<S> {
    pub fn new(scanner: S) -> Self {
        Self { scanner, token: Token::default() }
    }
}

impl<S: Scanner> Tokenizer for Scanned<S> {
    type TokenStream<'a> = ScannedStream<'a, S>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> ScannedStream<'a, S> {
        self.token.reset();
        self.scanner.start(text);
        ScannedStream { text, scanner: &mut self.scanner, token: &mut self.token }
    }
}

pub struct ScannedStream<'a, S> {
    text: &'a str,
    scanner: &'a mut S,
    token: &'a mut Token,
}

impl<S: Scanner> TokenStream for ScannedStream<'_, S> {
    #[inline]
    fn advance(&mut self) -> bool {
        self.scanner.next(self.text, self.token)
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

/// Makes `token` the bytes `range` of a text, at the next position.
pub fn set_next(token: &mut Token, text: &str, range: Range<usize>) {
    token.position = token.position.wrapping_add(1);
    set(token, text, range);
}

/// Makes `token` the bytes `range` of a text, at the position it has.
pub fn set(token: &mut Token, text: &str, range: Range<usize>) {
    token.text.clear();
    token.text.push_str(&text[range.clone()]);
    token.offset_from = range.start;
    token.offset_to = range.end;
}
