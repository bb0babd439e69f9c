//! Tokenizers, the same for indexing and for querying: a field's schema stores only the *name* of its
//! tokenizer, and the name defines it completely.
//!
//! `<base>` or `<base>_limit_<n>`, where tokens longer than `n` bytes (255 if not said) are dropped and
//! `<base>` is one of `raw` (alias `keyword`), `raw_lowercase` (alias `lowercase`), `default`, `simple`,
//! `whitespace`, `chinese_compatible`, `<language>_stem`, `ngram(<min>,<max>[,prefix])`,
//! `source_code_default`, `source_code_with_hex`, `identifiers`, `strip(<pattern>)`, `whole(<pattern>)`, `hash`.
//! Filters may follow the base ([`filters`]).

mod analyze;
mod cjk;
mod filters;
mod hash;
mod identifiers;
mod pattern;
mod source_code;
mod stream;
mod trigrams;
mod words;

use tantivy::schema::{FieldType, Schema};
use tantivy::tokenizer::{
    AsciiFoldingFilter, Language, LowerCaser, NgramTokenizer, RawTokenizer, RemoveLongFilter,
    Stemmer, TextAnalyzer, TextAnalyzerBuilder, TokenizerManager, WhitespaceTokenizer,
};

pub use analyze::analyze;
pub use filters::stops;
pub use identifiers::is_whole;
pub use trigrams::{Letter, folded, letters, trigrams, written};
pub use words::{lower_word, words_of};

use crate::error::{EngineError, Result};
use cjk::CjkWords;
use filters::Filters;
use hash::Hash;
use identifiers::Identifiers;
use pattern::Pattern;
use source_code::SourceCode;
use stream::{Scanned, Scanner};
use trigrams::Trigrams;
use words::Words;

pub const DEFAULT_TOKEN_LENGTH: usize = 255;
/// Tantivy drops longer terms whatever the tokenizer says.
pub const MAX_TOKEN_LENGTH: usize = 65_530;
/// The tokenizer of the field that finds substrings. In older splits it is `trigrams`, which has no positions.
pub const TRIGRAMS: &str = "trigrams_placed";
/// The tokenizer of columns that are found by whole values, of which only a hash is stored.
pub const HASH: &str = "hash";
const LIMIT: &str = "_limit_";
const ALLOWED: &str = "raw, keyword, raw_lowercase, lowercase, default, simple, whitespace, \
    chinese_compatible, <language>_stem (as en_stem), ngram(min,max), ngram(min,max,prefix), \
    source_code_default, source_code_with_hex, identifiers, strip(pattern), whole(pattern), hash";

/// The name kept in a schema for a tokenizer with this limit of token bytes.
pub fn full_name(base: &str, token_length: usize) -> String {
    let base = base.replace(' ', "");
    if token_length == DEFAULT_TOKEN_LENGTH || is_raw(&base) {
        base
    } else {
        format!("{base}{LIMIT}{token_length}")
    }
}

/// Whether the tokenizer keeps a value as one unchanged token.
pub fn is_raw(name: &str) -> bool {
    matches!(name, "raw" | "keyword")
}

/// The tokenizer of this name.
pub fn analyzer(name: &str) -> Result<TextAnalyzer> {
    build(name).ok_or_else(|| {
        EngineError::bad_option("indexing.tokenizer", name, format!("one of {ALLOWED}"))
    })
}

/// Registers every tokenizer of a schema with an index. An unknown name of another writer is left out: rows
/// stay readable, only searching that field fails.
pub fn register(schema: &Schema, manager: &TokenizerManager) {
    // a writer asks for these even when no field has text
    for name in ["raw", "default"] {
        if let Some(analyzer) = build(name) {
            manager.register(name, analyzer);
        }
    }
    for (_, entry) in schema.fields() {
        let (indexed, fast) = match entry.field_type() {
            FieldType::Str(options) => {
                (options.get_indexing_options(), options.get_fast_field_tokenizer_name())
            }
            FieldType::JsonObject(options) => {
                (options.get_text_indexing_options(), options.get_fast_field_tokenizer_name())
            }
            _ => continue,
        };
        for name in indexed.map(|options| options.tokenizer()).into_iter().chain(fast) {
            if let Some(analyzer) = build(name) {
                manager.register(name, analyzer);
            }
        }
    }
}

/// The base of a name, and its limit of token bytes.
fn limited(name: &str) -> Option<(&str, usize)> {
    match name.rsplit_once(LIMIT) {
        Some((base, digits)) => Some((base, digits.parse().ok()?)),
        None => Some((name, DEFAULT_TOKEN_LENGTH)),
    }
}

/// The longest term in bytes of a tokenizer whose terms are the words of a text in lower case, and nothing else.
pub fn longest_word(name: &str) -> Option<usize> {
    let (base, limit) = limited(name)?;
    matches!(base, "default" | "simple").then_some(limit.min(MAX_TOKEN_LENGTH))
}

fn build(name: &str) -> Option<TextAnalyzer> {
    let (base, limit) = limited(name)?;
    let (base, filters) = Filters::of(base)?;
    if filters.is_empty()
        && let Some(analyzer) = direct(base, limit)
    {
        return Some(analyzer);
    }
    let stemmer = base.strip_suffix("_stem").map(|code| language(code).map(Stemmer::new));
    let tokens = filters.add(divide(if stemmer.is_some() { "default" } else { base }, limit)?);
    Some(match stemmer {
        Some(stemmer) => tokens.filter_dynamic(stemmer?).build(),
        None => tokens.build(),
    })
}

/// The most frequent ones without the cost of dynamic dispatch.
fn direct(base: &str, limit: usize) -> Option<TextAnalyzer> {
    Some(match base {
        "raw" | "keyword" => TextAnalyzer::from(RawTokenizer::default()),
        "default" | "simple" => TextAnalyzer::from(words(limit)),
        _ => {
            let stemmer = Stemmer::new(language(base.strip_suffix("_stem")?)?);
            TextAnalyzer::builder(words(limit)).filter(stemmer).build()
        }
    })
}

/// How a text is divided, before any filter of its name.
fn divide(base: &str, limit: usize) -> Option<TextAnalyzerBuilder> {
    // the filter keeps what is shorter than its argument
    let short = RemoveLongFilter::limit(limit + 1);
    Some(match base {
        "raw" | "keyword" => TextAnalyzer::builder(RawTokenizer::default()).dynamic(),
        "raw_lowercase" | "lowercase" => {
            lower(TextAnalyzer::builder(RawTokenizer::default()), short)
        }
        "default" | "simple" => TextAnalyzer::builder(words(limit)).dynamic(),
        "whitespace" => {
            TextAnalyzer::builder(WhitespaceTokenizer::default()).filter(short).dynamic()
        }
        "chinese_compatible" => lower(scan(CjkWords::default()), short),
        "source_code_default" => code(SourceCode::new(false), short),
        "source_code_with_hex" => code(SourceCode::new(true), short),
        HASH => scan(Hash::default()).dynamic(),
        TRIGRAMS => scan(Trigrams::default()).dynamic(),
        "identifiers" => lower(scan(Identifiers::default()), short),
        _ if base.starts_with("ngram(") => lower(TextAnalyzer::builder(ngram(base)?), short),
        _ => lower(scan(Pattern::parse(base)?), short),
    })
}

fn words(limit: usize) -> Scanned<Words> {
    Scanned::new(Words::new(limit))
}

fn scan<S: Scanner>(scanner: S) -> TextAnalyzerBuilder<Scanned<S>> {
    TextAnalyzer::builder(Scanned::new(scanner))
}

fn lower<T: tantivy::tokenizer::Tokenizer>(
    tokens: TextAnalyzerBuilder<T>,
    short: RemoveLongFilter,
) -> TextAnalyzerBuilder {
    tokens.filter(short).filter(LowerCaser).dynamic()
}

fn code(scanner: SourceCode, short: RemoveLongFilter) -> TextAnalyzerBuilder {
    lower(scan(scanner), short).filter_dynamic(AsciiFoldingFilter)
}

fn ngram(base: &str) -> Option<NgramTokenizer> {
    let inner = base.strip_prefix("ngram(")?.strip_suffix(')')?;
    let mut parts = inner.split(',').map(str::trim);
    let (min, max) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let prefix_only = match parts.next() {
        None => false,
        Some("prefix") => true,
        Some(_) => return None,
    };
    if parts.next().is_some() || min > max || max > 32 {
        return None;
    }
    NgramTokenizer::new(min, max, prefix_only).ok()
}

fn language(code: &str) -> Option<Language> {
    Some(match code {
        "ar" => Language::Arabic,
        "da" => Language::Danish,
        "nl" => Language::Dutch,
        "en" => Language::English,
        "fi" => Language::Finnish,
        "fr" => Language::French,
        "de" => Language::German,
        "el" => Language::Greek,
        "hu" => Language::Hungarian,
        "it" => Language::Italian,
        "no" => Language::Norwegian,
        "pt" => Language::Portuguese,
        "ro" => Language::Romanian,
        "ru" => Language::Russian,
        "es" => Language::Spanish,
        "sv" => Language::Swedish,
        "ta" => Language::Tamil,
        "tr" => Language::Turkish,
        _ => return None,
    })
}

#[cfg(test)]
pub(crate) fn tokens(name: &str, text: &str) -> Vec<String> {
    let mut analyzer = build(name).expect("a known tokenizer");
    let mut stream = analyzer.token_stream(text);
    let mut found = Vec::new();
    while let Some(token) = stream.next() {
        found.push(token.text.clone());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_drops_longer_tokens_and_keeps_those_of_its_length() {
        assert_eq!(full_name("default", 5), "default_limit_5");
        assert_eq!(tokens("default_limit_5", "Hello worlds"), ["hello"]);
        assert_eq!(full_name("default", 255), "default");
    }

    #[test]
    fn a_raw_value_is_never_cut() {
        assert_eq!(full_name("raw", 5), "raw");
        assert_eq!(tokens("raw", "Hello worlds"), ["Hello worlds"]);
        assert_eq!(tokens("raw_lowercase", "Hello worlds"), ["hello worlds"]);
    }

    #[test]
    fn whitespace_keeps_case_and_punctuation() {
        assert_eq!(tokens("whitespace", "GET /a-b  X"), ["GET", "/a-b", "X"]);
    }

    #[test]
    fn every_language_stems() {
        assert_eq!(tokens("en_stem", "Connections"), ["connect"]);
        assert_eq!(tokens("de_stem", "Häuser"), ["haus"]);
        assert!(analyzer("xx_stem").is_err());
    }

    #[test]
    fn ngrams_have_the_asked_lengths() {
        assert_eq!(tokens("ngram(2,3)", "AbC"), ["ab", "abc", "bc"]);
        assert_eq!(tokens("ngram(1,2,prefix)", "abc"), ["a", "ab"]);
        for bad in ["ngram(0,2)", "ngram(3,2)", "ngram(2)", "ngram(2,3,x)", "ngram(1,99)"] {
            assert!(analyzer(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn registering_makes_the_names_of_a_schema_known() {
        use tantivy::schema::{TextFieldIndexing, TextOptions};
        let mut builder = Schema::builder();
        let indexing = TextFieldIndexing::default().set_tokenizer("ngram(2,3)");
        builder.add_text_field("a", TextOptions::default().set_indexing_options(indexing));
        let unknown = TextFieldIndexing::default().set_tokenizer("someone_elses");
        builder.add_text_field("b", TextOptions::default().set_indexing_options(unknown));
        let manager = TokenizerManager::new();
        register(&builder.build(), &manager);
        assert!(manager.get("ngram(2,3)").is_some());
        assert!(manager.get("someone_elses").is_none());
    }
}
