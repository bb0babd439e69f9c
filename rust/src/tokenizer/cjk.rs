//! Words where there are spaces, single characters where the script has none (Chinese, Japanese, Korean).

use std::iter::Peekable;
use std::str::CharIndices;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

#[derive(Clone, Default)]
pub struct CjkTokenizer {
    token: Token,
}

pub struct CjkStream<'a> {
    text: &'a str,
    chars: Peekable<CharIndices<'a>>,
    token: &'a mut Token,
}

impl Tokenizer for CjkTokenizer {
    type TokenStream<'a> = CjkStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> CjkStream<'a> {
        self.token.reset();
        CjkStream { text, chars: text.char_indices().peekable(), token: &mut self.token }
    }
}

fn stands_alone(c: char) -> bool {
    matches!(u32::from(c),
        0x2E80..=0x312F | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF
        | 0x20000..=0x3134F)
}

impl TokenStream for CjkStream<'_> {
    fn advance(&mut self) -> bool {
        let Some((start, first)) = self.chars.by_ref().find(|(_, c)| c.is_alphanumeric()) else {
            return false;
        };
        let mut end = start + first.len_utf8();
        if !stands_alone(first) {
            while let Some((at, c)) =
                self.chars.next_if(|(_, c)| c.is_alphanumeric() && !stands_alone(*c))
            {
                end = at + c.len_utf8();
            }
        }
        self.token.text.clear();
        self.token.text.push_str(&self.text[start..end]);
        self.token.offset_from = start;
        self.token.offset_to = end;
        self.token.position = self.token.position.wrapping_add(1);
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
    use crate::tokenizer::tokens;

    #[test]
    fn ideographs_are_tokens_of_their_own() {
        assert_eq!(
            tokens("chinese_compatible", "Hello你好 World!"),
            ["hello", "你", "好", "world"]
        );
    }
}
