//! The split file as it is written: bundle, hotcache, sidecar and null rows (`docs/spec/SPLIT.md`).

mod bundle;
mod hotcache;
mod nulls;
mod pack;
mod sidecar;

pub use bundle::{BLOCK_BYTES, BUNDLE_MAGIC, BundleWriter, Extent};
pub use hotcache::{HOTCACHE_MAGIC, HotFile, build as build_hotcache, record as record_hotcache};
pub use nulls::{NULLS_FILE, NullRows};
pub use pack::{Packed, pack};
pub use sidecar::{
    Encoding, Layout, SIDECAR_FILE, SIDECAR_SUM_FILE, SIDECAR_VERSION, Sidecar, SidecarColumn,
};
