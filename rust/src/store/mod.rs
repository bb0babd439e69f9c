//! Object stores and local disk, reached by a URL and the options of crate `object_store`.

mod remote;
mod runtime;
mod source;

use std::collections::HashMap;
use std::fs;
use std::path::{Path as FilePath, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use bytes::Bytes;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, WriteMultipart};
use url::Url;

pub use source::{BytesSource, RangeSource};

use crate::error::{At, EngineError, Result};
use remote::RemoteSource;
use runtime::PerProcess;

/// What was asked of object stores since the process started.
#[derive(Debug, Default)]
pub struct Counters {
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl Counters {
    pub fn requests(&self) -> u64 {
        self.requests.load(Relaxed)
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    fn add(&self, requests: u64, bytes: u64) {
        self.requests.fetch_add(requests, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
        if !std::ptr::eq(self, &raw const TOTAL) {
            TOTAL.add(requests, bytes);
        }
    }
}

static TOTAL: Counters = Counters { requests: AtomicU64::new(0), bytes: AtomicU64::new(0) };

/// Counters of all stores of this process.
pub fn totals() -> &'static Counters {
    &TOTAL
}

/// A place that holds the files of a table.
#[derive(Clone)]
pub struct Store {
    url: String,
    place: Place,
}

#[derive(Clone)]
enum Place {
    Local(PathBuf),
    Remote(Arc<Client>, Path),
}

/// How to reach an object store; connections are made again after a fork.
struct Client {
    url: Url,
    options: HashMap<String, String>,
    connection: PerProcess<Arc<dyn ObjectStore>>,
    counters: Counters,
}

impl Client {
    fn connect(&self) -> Result<Arc<dyn ObjectStore>> {
        self.connection.get(|| {
            if self.url.scheme() == "memory" {
                return Ok(shared_memory());
            }
            object_store::parse_url_opts(&self.url, &self.options)
                .map(|(store, _)| Arc::from(store))
                .map_err(|e| storage_error(self.url.as_str(), e))
        })
    }
}

/// All `memory:` stores of a process are one, so that a writer and a reader meet.
fn shared_memory() -> Arc<dyn ObjectStore> {
    static MEMORY: LazyLock<Arc<InMemory>> = LazyLock::new(|| Arc::new(InMemory::new()));
    MEMORY.clone()
}

fn storage_error(path: &str, error: object_store::Error) -> EngineError {
    let path = path.to_owned();
    match error {
        object_store::Error::NotFound { .. } => EngineError::Missing { path },
        object_store::Error::AlreadyExists { .. } => EngineError::Exists { path },
        other => EngineError::Storage { path, detail: other.to_string() },
    }
}

impl Store {
    /// Opens a store by URL (`file:`, a plain path, `memory:`, `s3:`, `az:`/`abfss:`, `gs:`, `http:`)
    /// and a JSON object of options; nothing is connected yet.
    pub fn open(url: &str, options: &str) -> Result<Store> {
        let options = parse_options(options)?;
        let place = if let Some(path) = local_path(url)? {
            Place::Local(path)
        } else {
            let bad =
                |e: &dyn std::fmt::Display| EngineError::bad_option("url", url, e.to_string());
            let parsed = Url::parse(url).map_err(|e| bad(&e))?;
            let (_, prefix) =
                object_store::ObjectStoreScheme::parse(&parsed).map_err(|e| bad(&e))?;
            let client = Client {
                url: parsed,
                options,
                connection: PerProcess::new(),
                counters: Counters::default(),
            };
            Place::Remote(Arc::new(client), prefix)
        };
        Ok(Store { url: url.to_owned(), place })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Requests made through this store, none for local disk.
    pub fn counters(&self) -> (u64, u64) {
        match &self.place {
            Place::Local(_) => (0, 0),
            Place::Remote(client, _) => (client.counters.requests(), client.counters.bytes()),
        }
    }

    /// The file on local disk, where the store is one.
    pub fn local_file(&self, path: &str) -> Option<PathBuf> {
        match &self.place {
            Place::Local(root) => Some(root.join(path)),
            Place::Remote(..) => None,
        }
    }

    /// Opens a file for reading; a known length saves a request.
    pub fn source(&self, path: &str, len: Option<u64>) -> Result<Arc<dyn RangeSource>> {
        match &self.place {
            Place::Local(root) => Ok(Arc::new(BytesSource::map(&root.join(path)).at(path)?)),
            Place::Remote(client, prefix) => {
                let full = object_path(prefix, path)?;
                Ok(Arc::new(RemoteSource::open(client.clone(), full, len)?))
            }
        }
    }

    /// All bytes of a file.
    pub fn get(&self, path: &str) -> Result<Bytes> {
        match &self.place {
            Place::Local(root) => Ok(fs::read(root.join(path)).at(path)?.into()),
            Place::Remote(client, prefix) => {
                let full = object_path(prefix, path)?;
                let store = client.connect()?;
                let read = runtime::block_on(async { store.get(&full).await?.bytes().await })?;
                let bytes = read.map_err(|e| storage_error(path, e))?;
                client.counters.add(1, bytes.len() as u64);
                Ok(bytes)
            }
        }
    }

    /// Writes a whole file, replacing what was there.
    pub fn put(&self, path: &str, bytes: Bytes) -> Result<()> {
        match &self.place {
            Place::Local(root) => {
                let target = root.join(path);
                make_parent(&target).at(path)?;
                let partial = partial_name(&target);
                fs::write(&partial, &bytes).at(path)?;
                fs::rename(&partial, &target).at(path)
            }
            Place::Remote(client, prefix) => {
                let full = object_path(prefix, path)?;
                let store = client.connect()?;
                client.counters.add(1, 0);
                runtime::block_on(async { store.put(&full, bytes.into()).await })?
                    .map_err(|e| storage_error(path, e))?;
                Ok(())
            }
        }
    }

    /// Moves a finished local file into the store: a rename where possible, else a parallel upload.
    pub fn upload(&self, file: &FilePath, path: &str) -> Result<()> {
        match &self.place {
            Place::Local(root) => {
                let target = root.join(path);
                make_parent(&target).at(path)?;
                if fs::rename(file, &target).is_ok() {
                    return Ok(());
                }
                // another file system: copy beside the target, so that it appears at once
                let partial = partial_name(&target);
                fs::copy(file, &partial).at(path)?;
                fs::rename(&partial, &target).at(path)?;
                let _ = fs::remove_file(file);
                Ok(())
            }
            Place::Remote(client, prefix) => {
                upload_parts(client, &object_path(prefix, path)?, file)?;
                let _ = fs::remove_file(file);
                Ok(())
            }
        }
    }

    /// Removes a file; it is no error when it is gone already.
    pub fn delete(&self, path: &str) -> Result<()> {
        match &self.place {
            Place::Local(root) => match fs::remove_file(root.join(path)) {
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
                other => other.at(path),
            },
            Place::Remote(client, prefix) => {
                let full = object_path(prefix, path)?;
                let store = client.connect()?;
                client.counters.add(1, 0);
                match runtime::block_on(async { store.delete(&full).await })? {
                    Err(object_store::Error::NotFound { .. }) => Ok(()),
                    other => other.map_err(|e| storage_error(path, e)),
                }
            }
        }
    }
}

fn upload_parts(client: &Client, path: &Path, file: &FilePath) -> Result<()> {
    /// Object stores ask for at least 5 MB per part.
    const PART: usize = 8 << 20;
    const IN_FLIGHT: usize = 4;
    let store = client.connect()?;
    let source = BytesSource::map(file)?;
    let len = source.len();
    client.counters.add(len.div_ceil(PART as u64) + 2, 0);
    let sent = runtime::block_on(async {
        let upload = store.put_multipart(path).await?;
        let mut writer = WriteMultipart::new_with_chunk_size(upload, PART);
        let mut at = 0;
        while at < len {
            let end = (at + PART as u64).min(len);
            writer.wait_for_capacity(IN_FLIGHT).await?;
            match source.read(at..end) {
                Ok(bytes) => writer.write(&bytes),
                Err(e) => {
                    writer.abort().await?;
                    return Err(object_store::Error::Generic {
                        store: "local file",
                        source: Box::new(e),
                    });
                }
            }
            at = end;
        }
        writer.finish().await
    })?;
    sent.map(|_| ()).map_err(|e| storage_error(path.as_ref(), e))
}

fn make_parent(file: &FilePath) -> std::io::Result<()> {
    file.parent().map_or(Ok(()), fs::create_dir_all)
}

fn partial_name(target: &FilePath) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".{}", uuid::Uuid::new_v4().simple()));
    target.with_file_name(name)
}

fn parse_options(options: &str) -> Result<HashMap<String, String>> {
    if options.trim().is_empty() {
        return Ok(HashMap::new());
    }
    let parsed: HashMap<String, serde_json::Value> = serde_json::from_str(options)
        .map_err(|e| EngineError::bad_option("store options", options, e.to_string()))?;
    Ok(parsed
        .into_iter()
        .map(|(key, value)| match value {
            serde_json::Value::String(text) => (key, text),
            other => (key, other.to_string()),
        })
        .collect())
}

/// The path on local disk a URL names, if it names one.
fn local_path(url: &str) -> Result<Option<PathBuf>> {
    if !url.contains(':') || url.starts_with('/') {
        return Ok(Some(PathBuf::from(url)));
    }
    let Some(rest) = url.strip_prefix("file:") else {
        return Ok(None);
    };
    // `file:/a`, `file:///a` and `file://localhost/a` are all in use
    let normal = if rest.starts_with("//") { url.to_owned() } else { format!("file://{rest}") };
    let bad = || EngineError::bad_option("url", url, "a path on this machine");
    let parsed = Url::parse(&normal).map_err(|_| bad())?;
    parsed.to_file_path().map(Some).map_err(|()| bad())
}

fn object_path(prefix: &Path, path: &str) -> Result<Path> {
    let full =
        if prefix.as_ref().is_empty() { path.to_owned() } else { format!("{prefix}/{path}") };
    Path::parse(&full)
        .map_err(|e| EngineError::Storage { path: path.to_owned(), detail: e.to_string() })
}

// keeps poisoning from spreading: every guarded value here stays valid after a panic
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_urls_have_several_spellings() {
        for url in ["/a b", "file:/a%20b", "file:///a%20b", "file://localhost/a%20b"] {
            assert_eq!(local_path(url).ok().flatten(), Some(PathBuf::from("/a b")), "{url}");
        }
        assert_eq!(local_path("s3://b/k").ok().flatten(), None);
    }

    #[test]
    fn memory_is_shared_between_stores() -> Result<()> {
        let bytes = Bytes::from_static(b"0123456789");
        Store::open("memory:///t", "")?.put("a/b", bytes)?;
        let store = Store::open("memory:///t", "{}")?;
        let source = store.source("a/b", None)?;
        assert_eq!(source.len(), 10);
        assert_eq!(source.read(2..4)?.as_slice(), b"23");
        let many = source.read_many(&[8..10, 0..1])?;
        assert_eq!((many[0].as_slice(), many[1].as_slice()), (&b"89"[..], &b"0"[..]));
        assert!(source.read(5..11).is_err());
        assert_eq!(store.counters(), (3, 12));
        Ok(())
    }

    #[test]
    fn a_local_file_appears_whole() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let store = Store::open(&folder.path().to_string_lossy(), "")?;
        let ready = folder.path().join("ready");
        fs::write(&ready, b"abc")?;
        store.upload(&ready, "x/y.split")?;
        assert_eq!(store.get("x/y.split")?.as_ref(), b"abc");
        assert!(matches!(
            store.source("nothing", None),
            Err(EngineError::Missing { path }) if path == "nothing"
        ));
        store.delete("x/y.split")?;
        store.delete("x/y.split")
    }
}
