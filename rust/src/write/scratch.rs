//! A folder for the files of one segment while it is written; gone when it is dropped.
//!
//! Unlike tantivy's own directory it does not wait for the disk: nothing here outlives the process.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ownedbytes::OwnedBytes;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, TerminatingWrite, WatchCallback,
    WatchHandle, WritePtr,
};

use crate::cancel::Cancel;
use crate::error::{At, Result};

#[derive(Clone)]
pub struct Scratch {
    folder: Arc<Folder>,
}

struct Folder {
    path: PathBuf,
    written: AtomicU64,
    cancel: Cancel,
}

impl Drop for Folder {
    fn drop(&mut self) {
        // what cannot be removed is left to whoever cleans the temporary folder
        let _ = fs::remove_dir_all(&self.path);
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scratch({})", self.folder.path.display())
    }
}

impl Scratch {
    /// A new folder below `parent`, or below the system's temporary folder. Writing to it fails once
    /// it was asked to: that is how the work of tantivy is stopped.
    pub fn create(parent: Option<&Path>, cancel: Cancel) -> Result<Self> {
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
        let path = parent.join(format!("indextables-{}", uuid::Uuid::new_v4().simple()));
        fs::create_dir_all(&path).at(&path.to_string_lossy())?;
        Ok(Self { folder: Arc::new(Folder { path, written: AtomicU64::new(0), cancel }) })
    }

    /// The place of a file that may be written beside the index's own.
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

/// The bytes of a local file that nobody changes any more.
pub fn map_file(path: &Path) -> io::Result<OwnedBytes> {
    let file = File::open(path)?;
    if file.metadata()?.len() == 0 {
        return Ok(OwnedBytes::empty());
    }
    // SAFETY: files are mapped only after they were finished, and only this process knows them.
    let map = unsafe { memmap2::Mmap::map(&file)? };
    Ok(OwnedBytes::new(Mapped(map)))
}

struct Mapped(memmap2::Mmap);

impl std::ops::Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

// SAFETY: the address of a map does not change while it lives.
unsafe impl ownedbytes::StableDeref for Mapped {}

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
