//! The hotcache: every byte range that is read to open the index, recorded by opening it once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ownedbytes::OwnedBytes;
use serde::Serialize;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, Lock, WatchCallback, WatchHandle, WritePtr,
};
use tantivy::{HasLen, Index, ReloadPolicy};

use crate::error::{EngineError, Result};

pub const HOTCACHE_MAGIC: u32 = 2_557_869_106;
const HOTCACHE_VERSION: u32 = 1;

/// A file as the hotcache knows it: its length and the slices held, ascending and apart.
pub struct HotFile {
    pub path: PathBuf,
    pub len: u64,
    pub slices: Vec<(u64, OwnedBytes)>,
}

#[derive(Serialize)]
struct Header<'a> {
    file_lengths: HashMap<&'a Path, u64>,
    slice_offsets: Vec<(&'a Path, u64)>,
}

#[derive(Serialize)]
struct SliceIndex {
    total_len: u64,
    slices: Vec<Slice>,
}

#[derive(Serialize)]
struct Slice {
    start: u64,
    stop: u64,
    addr: u64,
}

/// The bytes of a hotcache over these files.
pub fn build(files: &[HotFile]) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    let mut header = Header { file_lengths: HashMap::new(), slice_offsets: Vec::new() };
    for file in files {
        header.file_lengths.insert(&file.path, file.len);
        header.slice_offsets.push((&file.path, body.len() as u64));
        let mut index = SliceIndex { total_len: file.len, slices: Vec::new() };
        let mut addr = 0;
        for (start, bytes) in &file.slices {
            body.extend_from_slice(bytes);
            let stop = start + bytes.len() as u64;
            index.slices.push(Slice { start: *start, stop, addr });
            addr += bytes.len() as u64;
        }
        body.extend_from_slice(&encode(&index)?);
        body.extend_from_slice(&addr.to_le_bytes());
    }
    let header = encode(&header)?;
    let mut out = Vec::with_capacity(12 + header.len() + body.len());
    out.extend_from_slice(&HOTCACHE_MAGIC.to_le_bytes());
    out.extend_from_slice(&HOTCACHE_VERSION.to_le_bytes());
    out.extend_from_slice(&(header.len() as u32).to_le_bytes());
    out.extend_from_slice(&header);
    out.extend_from_slice(&body);
    Ok(out)
}

fn encode(value: &impl Serialize) -> Result<Vec<u8>> {
    postcard::to_allocvec(value).map_err(EngineError::internal)
}

/// Opens the index in this directory and every inverted index in it, and returns the files that belong
/// to it with the ranges that were read, and how many rows it has.
pub fn record(directory: &dyn Directory) -> Result<(Vec<HotFile>, u64)> {
    let recorder = Recorder { inner: directory.box_clone(), reads: Arc::default() };
    let index = Index::open(recorder.clone())?;
    let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
    let searcher = reader.searcher();
    for segment in searcher.segment_readers() {
        for (field, entry) in index.schema().fields() {
            if entry.is_indexed() {
                segment.inverted_index(field)?;
            }
        }
    }
    let mut names: BTreeSet<PathBuf> = index
        .load_metas()?
        .list_segment_files()
        .into_iter()
        .filter(|path| directory.exists(path).unwrap_or(false))
        .collect();
    names.insert("meta.json".into());
    names.insert(".managed.json".into());
    let reads = std::mem::take(&mut *lock(&recorder.reads));
    let files = names.into_iter().map(|path| hot_file(directory, path, &reads));
    Ok((files.collect::<Result<_>>()?, searcher.num_docs()))
}

fn hot_file(
    directory: &dyn Directory,
    path: PathBuf,
    reads: &BTreeMap<PathBuf, Vec<Range<usize>>>,
) -> Result<HotFile> {
    let handle = directory.get_file_handle(&path).map_err(tantivy::TantivyError::from)?;
    let ranges = join(reads.get(&path).cloned().unwrap_or_default());
    let slices = ranges
        .into_iter()
        .map(|range| Ok((range.start as u64, handle.read_bytes(range)?)))
        .collect::<io::Result<_>>()?;
    Ok(HotFile { len: handle.len() as u64, path, slices })
}

/// The same bytes as ascending ranges that neither overlap nor touch.
fn join(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges.into_iter().filter(|range| !range.is_empty()) {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

type Reads = Arc<Mutex<BTreeMap<PathBuf, Vec<Range<usize>>>>>;

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A directory that records what is read through it.
#[derive(Clone)]
struct Recorder {
    inner: Box<dyn Directory>,
    reads: Reads,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorder({:?})", self.inner)
    }
}

#[derive(Debug)]
struct RecordedFile {
    inner: Arc<dyn FileHandle>,
    path: PathBuf,
    reads: Reads,
}

impl RecordedFile {
    fn note(&self, range: Range<usize>) {
        lock(&self.reads).entry(self.path.clone()).or_default().push(range);
    }
}

impl HasLen for RecordedFile {
    fn len(&self) -> usize {
        self.inner.len()
    }
}

impl FileHandle for RecordedFile {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        self.note(range.clone());
        self.inner.read_bytes(range)
    }
}

impl Directory for Recorder {
    fn get_file_handle(
        &self,
        path: &Path,
    ) -> std::result::Result<Arc<dyn FileHandle>, OpenReadError> {
        let inner = self.inner.get_file_handle(path)?;
        Ok(Arc::new(RecordedFile { inner, path: path.to_owned(), reads: self.reads.clone() }))
    }

    fn atomic_read(&self, path: &Path) -> std::result::Result<Vec<u8>, OpenReadError> {
        let bytes = self.inner.atomic_read(path)?;
        lock(&self.reads).entry(path.to_owned()).or_default().push(0..bytes.len());
        Ok(bytes)
    }

    fn exists(&self, path: &Path) -> std::result::Result<bool, OpenReadError> {
        self.inner.exists(path)
    }

    fn acquire_lock(&self, _: &Lock) -> std::result::Result<DirectoryLock, LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }

    fn delete(&self, path: &Path) -> std::result::Result<(), DeleteError> {
        self.inner.delete(path)
    }

    fn open_write(&self, path: &Path) -> std::result::Result<WritePtr, OpenWriteError> {
        self.inner.open_write(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.inner.atomic_write(path, data)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.inner.sync_directory()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn joined_ranges_hold_the_same_bytes_once(
            ranges in proptest::collection::vec((0usize..60, 0usize..9), 0..20),
        ) {
            let ranges: Vec<_> = ranges.into_iter().map(|(start, len)| start..start + len).collect();
            let joined = join(ranges.clone());
            let bytes = |ranges: &[Range<usize>]| -> BTreeSet<usize> {
                ranges.iter().cloned().flatten().collect()
            };
            prop_assert_eq!(bytes(&ranges), bytes(&joined));
            prop_assert!(joined.windows(2).all(|pair| pair[0].end < pair[1].start));
        }
    }
}
