//! Sources of the bytes of one file.

use std::io;
use std::ops::{Deref, Range};
use std::path::Path;

use ownedbytes::{OwnedBytes, StableDeref};

use super::local::changed_ns;

/// Random access to the bytes of one immutable file.
pub trait RangeSource: Send + Sync + 'static {
    /// Length of the whole file.
    fn len(&self) -> u64;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of one range; an error when the range leaves the file.
    fn read(&self, range: Range<u64>) -> io::Result<OwnedBytes>;

    /// The same; if that takes a round trip, it fetches `near`, which contains the range.
    fn read_near(&self, wanted: Range<u64>, _near: Range<u64>) -> io::Result<OwnedBytes> {
        self.read(wanted)
    }

    /// Several ranges at once; a remote source joins neighbors and fetches in parallel.
    fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<OwnedBytes>> {
        ranges.iter().map(|range| self.read(range.clone())).collect()
    }

    /// Whether reading costs a round trip, so that fewer and larger reads are better.
    fn is_remote(&self) -> bool {
        false
    }

    /// When a local file last changed: distinguishes it from another one written at the same path.
    fn changed_ns(&self) -> Option<i64> {
        None
    }
}

/// A local file of another writer, who may truncate or replace it at any time: it is read, never mapped.
pub(super) struct ForeignFile {
    file: std::fs::File,
    len: u64,
    changed_ns: i64,
}

impl ForeignFile {
    pub(super) fn open(path: &Path) -> io::Result<ForeignFile> {
        let file = std::fs::File::open(path)?;
        let facts = file.metadata()?;
        Ok(ForeignFile { file, len: facts.len(), changed_ns: changed_ns(&facts) })
    }
}

impl RangeSource for ForeignFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, range: Range<u64>) -> io::Result<OwnedBytes> {
        if range.start > range.end || range.end > self.len {
            return Err(out_of_file(&range, self.len));
        }
        let mut bytes = vec![0; (range.end - range.start) as usize];
        std::os::unix::fs::FileExt::read_exact_at(&self.file, &mut bytes, range.start)?;
        Ok(OwnedBytes::new(bytes))
    }

    fn changed_ns(&self) -> Option<i64> {
        Some(self.changed_ns)
    }
}

/// A file whose bytes are all addressable: a memory map or a buffer.
pub struct BytesSource(OwnedBytes);

impl BytesSource {
    pub fn new(bytes: OwnedBytes) -> BytesSource {
        BytesSource(bytes)
    }

    pub fn map(path: &Path) -> io::Result<BytesSource> {
        map_file(path).map(BytesSource)
    }
}

/// Maps a complete local file into memory.
pub fn map_file(path: &Path) -> io::Result<OwnedBytes> {
    let file = std::fs::File::open(path)?;
    if file.metadata()?.len() == 0 {
        return Ok(OwnedBytes::empty());
    }
    // SAFETY: complete files are never truncated: splits are immutable, and scratch files are private.
    let map = unsafe { memmap2::Mmap::map(&file)? };
    Ok(OwnedBytes::new(Mapped(map)))
}

struct Mapped(memmap2::Mmap);

impl Deref for Mapped {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

// SAFETY: the map's address does not change while the map lives.
unsafe impl StableDeref for Mapped {}

pub(super) struct Shared(pub bytes::Bytes);

impl Deref for Shared {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

// SAFETY: `Bytes` is immutable and its buffer does not move.
unsafe impl StableDeref for Shared {}

pub(super) fn out_of_file(range: &Range<u64>, len: u64) -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        format!("range {range:?} leaves a file of {len} bytes"),
    )
}

impl RangeSource for BytesSource {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, range: Range<u64>) -> io::Result<OwnedBytes> {
        if range.start > range.end || range.end > self.len() {
            return Err(out_of_file(&range, self.len()));
        }
        Ok(self.0.slice(range.start as usize..range.end as usize))
    }
}
