//! Object stores and local disk, reached by a URL and the options of crate `object_store`.

mod connect;
mod credentials;
mod remote;
mod runtime;
mod source;
mod upload;

use std::collections::HashMap;
use std::fs;
use std::path::{Path as FilePath, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use object_store::ObjectStoreExt;
use object_store::path::Path;
use url::Url;

pub use credentials::set_credentials_source;
pub(crate) use runtime::PerProcess;
pub use source::{BytesSource, RangeSource};
pub use upload::Upload;

use crate::cancel::Cancel;
use crate::error::{At, EngineError, Result};
use connect::Client;
use remote::RemoteSource;

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
            Place::Remote(Arc::new(Client::new(parsed, options)?), prefix)
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
            Place::Local(root) => local_file(root, path).ok(),
            Place::Remote(..) => None,
        }
    }

    /// Opens a file for reading; a known length saves a request.
    pub fn source(&self, path: &str, len: Option<u64>) -> Result<Arc<dyn RangeSource>> {
        self.open_source(path, len, true)
    }

    /// Opens a file that is read once, so that keeping its bytes would only push out others.
    pub fn source_once(&self, path: &str, len: Option<u64>) -> Result<Arc<dyn RangeSource>> {
        self.open_source(path, len, false)
    }

    fn open_source(
        &self,
        path: &str,
        len: Option<u64>,
        cached: bool,
    ) -> Result<Arc<dyn RangeSource>> {
        match &self.place {
            Place::Local(root) => {
                Ok(Arc::new(BytesSource::map(&local_file(root, path)?).at(path)?))
            }
            Place::Remote(client, prefix) => {
                let full = object_path(prefix, path)?;
                Ok(Arc::new(RemoteSource::open(client.clone(), full, len, cached)?))
            }
        }
    }

    /// All bytes of a file.
    pub fn get(&self, path: &str) -> Result<Bytes> {
        match &self.place {
            Place::Local(root) => Ok(fs::read(local_file(root, path)?).at(path)?.into()),
            Place::Remote(client, prefix) => {
                let full = object_path(prefix, path)?;
                let store = client.connect()?;
                let read = runtime::block_on(async { store.get(&full).await?.bytes().await })?;
                let bytes = read.map_err(|e| client.failed(path, e))?;
                client.counters.add(1, bytes.len() as u64);
                Ok(bytes)
            }
        }
    }

    /// Writes a whole file, replacing what was there.
    pub fn put(&self, path: &str, bytes: Bytes) -> Result<()> {
        match &self.place {
            Place::Local(root) => {
                let target = local_file(root, path)?;
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
                    .map_err(|e| client.failed(path, e))?;
                Ok(())
            }
        }
    }

    /// Begins a new file of about this size; it appears when it is completed.
    pub fn create(&self, path: &str, expected: u64, cancel: &Cancel) -> Result<Upload> {
        match &self.place {
            Place::Local(root) => Upload::local(local_file(root, path)?, cancel),
            Place::Remote(client, prefix) => {
                let full = object_path(prefix, path)?;
                Ok(Upload::remote(client.clone(), full, expected, cancel))
            }
        }
    }

    /// Removes a file; it is no error when it is gone already.
    pub fn delete(&self, path: &str) -> Result<()> {
        match &self.place {
            Place::Local(root) => match fs::remove_file(local_file(root, path)?) {
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
                other => other.at(path),
            },
            Place::Remote(client, prefix) => {
                let full = object_path(prefix, path)?;
                let store = client.connect()?;
                client.counters.add(1, 0);
                match runtime::block_on(async { store.delete(&full).await })? {
                    Err(object_store::Error::NotFound { .. }) => Ok(()),
                    other => other.map_err(|e| client.failed(path, e)),
                }
            }
        }
    }
}

fn make_parent(file: &FilePath) -> std::io::Result<()> {
    file.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Where a file is written before it is renamed. It ends as the file does, so that one whose writer was
/// killed is known for an orphan of its kind.
fn partial_name(target: &FilePath) -> PathBuf {
    let mut name = std::ffi::OsString::from(format!(".{}.", uuid::Uuid::new_v4().simple()));
    name.push(target.file_name().unwrap_or_default());
    target.with_file_name(name)
}

pub(crate) fn parse_options(options: &str) -> Result<HashMap<String, String>> {
    if options.trim().is_empty() {
        return Ok(HashMap::new());
    }
    let parsed: HashMap<String, serde_json::Value> = serde_json::from_str(options)
        // neither the text nor what the parser says of it: both may show a key
        .map_err(|_| EngineError::bad_option("store options", "...", "a JSON object"))?;
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

/// Paths come from logs, which anybody may have written: none leads out of the table.
fn check_path(path: &str) -> Result<()> {
    let scheme = path.split_once(":/").is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
    });
    let strange = |part: &str| matches!(part, "" | "." | "..");
    if scheme || path.split('/').any(strange) || path.contains(|c: char| c < ' ') {
        return Err(EngineError::BadPath { path: path.to_owned() });
    }
    Ok(())
}

fn local_file(root: &FilePath, path: &str) -> Result<PathBuf> {
    check_path(path)?;
    Ok(root.join(path))
}

fn object_path(prefix: &Path, path: &str) -> Result<Path> {
    check_path(path)?;
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
    fn no_path_leaves_the_root() -> Result<()> {
        let folder = tempfile::tempdir()?;
        for store in [&folder.path().to_string_lossy(), "memory:///t"] {
            let store = Store::open(store, "")?;
            for path in ["/etc/passwd", "../x", "a/../../x", "", "a//b", "s3://b/x", "file:/x"] {
                let refused = |e: EngineError| matches!(e, EngineError::BadPath { .. });
                assert!(store.get(path).is_err_and(refused), "{path}");
                assert!(store.put(path, Bytes::new()).is_err_and(refused), "{path}");
                assert!(store.source(path, None).err().is_some_and(refused), "{path}");
                assert!(store.delete(path).is_err_and(refused), "{path}");
                let created = store.create(path, 0, &Cancel::default());
                assert!(created.err().is_some_and(refused), "{path}");
            }
            store.put("k=a%2F../b:c", Bytes::new())?;
        }
        Ok(())
    }

    #[test]
    fn broken_options_are_not_shown() {
        for options in [r#"{"aws_secret_access_key":"hush""#, r#""hush""#] {
            let shown = Store::open("s3://b/t", options).err().map(|e| e.to_string());
            assert!(shown.is_some_and(|text| !text.contains("hush")), "{options}");
        }
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
    fn a_missing_file_is_named() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let store = Store::open(&folder.path().to_string_lossy(), "")?;
        assert!(matches!(
            store.source("nothing", None),
            Err(EngineError::Missing { path }) if path == "nothing"
        ));
        store.put("x/y.split", Bytes::new())?;
        store.delete("x/y.split")?;
        store.delete("x/y.split")
    }
}
