//! A read-only tantivy directory over the files of a bundle.

mod checks;
mod footer;
mod hotcache;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use ownedbytes::OwnedBytes;
use tantivy::HasLen;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, Lock, WatchCallback, WatchHandle, WritePtr,
};

use checks::{Checks, FileChecks};
pub use footer::{Footer, read_footer};
pub use hotcache::HotCache;

use crate::error::{EngineError, Result};
use crate::split::{SIDECAR_FILE, SIDECAR_SUM_FILE, Sidecar};
use crate::store::{RangeSource, lock};

/// A remote split up to this size is fetched at once: it costs less than two round trips.
const WHOLE: u64 = 128 << 10;

/// Adjacent small files of a remote split are fetched together up to this size: a round trip costs more.
const TOGETHER: u64 = 64 << 10;

/// The files of one split; cheap to clone.
#[derive(Clone)]
pub struct BundleDirectory {
    bundle: Arc<Bundle>,
    /// A file with other bytes than those in the bundle.
    replaced: Option<Arc<(PathBuf, OwnedBytes)>>,
}

struct Bundle {
    source: Arc<dyn RangeSource>,
    files: BTreeMap<PathBuf, Range<u64>>,
    hotcache: HotCache,
    footer_start: u64,
    checks: OnceLock<Checks>,
    neighbors: Vec<Neighbors>,
}

/// Adjacent small files; the lock lets one thread fetch what several need.
struct Neighbors {
    range: Range<u64>,
    fetching: Mutex<()>,
}

/// The groups of files that are fetched together, in file order.
fn neighbors<'a>(files: impl Iterator<Item = &'a Range<u64>>) -> Vec<Neighbors> {
    let mut small: Vec<&Range<u64>> =
        files.filter(|file| file.end - file.start <= TOGETHER).collect();
    small.sort_unstable_by_key(|file| (file.start, file.end));
    let mut groups: Vec<Range<u64>> = Vec::new();
    for file in small {
        match groups.last_mut() {
            Some(group) if group.end == file.start && file.end - group.start <= TOGETHER => {
                group.end = file.end;
            }
            _ => groups.push(file.clone()),
        }
    }
    groups.into_iter().map(|range| Neighbors { range, fetching: Mutex::new(()) }).collect()
}

impl BundleDirectory {
    /// Opens a bundle with one read of its footer, when the log's offset of it is known.
    pub fn open(
        source: Arc<dyn RangeSource>,
        footer_start: Option<u64>,
    ) -> Result<BundleDirectory> {
        if source.is_remote() && source.len() <= WHOLE {
            source.read(0..source.len())?;
        }
        let footer = read_footer(source.as_ref(), footer_start)?;
        let hotcache = HotCache::parse(&footer.hotcache)?;
        let files: BTreeMap<PathBuf, Range<u64>> =
            footer.files.into_iter().map(|(name, range)| (PathBuf::from(name), range)).collect();
        let neighbors = neighbors(files.values());
        Ok(BundleDirectory {
            bundle: Arc::new(Bundle {
                source,
                files,
                hotcache,
                footer_start: footer.start,
                checks: OnceLock::new(),
                neighbors,
            }),
            replaced: None,
        })
    }

    /// The same files, one of them with other bytes for tantivy.
    pub fn with_file(&self, path: PathBuf, bytes: OwnedBytes) -> BundleDirectory {
        BundleDirectory { bundle: self.bundle.clone(), replaced: Some(Arc::new((path, bytes))) }
    }

    /// Names and lengths of all files.
    pub fn files(&self) -> impl Iterator<Item = (&Path, u64)> {
        let files = self.bundle.files.iter();
        files.map(|(path, range)| (path.as_path(), range.end - range.start))
    }

    pub fn footer_start(&self) -> u64 {
        self.bundle.footer_start
    }

    pub fn len(&self) -> u64 {
        self.bundle.source.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn is_remote(&self) -> bool {
        self.bundle.source.is_remote()
    }

    /// All bytes of one file, if the bundle has it.
    pub fn file(&self, name: &str) -> io::Result<Option<OwnedBytes>> {
        let path = Path::new(name);
        match self.bundle.files.get(path) {
            None => Ok(None),
            Some(range) if self.is_remote() => {
                self.fetch(path, range, 0..range.end - range.start).map(Some)
            }
            Some(range) => self.local(path, range)?.all().map(Some),
        }
    }

    /// From now on, verifies local bytes against the split's checksums when they are first used.
    pub fn compare(&self, sidecar: Option<&Sidecar>) -> Result<()> {
        if self.is_remote() {
            return Ok(());
        }
        let checks = match sidecar {
            Some(sidecar) => {
                self.compare_sidecar()?;
                let length = |name: &str| {
                    self.bundle.files.get(Path::new(name)).map(|range| range.end - range.start)
                };
                Checks::from_sidecar(sidecar, length)
            }
            None => Checks::from_tantivy(self.bundle.files.keys().map(PathBuf::as_path), |name| {
                self.bundle.source.read(self.bundle.files[name].clone())
            })?,
        };
        let _ = self.bundle.checks.set(checks);
        Ok(())
    }

    /// The sidecar has the checksums of all other files; its own is in a separate file.
    fn compare_sidecar(&self) -> Result<()> {
        let (Some(sum), Some(sidecar)) = (self.file(SIDECAR_SUM_FILE)?, self.file(SIDECAR_FILE)?)
        else {
            return Ok(());
        };
        if crc32fast::hash(&sidecar).to_le_bytes() != sum.as_slice() {
            return Err(EngineError::corrupt(
                "",
                format!("the checksum of {SIDECAR_FILE} does not match"),
            ));
        }
        Ok(())
    }

    /// Fetches ranges of one file together, so that later reads find them in the caches.
    pub fn prefetch(&self, path: &Path, wanted: &[Range<u64>]) -> io::Result<()> {
        let Some(file) = self.bundle.files.get(path) else {
            return Ok(());
        };
        if !self.is_remote() {
            return Ok(());
        }
        let mut missing: Vec<Range<u64>> = Vec::new();
        for range in wanted {
            let absolute = within(file, range)?;
            if self.bundle.hotcache.get(path, range).is_none() {
                missing.push(absolute);
            }
        }
        self.bundle.source.read_many(&missing).map(|_| ())
    }

    fn local(&self, path: &Path, file: &Range<u64>) -> io::Result<LocalFile> {
        Ok(LocalFile {
            path: path.to_owned(),
            content: self.bundle.source.read(file.clone())?,
            checks: self.bundle.checks.get().and_then(|checks| checks.of(path)),
        })
    }

    fn fetch(&self, path: &Path, file: &Range<u64>, range: Range<u64>) -> io::Result<OwnedBytes> {
        if range.is_empty() {
            return Ok(OwnedBytes::empty());
        }
        let absolute = within(file, &range)?;
        match self.bundle.hotcache.get(path, &range) {
            Some(bytes) => Ok(bytes),
            None => self.fetch_near(absolute),
        }
    }

    fn fetch_near(&self, wanted: Range<u64>) -> io::Result<OwnedBytes> {
        let Bundle { source, neighbors, .. } = self.bundle.as_ref();
        let after = neighbors.partition_point(|group| group.range.start <= wanted.start);
        let group = neighbors[..after].last().filter(|group| wanted.end <= group.range.end);
        let Some(Neighbors { range, fetching }) = group else {
            return source.read(wanted);
        };
        let _one = lock(fetching);
        source.read_near(wanted, range.clone())
    }
}

fn within(file: &Range<u64>, range: &Range<u64>) -> io::Result<Range<u64>> {
    let len = file.end - file.start;
    if range.start > range.end || range.end > len {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("range {range:?} leaves a file of {len} bytes"),
        ));
    }
    Ok(file.start + range.start..file.start + range.end)
}

impl fmt::Debug for BundleDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BundleDirectory({} files)", self.bundle.files.len())
    }
}

/// One file of a bundle whose bytes are addressable in place.
struct LocalFile {
    path: PathBuf,
    content: OwnedBytes,
    checks: Option<Arc<FileChecks>>,
}

impl LocalFile {
    fn all(&self) -> io::Result<OwnedBytes> {
        self.read_bytes(0..self.content.len())
    }
}

impl fmt::Debug for LocalFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LocalFile({})", self.path.display())
    }
}

impl HasLen for LocalFile {
    fn len(&self) -> usize {
        self.content.len()
    }
}

impl FileHandle for LocalFile {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        let wanted = range.start as u64..range.end as u64;
        within(&(0..self.content.len() as u64), &wanted)?;
        if let Some(checks) = &self.checks {
            checks
                .check(&self.content, &wanted)
                .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", self.path.display())))?;
        }
        Ok(self.content.slice(range))
    }
}

/// One file of a bundle that is fetched piece by piece.
struct BundleFile {
    directory: BundleDirectory,
    path: PathBuf,
    range: Range<u64>,
}

impl fmt::Debug for BundleFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BundleFile({})", self.path.display())
    }
}

impl HasLen for BundleFile {
    fn len(&self) -> usize {
        (self.range.end - self.range.start) as usize
    }
}

impl FileHandle for BundleFile {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        let range = range.start as u64..range.end as u64;
        self.directory.fetch(&self.path, &self.range, range)
    }
}

fn read_only() -> io::Error {
    io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "a split is immutable")
}

impl Directory for BundleDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        if let Some(replaced) = self.replaced.as_ref().filter(|replaced| replaced.0 == path) {
            return Ok(Arc::new(replaced.1.clone()));
        }
        let range = self.bundle.files.get(path);
        let range = range.ok_or_else(|| OpenReadError::FileDoesNotExist(path.to_owned()))?;
        if !self.is_remote() {
            let local = self.local(path, range);
            let local = local.map_err(|e| OpenReadError::wrap_io_error(e, path.to_owned()))?;
            return Ok(Arc::new(local));
        }
        Ok(Arc::new(BundleFile {
            directory: self.clone(),
            path: path.to_owned(),
            range: range.clone(),
        }))
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        Err(DeleteError::IoError { io_error: Arc::new(read_only()), filepath: path.to_owned() })
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        Ok(self.bundle.files.contains_key(path))
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        Err(OpenWriteError::wrap_io_error(read_only(), path.to_owned()))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let handle = self.get_file_handle(path)?;
        let bytes = handle
            .read_bytes(0..handle.len())
            .map_err(|e| OpenReadError::wrap_io_error(e, path.to_owned()))?;
        Ok(bytes.to_vec())
    }

    fn atomic_write(&self, _: &Path, _: &[u8]) -> io::Result<()> {
        Err(read_only())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, _: &Lock) -> Result<DirectoryLock, LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_side_by_side_are_fetched_together() {
        let files = [0..10, 10..10, 10..60_000, 60_000..70_000, 70_000..170_000, 170_000..170_009];
        let groups: Vec<Range<u64>> =
            neighbors(files.iter()).into_iter().map(|n| n.range).collect();
        assert_eq!(groups, [0..60_000, 60_000..70_000, 170_000..170_009]);
    }
}
