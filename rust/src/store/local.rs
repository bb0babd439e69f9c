//! A folder on local disk as a store, with the standard library only: no runtime is needed.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path as FilePath, PathBuf};
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use walkdir::WalkDir;

use super::{Counters, Meta, check_path, counters::Request};
use crate::error::{At, EngineError, Result};

/// A folder; it is created with the first file.
pub(super) struct Folder {
    root: PathBuf,
    pub(super) counters: Counters,
}

impl Folder {
    pub(super) fn new(root: PathBuf) -> Folder {
        Folder { root, counters: Counters::new(false) }
    }

    /// The file of a path that stays inside the folder.
    pub(super) fn file(&self, path: &str) -> Result<PathBuf> {
        check_path(path)?;
        Ok(self.root.join(path))
    }

    pub(super) fn find(&self, path: &str) -> Result<Option<Bytes>> {
        let file = self.file(path)?;
        self.counters.ask(Request::Get, 1);
        let bytes: Option<Bytes> = present(fs::read(&file).map(Bytes::from)).at(&shown(&file))?;
        self.counters.read(bytes.as_ref().map_or(0, |b| b.len() as u64));
        Ok(bytes)
    }

    pub(super) fn ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let file = self.file(path)?;
        self.counters.ask(Request::Get, 1);
        let read = || -> io::Result<Vec<Bytes>> {
            let mut open = fs::File::open(&file)?;
            let size = open.metadata()?.len();
            let one = |range: &Range<u64>| {
                if range.start > range.end || range.end > size {
                    // not a damaged file: the caller may have guessed the length
                    let detail = format!("range {range:?} leaves a file of {size} bytes");
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, detail));
                }
                let mut bytes = vec![0; (range.end - range.start) as usize];
                open.seek(SeekFrom::Start(range.start))?;
                open.read_exact(&mut bytes)?;
                Ok(Bytes::from(bytes))
            };
            ranges.iter().map(one).collect()
        };
        let parts = read().at(&shown(&file))?;
        self.counters.read(parts.iter().map(|part| part.len() as u64).sum());
        Ok(parts)
    }

    /// Writes a file atomically; false if it must be new and already exists.
    pub(super) fn put(&self, path: &str, bytes: &[u8], if_absent: bool) -> Result<bool> {
        let target = self.file(path)?;
        self.counters.ask(Request::Put, 1);
        let written = write_whole(&target, bytes, if_absent).map_err(|error| {
            let detail = error.to_string();
            match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    EngineError::Refused { path: shown(&target), detail }
                }
                _ => EngineError::Storage { path: shown(&target), detail },
            }
        })?;
        self.counters.wrote(if written { bytes.len() as u64 } else { 0 });
        Ok(written)
    }

    pub(super) fn head(&self, path: &str) -> Result<Option<Meta>> {
        let file = self.file(path)?;
        self.counters.ask(Request::Head, 1);
        let found = present(fs::metadata(&file)).at(&shown(&file))?;
        Ok(found.filter(fs::Metadata::is_file).map(|found| meta(path.to_owned(), &found)))
    }

    /// All files below a folder, after a path, in order.
    pub(super) fn list(&self, prefix: &str, after: &str) -> Result<Vec<Meta>> {
        let start = self.below(prefix)?;
        self.counters.ask(Request::List, 1);
        let mut found = Vec::new();
        for entry in WalkDir::new(&start).follow_links(true) {
            // removed by a clean-up in the meantime
            let Some(entry) = present(entry.map_err(io::Error::from)).at(&shown(&start))? else {
                continue;
            };
            let Some(about) = present(entry.metadata().map_err(io::Error::from)).at(prefix)? else {
                continue;
            };
            let path = entry.path().strip_prefix(&self.root).map_err(EngineError::internal)?;
            let path = path.to_string_lossy();
            if about.is_file() && *path > *after && entry.depth() > 0 {
                found.push(meta(path.into_owned(), &about));
            }
        }
        found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// The names in a folder, unsorted.
    pub(super) fn names(&self, prefix: &str) -> Result<Vec<String>> {
        let folder = self.below(prefix)?;
        self.counters.ask(Request::List, 1);
        let Some(entries) = present(fs::read_dir(&folder)).at(&shown(&folder))? else {
            return Ok(Vec::new());
        };
        let name = |entry: io::Result<fs::DirEntry>| {
            entry.map(|entry| entry.file_name().to_string_lossy().into_owned())
        };
        entries.map(name).collect::<io::Result<_>>().at(&shown(&folder))
    }

    /// The files directly in a folder, and the names of the folders in it; unsorted.
    pub(super) fn inside(&self, prefix: &str) -> Result<(Vec<Meta>, Vec<String>)> {
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        for name in self.names(prefix)? {
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
            // removed by a clean-up in the meantime
            let file = self.root.join(&path);
            let Some(found) = present(fs::metadata(&file)).at(&shown(&file))? else { continue };
            if found.is_dir() {
                folders.push(name);
            } else if found.is_file() {
                files.push(meta(path, &found));
            }
        }
        Ok((files, folders))
    }

    pub(super) fn delete(&self, path: &str) -> Result<()> {
        let file = self.file(path)?;
        self.counters.ask(Request::Delete, 1);
        present(fs::remove_file(&file)).at(&shown(&file)).map(|_| ())
    }

    /// Removes a folder if it is empty.
    pub(super) fn remove_empty(&self, path: &str) -> Result<()> {
        // not empty, or gone: either is fine
        let _ = fs::remove_dir(self.file(path)?);
        Ok(())
    }

    fn below(&self, prefix: &str) -> Result<PathBuf> {
        if prefix.is_empty() { Ok(self.root.clone()) } else { self.file(prefix) }
    }
}

/// None if the file, or its folder, does not exist.
fn present<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(e) => Err(e),
    }
}

fn shown(file: &FilePath) -> String {
    file.to_string_lossy().into_owned()
}

fn meta(path: String, found: &fs::Metadata) -> Meta {
    let modified = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified_ms = modified.map_or(0, |time| time.as_millis() as i64);
    let changed_ns = Some(changed_ns(found));
    Meta { path, size: found.len(), modified_ms, e_tag: None, changed_ns }
}

/// The ctime of a file. Unlike the modification time it cannot be set, so another file at the same path has
/// another ctime, even if it has the same size and modification time.
pub(super) fn changed_ns(found: &fs::Metadata) -> i64 {
    found.ctime() * 1_000_000_000 + found.ctime_nsec()
}

/// Writes a temporary file and renames it, so that readers never see part of a file. One of several writers
/// of a new file wins, because a link fails if the name exists.
fn write_whole(target: &FilePath, bytes: &[u8], if_absent: bool) -> io::Result<bool> {
    let partial = Partial(partial_name(target));
    if let Err(e) = fs::write(&partial.0, bytes) {
        if e.kind() != io::ErrorKind::NotFound {
            return Err(e);
        }
        make_parent(target)?;
        fs::write(&partial.0, bytes)?;
    }
    if !if_absent {
        fs::rename(&partial.0, target)?;
        return Ok(true);
    }
    match fs::hard_link(&partial.0, target) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(e),
    }
}

/// A file that is deleted on drop, if it still exists.
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

pub(super) fn make_parent(file: &FilePath) -> io::Result<()> {
    file.parent().map_or(Ok(()), fs::create_dir_all)
}

/// The temporary path of a file. It has the same ending as the file, so that the file of a killed writer is
/// recognized as an orphan of its kind.
pub(super) fn partial_name(target: &FilePath) -> PathBuf {
    let mut name = std::ffi::OsString::from(format!(".{}.", uuid::Uuid::new_v4().simple()));
    name.push(target.file_name().unwrap_or_default());
    target.with_file_name(name)
}
