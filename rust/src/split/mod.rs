//! The split file as it is written: bundle, hotcache, sidecar and null rows (`docs/spec/SPLIT.md`).

mod bundle;
mod capitals;
pub mod decimals;
pub mod fast_file;
mod hotcache;
mod lengths;
mod nulls;
mod pack;
mod sidecar;
mod types;

pub use bundle::{BLOCK_BYTES, BUNDLE_MAGIC, BundleWriter, Extent};
pub use capitals::{CAPITALS_FILE, CapitalNotes, CapitalWords, Capitals};
pub use hotcache::{HOTCACHE_MAGIC, HotFile, build as build_hotcache, record as record_hotcache};
pub use lengths::{note_lengths, sum_lengths};
pub use nulls::{NULLS_FILE, NullRows};
pub use pack::{Packed, pack};
pub use sidecar::{
    Encoding, Layout, SIDECAR_FILE, SIDECAR_SUM_FILE, SIDECAR_VERSION, Sidecar, SidecarColumn,
    SourceFiles,
};

pub use types::{parse as parse_type, to_spark};

/// Prefix of fields that hold the trigrams of a column.
pub const TRIGRAMS_PREFIX: &str = "_indextables_trigrams.";
