//! A finished index directory, with sidecar, null rows and capitals, as one split file.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use ownedbytes::OwnedBytes;
use tantivy::directory::Directory;

use crate::error::{EngineError, Result};
use crate::split::hotcache::{self, HotFile};
use crate::split::{
    BundleWriter, CAPITALS_FILE, Capitals, Extent, NULLS_FILE, NullRows, SIDECAR_FILE,
    SIDECAR_SUM_FILE, Sidecar,
};

/// Another implementation expects this file; it may be empty.
const SPLIT_FIELDS_FILE: &str = "split_fields";
/// A larger file of null rows is fetched only by a query that needs it.
const HOT_NULLS_BYTES: usize = 64 << 10;

/// The result of packing.
#[derive(Debug, Clone, PartialEq)]
pub struct Packed {
    pub extent: Extent,
    pub sidecar: Option<Sidecar>,
    pub rows: u64,
}

/// Writes the split of the one index in this directory; the checksums of the sidecar are filled in. There is
/// no sidecar when splits of other writers were merged.
pub fn pack(
    directory: &dyn Directory,
    mut sidecar: Option<Sidecar>,
    nulls: &NullRows,
    capitals: &Capitals,
    out: impl Write,
) -> Result<Packed> {
    let (mut hot, rows) = hotcache::record(directory)?;
    let mut bundle = BundleWriter::new(out);
    let names: BTreeSet<PathBuf> = hot.iter().map(|file| file.path.clone()).collect();
    for path in &names {
        let file = directory.open_read(path).map_err(tantivy::TantivyError::from)?;
        let name =
            path.to_str().ok_or_else(|| EngineError::internal("a file name is not UTF-8"))?;
        let content = file.read_bytes()?;
        bundle.add(name, content.as_slice())?;
    }
    bundle.add(SPLIT_FIELDS_FILE, &[])?;
    hot.push(HotFile { path: SPLIT_FIELDS_FILE.into(), len: 0, slices: Vec::new() });
    if !nulls.is_empty() {
        let bytes = nulls.to_bytes()?;
        bundle.add(NULLS_FILE, bytes.as_slice())?;
        hot.push(whole(NULLS_FILE, bytes, HOT_NULLS_BYTES));
    }
    if !capitals.is_empty() {
        let bytes = capitals.to_bytes();
        bundle.add(CAPITALS_FILE, bytes.as_slice())?;
        hot.push(whole(CAPITALS_FILE, bytes, 0));
    }
    if let Some(sidecar) = &mut sidecar {
        sidecar.checksums.clone_from(bundle.checksums());
        sidecar.blocks.clone_from(bundle.blocks());
        let bytes = serde_json::to_vec(sidecar)?;
        bundle.add(SIDECAR_SUM_FILE, &crc32fast::hash(&bytes).to_le_bytes())?;
        hot.push(HotFile { path: SIDECAR_SUM_FILE.into(), len: 4, slices: Vec::new() });
        bundle.add(SIDECAR_FILE, bytes.as_slice())?;
        hot.push(whole(SIDECAR_FILE, bytes, usize::MAX));
    }
    let (_, extent) = bundle.finish(&hotcache::build(&hot)?)?;
    Ok(Packed { extent, sidecar, rows })
}

fn whole(name: &str, bytes: Vec<u8>, limit: usize) -> HotFile {
    let len = bytes.len() as u64;
    let slices = if bytes.len() > limit { vec![] } else { vec![(0, OwnedBytes::new(bytes))] };
    HotFile { path: name.into(), len, slices }
}
