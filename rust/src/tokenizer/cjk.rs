//! Words where there are spaces, single characters where the script has none (Chinese, Japanese, Korean).

use tantivy::tokenizer::Token;

use super::stream::{Scanner, set_next};

#[derive(Clone, Default)]
pub struct CjkWords {
    at: usize,
}

fn stands_alone(c: char) -> bool {
    matches!(u32::from(c),
        0x2E80..=0x312F | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF
        | 0x20000..=0x3134F)
}

impl Scanner for CjkWords {
    fn start(&mut self, _: &str) {
        self.at = 0;
    }

    fn next(&mut self, text: &str, token: &mut Token) -> bool {
        let rest = &text[self.at..];
        let Some((skip, first)) = rest.char_indices().find(|(_, c)| c.is_alphanumeric()) else {
            return false;
        };
        let start = self.at + skip;
        let length = if stands_alone(first) {
            first.len_utf8()
        } else {
            let word = &text[start..];
            word.find(|c: char| !c.is_alphanumeric() || stands_alone(c)).unwrap_or(word.len())
        };
        self.at = start + length;
        set_next(token, text, start..self.at);
        true
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
