//! One split to merge, opened and checked.

use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use ownedbytes::OwnedBytes;
use roaring::RoaringBitmap;
use tantivy::Index;
use tantivy::directory::Directory;
use tantivy::fastfield::{AliveBitSet, write_alive_bitset};

use crate::directory::BundleDirectory;
use crate::error::{At, EngineError, Result};
use crate::merge::MergeInput;
use crate::open::read_sidecar;
use crate::split::{CAPITALS_FILE, Capitals, NULLS_FILE, NullRows, Sidecar};
use crate::store::{BytesSource, RangeSource, Store};
use crate::write::{Scratch, widen_floats};

/// How much of a remote split is held in memory while it is copied.
const DOWNLOAD_BYTES: u64 = 16 << 20;

pub struct OpenInput {
    pub path: String,
    pub index: Index,
    pub directory: BundleDirectory,
    pub sidecar: Option<Sidecar>,
    pub nulls: NullRows,
    pub capitals: Capitals,
    pub deleted: RoaringBitmap,
    pub rows: u32,
}

impl OpenInput {
    /// Opens a split and verifies every file: a merge must not spread damage.
    pub fn open(input: &MergeInput, store: &Store, scratch: &Scratch) -> Result<Self> {
        let source = store.source_once(&input.path, input.footer.map(|(_, end)| end))?;
        let source = if source.is_remote() {
            download(source.as_ref(), scratch).at(&input.path)?
        } else {
            source
        };
        // tantivy panics on some damaged files
        let opened = catch_unwind(AssertUnwindSafe(|| Self::read(input, source, scratch)));
        opened
            .unwrap_or_else(|_| Err(EngineError::corrupt("", "opening it failed")))
            .at(&input.path)
    }

    fn read(input: &MergeInput, source: Arc<dyn RangeSource>, scratch: &Scratch) -> Result<Self> {
        let directory = BundleDirectory::open(source, input.footer.map(|(start, _)| start))?;
        let mut sidecar = read_sidecar(&directory)?;
        let nulls = match directory.file(NULLS_FILE)? {
            Some(bytes) => NullRows::parse(&bytes)?,
            None => NullRows::default(),
        };
        let capitals = match directory.file(CAPITALS_FILE)? {
            Some(bytes) => Capitals::parse(&bytes)?,
            None => Capitals::default(),
        };
        let mut index = Index::open(directory.clone())?;
        match &sidecar {
            Some(sidecar) => verify(&directory, sidecar)?,
            None => verify_index(&index)?,
        }
        if let Some(sidecar) = &mut sidecar {
            index = widened(index, &directory, sidecar, scratch)?;
        }
        let segments = index.searchable_segment_metas()?;
        let rows = segments.iter().map(tantivy::SegmentMeta::max_doc).sum();
        let deleted = deleted_rows(input.deleted.as_deref(), rows)?;
        let path = input.path.clone();
        Ok(Self { path, index, directory, sidecar, nulls, capitals, deleted, rows })
    }

    /// The rows of a segment that stay, unless all do.
    pub fn living(&self, base: u32, rows: u32) -> Result<Option<AliveBitSet>> {
        let mut deleted = self.deleted.range(base..base + rows).peekable();
        if deleted.peek().is_none() {
            return Ok(None);
        }
        let mut living = tantivy_common::BitSet::with_max_value_and_full(rows);
        for row in deleted {
            living.remove(row - base);
        }
        let mut bytes = Vec::new();
        write_alive_bitset(&living, &mut bytes)?;
        Ok(Some(AliveBitSet::open(OwnedBytes::new(bytes))))
    }
}

/// The index as tantivy merges it: columns of doubles are columns of doubles.
fn widened(
    index: Index,
    directory: &BundleDirectory,
    sidecar: &mut Sidecar,
    scratch: &Scratch,
) -> Result<Index> {
    let target = scratch.path(&uuid::Uuid::new_v4().simple().to_string());
    let Some(path) = widen_floats(&index, directory, sidecar, &target)? else {
        return Ok(index);
    };
    let wide = BytesSource::map(&target)?;
    let bytes = wide.read(0..wide.len())?;
    Ok(Index::open(directory.with_file(path, bytes))?)
}

fn deleted_rows(bitmap: Option<&[u8]>, rows: u32) -> Result<RoaringBitmap> {
    let Some(bytes) = bitmap else { return Ok(RoaringBitmap::new()) };
    let deleted = RoaringBitmap::deserialize_from(bytes)
        .map_err(|e| EngineError::corrupt("", format!("its deletion vector: {e}")))?;
    if deleted.max().is_some_and(|last| last >= rows) {
        return Err(EngineError::corrupt("", "its deletion vector names rows it does not have"));
    }
    Ok(deleted)
}

fn verify(directory: &BundleDirectory, sidecar: &Sidecar) -> Result<()> {
    for (name, expected) in &sidecar.checksums {
        let bytes = directory.file(name)?;
        let bytes = bytes.ok_or_else(|| EngineError::corrupt("", format!("it lacks `{name}`")))?;
        if crc32fast::hash(&bytes) != *expected {
            let detail = format!("the checksum of `{name}` does not match");
            return Err(EngineError::corrupt("", detail));
        }
    }
    Ok(())
}

fn verify_index(index: &Index) -> Result<()> {
    let damaged = index.validate_checksum()?;
    let missing =
        index.load_metas()?.list_segment_files().into_iter().find(|path| !lives(index, path));
    match damaged.into_iter().next().or(missing) {
        None => Ok(()),
        Some(file) => {
            let detail = format!("the checksum of `{}` does not match", file.display());
            Err(EngineError::corrupt("", detail))
        }
    }
}

/// Some of the files a segment may have are optional; those that hold rows are not.
fn lives(index: &Index, path: &Path) -> bool {
    let needed = ["term", "idx", "store", "fast"];
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    !needed.contains(&extension) || index.directory().exists(path).unwrap_or(false)
}

/// Copies a remote split to local disk: a merge reads all of it, in no particular order.
fn download(source: &dyn RangeSource, scratch: &Scratch) -> Result<Arc<dyn RangeSource>> {
    let path = scratch.path(&uuid::Uuid::new_v4().simple().to_string());
    let mut file = File::create(&path)?;
    let len = source.len();
    let mut start = 0;
    while start < len {
        let range: Range<u64> = start..(start + DOWNLOAD_BYTES).min(len);
        start = range.end;
        file.write_all(&source.read(range)?)?;
    }
    file.flush()?;
    Ok(Arc::new(BytesSource::map(&path)?))
}
