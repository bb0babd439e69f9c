//! Token filters: folding, stop words and synonyms, all part of the tokenizer's name.
//!
//! `+fold` converts letters to ASCII (`é` to `e`). `+stop(en)` drops the stop words of a language,
//! `+stop(the|a)` these words. `+same(db=database|pg=postgres)` replaces the words of a group by the first one.

use std::collections::HashMap;
use std::sync::Arc;

use tantivy::tokenizer::{
    AsciiFoldingFilter, StopWordFilter, TextAnalyzerBuilder, Token, TokenFilter, TokenStream,
    Tokenizer,
};

use super::language;

/// The filters in a tokenizer's name.
#[derive(Default)]
pub struct Filters {
    fold: bool,
    stop: Option<StopWordFilter>,
    same: Option<SameWords>,
}

impl Filters {
    /// The base of a name, and its filters.
    pub fn of(name: &str) -> Option<(&str, Filters)> {
        let mut parts = name.split('+');
        let base = parts.next()?;
        let mut filters = Filters::default();
        for part in parts {
            let inner = |start: &str| part.strip_prefix(start)?.strip_suffix(')');
            if part == "fold" {
                filters.fold = true;
            } else if let Some(words) = inner("stop(") {
                filters.stop = Some(stop_words(words)?);
            } else {
                filters.same = Some(SameWords::of(inner("same(")?)?);
            }
        }
        Some((base, filters))
    }

    pub fn is_empty(&self) -> bool {
        !self.fold && self.stop.is_none() && self.same.is_none()
    }

    pub fn add(self, mut tokens: TextAnalyzerBuilder) -> TextAnalyzerBuilder {
        if self.fold {
            tokens = tokens.filter_dynamic(AsciiFoldingFilter);
        }
        if let Some(stop) = self.stop {
            tokens = tokens.filter_dynamic(stop);
        }
        if let Some(same) = self.same {
            tokens = tokens.filter_dynamic(same);
        }
        tokens
    }
}

/// Whether a tokenizer leaves out words.
pub fn stops(name: &str) -> bool {
    name.contains("+stop(")
}

fn stop_words(words: &str) -> Option<StopWordFilter> {
    match language(words) {
        Some(language) => StopWordFilter::new(language),
        None => Some(StopWordFilter::remove(words.split('|').map(str::to_lowercase))),
    }
}

/// Replaces the words of a group by its first.
#[derive(Clone)]
pub struct SameWords {
    words: Arc<HashMap<String, String>>,
}

impl SameWords {
    fn of(groups: &str) -> Option<SameWords> {
        let mut words = HashMap::new();
        for group in groups.split('|') {
            let (first, others) = group.split_once('=')?;
            for other in others.split('=') {
                words.insert(other.to_lowercase(), first.to_lowercase());
            }
        }
        Some(SameWords { words: Arc::new(words) })
    }
}

impl TokenFilter for SameWords {
    type Tokenizer<T: Tokenizer> = SameTokenizer<T>;

    fn transform<T: Tokenizer>(self, inner: T) -> SameTokenizer<T> {
        SameTokenizer { words: self.words, inner }
    }
}

#[derive(Clone)]
pub struct SameTokenizer<T> {
    words: Arc<HashMap<String, String>>,
    inner: T,
}

impl<T: Tokenizer> Tokenizer for SameTokenizer<T> {
    type TokenStream<'a> = SameStream<'a, T::TokenStream<'a>>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Self::TokenStream<'a> {
        SameStream { words: &self.words, tail: self.inner.token_stream(text) }
    }
}

pub struct SameStream<'a, T> {
    words: &'a HashMap<String, String>,
    tail: T,
}

impl<T: TokenStream> TokenStream for SameStream<'_, T> {
    fn advance(&mut self) -> bool {
        if !self.tail.advance() {
            return false;
        }
        if let Some(first) = self.words.get(&self.tail.token().text) {
            self.tail.token_mut().text.clone_from(first);
        }
        true
    }

    fn token(&self) -> &Token {
        self.tail.token()
    }

    fn token_mut(&mut self) -> &mut Token {
        self.tail.token_mut()
    }
}

#[cfg(test)]
mod tests {
    use crate::tokenizer::{analyzer, tokens};

    #[test]
    fn filters_are_part_of_the_name() {
        assert_eq!(tokens("default+fold", "Café CRÈME"), ["cafe", "creme"]);
        assert_eq!(tokens("default+stop(en)", "the disk is full"), ["disk", "full"]);
        assert_eq!(tokens("default+stop(disk|full)", "the Disk is full"), ["the", "is"]);
        assert_eq!(
            tokens("default+same(database=db|pg=postgres)", "DB Postgres"),
            ["database", "pg"]
        );
        assert_eq!(tokens("en_stem+stop(en)+same(error=failure)", "the failures"), ["failur"]);
        assert_eq!(tokens("en_stem+same(error=failure)", "failure errors"), ["error", "error"]);
        assert_eq!(tokens("whitespace+fold_limit_5", "Été abcdefgh"), ["Ete"]);
        for bad in ["default+x", "default+stop", "default+same(a)", "x+fold"] {
            assert!(analyzer(bad).is_err(), "{bad}");
        }
    }
}
