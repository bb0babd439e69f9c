//! The split engine: Arrow batches in, search splits out, and back.
//!
//! Modules are named after nouns; PyO3 is used only below `python`.

pub mod aggregate;
#[cfg(feature = "bench")]
pub mod bench;
pub mod cache;
pub mod cancel;
pub mod columns;
pub mod directory;
pub mod error;
pub mod hash;
pub mod inspect;
pub mod manifest;
pub mod merge;
pub mod open;
pub mod prewarm;
pub mod profile;
pub mod query;
pub mod search;
pub mod source;
pub mod split;
pub mod store;
pub mod texts;
pub mod tokenizer;
pub mod unzstd;
pub mod write;

#[cfg(feature = "python")]
pub mod python;

/// Written into every split to identify its writer.
pub const WRITER: &str = concat!("indextables ", env!("CARGO_PKG_VERSION"));
