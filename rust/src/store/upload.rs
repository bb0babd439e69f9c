//! The upload of a new file to a store: visible under its name as a whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStoreExt, PutPayload};
use tokio::task::JoinSet;

use super::connect::{Client, UploadPlan};
use super::counters::Request;
use super::local::{make_parent, partial_name};
use super::runtime;
use crate::cancel::Cancel;
use crate::error::{At, EngineError, Result};

/// No store takes more parts than this.
const MOST_PARTS: u64 = 10_000;
/// The timeout for removing the parts of a failed upload.
const LAST_PATIENCE: Duration = Duration::from_secs(30);

/// Takes the bytes of a new file in order. An incomplete upload is aborted on drop.
pub struct Upload {
    target: Target,
    cancel: Cancel,
}

enum Target {
    Local(LocalFile),
    Remote(Parts),
}

impl Upload {
    /// A file on local disk, written beside its place.
    pub(super) fn local(file: PathBuf, cancel: &Cancel) -> Result<Upload> {
        Ok(Upload { target: Target::Local(LocalFile::create(file)?), cancel: cancel.clone() })
    }

    /// An object; no request is sent yet.
    pub(super) fn remote(
        client: Arc<Client>,
        path: Path,
        expected: u64,
        cancel: &Cancel,
    ) -> Upload {
        let sizes = Sizes::plan(client.upload, expected);
        let (begun, sending) = (None, JoinSet::new());
        let parts = Parts { client, path, sizes, held: Vec::new(), begun, sending };
        Upload { target: Target::Remote(parts), cancel: cancel.clone() }
    }

    /// Makes the file appear.
    pub fn complete(mut self) -> Result<()> {
        self.cancel.check()?;
        match &mut self.target {
            Target::Local(file) => file.complete(),
            Target::Remote(parts) => parts.complete(),
        }
    }
}

impl Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.cancel.check()?;
        match &mut self.target {
            Target::Local(file) => file.out.write(bytes),
            Target::Remote(parts) => {
                parts.take(bytes)?;
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        // parts have one size: an incomplete one cannot be sent
        Ok(())
    }
}

struct LocalFile {
    out: File,
    /// The temporary file, until it is renamed.
    partial: PathBuf,
    target: PathBuf,
}

impl LocalFile {
    fn create(target: PathBuf) -> Result<LocalFile> {
        let partial = partial_name(&target);
        let name = target.to_string_lossy();
        make_parent(&target).at(&name)?;
        let out = File::create_new(&partial).at(&name)?;
        Ok(LocalFile { out, partial, target })
    }

    fn complete(&mut self) -> Result<()> {
        fs::rename(&self.partial, &self.target).at(&self.target.to_string_lossy())?;
        self.partial = PathBuf::new();
        Ok(())
    }
}

impl Drop for LocalFile {
    fn drop(&mut self) {
        if self.partial != FilePath::new("") {
            // the error that led here is more informative
            let _ = fs::remove_file(&self.partial);
        }
    }
}

/// When a file is sent in parts, and how large they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sizes {
    /// Most bytes that are sent as a whole.
    whole: usize,
    part: usize,
}

impl Sizes {
    /// `expected` is the size of the index without its footer, so parts are sized for twice that. All parts but
    /// the last have one size, because not every store takes parts of different sizes.
    fn plan(plan: UploadPlan, expected: u64) -> Sizes {
        let part = plan.part.max((2 * expected).div_ceil(MOST_PARTS));
        // a file that will exceed the threshold is sent in parts from the start
        let whole = if expected <= plan.threshold { plan.threshold } else { 0 };
        Sizes { whole: whole as usize, part: part as usize }
    }
}

/// An object in memory until it is too large for one request, then parts, some of them in flight.
struct Parts {
    client: Arc<Client>,
    path: Path,
    sizes: Sizes,
    held: Vec<u8>,
    begun: Option<Box<dyn MultipartUpload>>,
    sending: JoinSet<object_store::Result<()>>,
}

impl Parts {
    fn take(&mut self, mut bytes: &[u8]) -> Result<()> {
        if self.begun.is_none() {
            if self.held.len() + bytes.len() <= self.sizes.whole {
                self.held.extend_from_slice(bytes);
                return Ok(());
            }
            self.begin()?;
        }
        while !bytes.is_empty() {
            let room = (self.sizes.part - self.held.len()).min(bytes.len());
            self.held.extend_from_slice(&bytes[..room]);
            bytes = &bytes[room..];
            if self.held.len() == self.sizes.part {
                let full = std::mem::replace(&mut self.held, Vec::with_capacity(self.sizes.part));
                self.send(full)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<()> {
        let store = self.client.connect()?;
        self.client.counters.ask(Request::Part, 1);
        let begun = runtime::block_on(store.put_multipart(&self.path))?;
        self.begun = Some(begun.map_err(|e| self.failed(e))?);
        // more than one part may have been held back
        let held = std::mem::take(&mut self.held);
        let whole_parts = held.len() / self.sizes.part * self.sizes.part;
        for part in held[..whole_parts].chunks(self.sizes.part) {
            self.send(part.to_vec())?;
        }
        self.held.reserve_exact(self.sizes.part);
        self.held.extend_from_slice(&held[whole_parts..]);
        Ok(())
    }

    /// Sends a part, once few enough parts are in flight.
    fn send(&mut self, part: Vec<u8>) -> Result<()> {
        let begun = self.begun.as_mut().ok_or_else(|| EngineError::internal("no upload"))?;
        self.client.counters.ask(Request::Part, 1);
        self.client.counters.wrote(part.len() as u64);
        let sending = begun.put_part(PutPayload::from(part));
        let most = self.client.upload.concurrency;
        let set = &mut self.sending;
        let sent = runtime::block_on(async {
            while set.len() >= most {
                arrived(set).await?;
            }
            set.spawn(sending);
            Ok(())
        })?;
        sent.map_err(|e| self.failed(e))
    }

    fn complete(&mut self) -> Result<()> {
        if self.begun.is_none() {
            let (store, whole) = (self.client.connect()?, std::mem::take(&mut self.held));
            self.client.counters.ask(Request::Put, 1);
            self.client.counters.wrote(whole.len() as u64);
            let sent = runtime::block_on(async { store.put(&self.path, whole.into()).await })?;
            return sent.map(|_| ()).map_err(|e| self.failed(e));
        }
        if !self.held.is_empty() {
            let last = std::mem::take(&mut self.held);
            self.send(last)?;
        }
        let (begun, set) = (&mut self.begun, &mut self.sending);
        self.client.counters.ask(Request::Part, 1);
        let completed = runtime::block_on(async {
            while !set.is_empty() {
                arrived(set).await?;
            }
            match begun {
                Some(upload) => upload.complete().await.map(|_| ()),
                None => Ok(()),
            }
        })?;
        completed.map_err(|e| self.failed(e))?;
        self.begun = None;
        Ok(())
    }

    fn failed(&self, error: object_store::Error) -> EngineError {
        self.client.failed(&self.path, error)
    }
}

async fn arrived(sending: &mut JoinSet<object_store::Result<()>>) -> object_store::Result<()> {
    sending.join_next().await.map_or(Ok(()), |sent| sent?)
}

impl Drop for Parts {
    fn drop(&mut self) {
        let Some(mut upload) = self.begun.take() else { return };
        let sending = &mut self.sending;
        self.client.counters.ask(Request::Part, 1);
        // parts cost money until they are removed, so even an interrupted upload waits a
        // little for that; the first error is more informative
        let _ = Cancel::during(None, || {
            runtime::block_on(async {
                let removed = async {
                    sending.shutdown().await;
                    upload.abort().await
                };
                tokio::time::timeout(LAST_PATIENCE, removed).await
            })
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    const PLAN: UploadPlan = UploadPlan { threshold: 40, part: 10, concurrency: 2 };

    #[test]
    fn parts_are_not_too_many() {
        assert_eq!(Sizes::plan(PLAN, 40), Sizes { whole: 40, part: 10 });
        assert_eq!(Sizes::plan(PLAN, 41), Sizes { whole: 0, part: 10 });
        assert_eq!(Sizes::plan(PLAN, 1_000_000), Sizes { whole: 0, part: 200 });
    }

    fn send(store: &Store, bytes: &[u8], expected: u64) -> Result<()> {
        let mut upload = store.create("a/b", expected, &Cancel::default())?;
        for piece in bytes.chunks(300_000) {
            upload.write_all(piece)?;
        }
        upload.complete()
    }

    #[test]
    fn a_file_arrives_whole_however_it_is_cut() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let places = [folder.path().to_string_lossy().into_owned(), "memory:///upload".to_owned()];
        for place in places {
            for (size, threshold) in
                [(0, 1), (5 << 20, 0), (12 << 20, 11 << 20), (9 << 20, 9 << 20)]
            {
                let bytes: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
                let options =
                    format!(r#"{{"upload_threshold_bytes":{threshold},"upload_part_bytes":1}}"#);
                let store = Store::open(&place, &options)?;
                for expected in [0, size as u64, 100 << 20] {
                    send(&store, &bytes, expected)?;
                    assert!(store.get("a/b")? == bytes, "{place} {size} {threshold} {expected}");
                    store.delete("a/b")?;
                }
            }
        }
        Ok(())
    }

    #[test]
    fn a_file_that_is_not_completed_never_was() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let local = folder.path().to_string_lossy().into_owned();
        for place in [local.as_str(), "memory:///dropped"] {
            let store = Store::open(place, r#"{"upload_threshold_bytes":0}"#)?;
            let cancel = Cancel::default();
            let mut upload = store.create("b.split", 0, &cancel)?;
            upload.write_all(&vec![7; 17 << 20])?;
            let beside: Vec<_> = fs::read_dir(folder.path())?.flatten().map(|f| f.path()).collect();
            assert!(beside.iter().all(|file| file.extension() == Some("split".as_ref())));
            assert_eq!(beside.len(), usize::from(place == local));
            cancel.ask();
            assert!(upload.write_all(b"more").is_err());
            assert!(matches!(upload.complete(), Err(EngineError::Interrupted)));
            assert!(matches!(store.get("b.split"), Err(EngineError::Missing { .. })), "{place}");
        }
        assert_eq!(fs::read_dir(folder.path())?.count(), 0);
        Ok(())
    }
}
