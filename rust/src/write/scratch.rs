//! A folder for the files of one segment while it is written; removed on drop.
//!
//! Its owner holds a lock in it. The next process that creates such a folder removes those without a holder,
//! which were left by killed processes.
//!
//! Unlike tantivy's own directory it does not wait for the disk: nothing here outlives the process.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, TerminatingWrite, WatchCallback,
    WatchHandle, WritePtr,
};

use crate::cancel::Cancel;
use crate::error::{At, Result};
use crate::store::map_file;

#[derive(Clone)]
pub struct Scratch {
    folder: Arc<Folder>,
}

const PREFIX: &str = "indextables-";
const LOCK: &str = "owner.lock";
/// A younger folder may not have its lock yet.
const YOUNG: Duration = Duration::from_secs(60);
/// The parent folders that this process has cleaned.
static CLEANED: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);

struct Folder {
    path: PathBuf,
    _lock: File,
    written: AtomicU64,
    cancel: Cancel,
}

impl Drop for Folder {
    fn drop(&mut self) {
        // leftovers are removed when the temporary folder is cleaned
        let _ = fs::remove_dir_all(&self.path);
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scratch({})", self.folder.path.display())
    }
}

impl Scratch {
    /// A new folder below `parent`, or below the system's temporary folder. After a cancellation, writing to it
    /// fails, which stops tantivy.
    pub fn create(parent: Option<&Path>, cancel: Cancel) -> Result<Self> {
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
        let mut cleaned = CLEANED.lock().unwrap_or_else(PoisonError::into_inner);
        if cleaned.get_or_insert_default().insert(parent.clone()) {
            remove_abandoned(&parent, YOUNG);
        }
        drop(cleaned);
        let path = parent.join(format!("{PREFIX}{}", uuid::Uuid::new_v4().simple()));
        fs::create_dir_all(&path).at(&path.to_string_lossy())?;
        let lock = lock_in(&path).at(&path.to_string_lossy())?;
        let written = AtomicU64::new(0);
        Ok(Self { folder: Arc::new(Folder { path, _lock: lock, written, cancel }) })
    }

    /// The path of an additional file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path.join(name)
    }

    /// Bytes written to files so far.
    pub fn written(&self) -> u64 {
        self.folder.written.load(Ordering::Relaxed)
    }

    fn resolve(&self, path: &Path) -> PathBuf {
        self.folder.path.join(path)
    }
}

fn lock_in(folder: &Path) -> io::Result<File> {
    let file = File::create(folder.join(LOCK))?;
    // on a file system without locks, no process considers the folder abandoned
    let _ = file.try_lock();
    Ok(file)
}

/// Removes the folders below a place whose owners were killed.
fn remove_abandoned(parent: &Path, young: Duration) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX)
            && is_abandoned(&entry.path(), young).unwrap_or(false)
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_abandoned(folder: &Path, young: Duration) -> io::Result<bool> {
    let lock = folder.join(LOCK);
    let age = fs::metadata(&lock)?.modified()?.elapsed().unwrap_or_default();
    Ok(age >= young && File::open(lock)?.try_lock().is_ok())
}

struct ScratchFile {
    file: File,
    folder: Arc<Folder>,
}

impl Write for ScratchFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.folder.cancel.check()?;
        let count = self.file.write(bytes)?;
        self.folder.written.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl TerminatingWrite for ScratchFile {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.file.flush()
    }
}

fn open_error(error: io::Error, path: &Path) -> OpenReadError {
    match error.kind() {
        io::ErrorKind::NotFound => OpenReadError::FileDoesNotExist(path.to_owned()),
        _ => OpenReadError::wrap_io_error(error, path.to_owned()),
    }
}

impl Directory for Scratch {
    fn get_file_handle(
        &self,
        path: &Path,
    ) -> std::result::Result<Arc<dyn FileHandle>, OpenReadError> {
        let bytes = map_file(&self.resolve(path)).map_err(|error| open_error(error, path))?;
        Ok(Arc::new(bytes))
    }

    fn open_write(&self, path: &Path) -> std::result::Result<WritePtr, OpenWriteError> {
        let opened = File::options().write(true).create_new(true).open(self.resolve(path));
        let file = opened.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => OpenWriteError::FileAlreadyExists(path.to_owned()),
            _ => OpenWriteError::wrap_io_error(error, path.to_owned()),
        })?;
        Ok(BufWriter::with_capacity(
            1 << 17,
            Box::new(ScratchFile { file, folder: self.folder.clone() }),
        ))
    }

    fn exists(&self, path: &Path) -> std::result::Result<bool, OpenReadError> {
        self.resolve(path).try_exists().map_err(|error| open_error(error, path))
    }

    fn atomic_read(&self, path: &Path) -> std::result::Result<Vec<u8>, OpenReadError> {
        fs::read(self.resolve(path)).map_err(|error| open_error(error, path))
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        fs::write(self.resolve(path), data)
    }

    fn delete(&self, path: &Path) -> std::result::Result<(), DeleteError> {
        fs::remove_file(self.resolve(path)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => DeleteError::FileDoesNotExist(path.to_owned()),
            _ => DeleteError::IoError { io_error: Arc::new(error), filepath: path.to_owned() },
        })
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, _: &Lock) -> std::result::Result<DirectoryLock, LockError> {
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
    fn only_folders_of_dead_owners_are_removed() -> Result<()> {
        let place = tempfile::tempdir().at("temp")?;
        let living = Scratch::create(Some(place.path()), Cancel::default())?;
        let dead = place.path().join(format!("{PREFIX}dead"));
        let other = place.path().join("something-else");
        for folder in [&dead, &other] {
            fs::create_dir_all(folder).at("temp")?;
            File::create(folder.join(LOCK)).at("temp")?;
        }
        remove_abandoned(place.path(), YOUNG);
        assert!(dead.exists(), "it may be about to be locked");
        remove_abandoned(place.path(), Duration::ZERO);
        assert!(!dead.exists());
        assert!(other.exists());
        assert!(living.path(LOCK).exists());
        Ok(())
    }
}
