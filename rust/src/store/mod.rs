//! Object stores and local disk, opened by a URL and the options of the crate `object_store`: the only
//! client, for the engine and for Python.

mod connect;
mod counters;
mod credentials;
mod failure;
mod hdfs;
mod hedge;
mod local;
mod objects;
mod remote;
mod runtime;
mod source;
mod upload;

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use object_store::path::Path;
use url::Url;

pub use counters::{Counters, Request, totals};
pub use credentials::set_credentials_source;
pub use objects::Listing;
pub(crate) use runtime::PerProcess;
pub use source::{BytesSource, RangeSource, map_file};
pub use upload::Upload;

use crate::cancel::Cancel;
use crate::error::{At, EngineError, Result};
use connect::Client;
use local::Folder;
use remote::RemoteSource;
use source::ForeignFile;

/// The metadata of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// Relative to the store's root.
    pub path: String,
    pub size: u64,
    pub modified_ms: i64,
    pub e_tag: Option<String>,
    /// The ctime of a local file, which no program can set.
    pub changed_ns: Option<i64>,
}

/// The store of a table's files.
#[derive(Clone)]
pub struct Store {
    url: String,
    place: Place,
}

#[derive(Clone)]
enum Place {
    Local(Arc<Folder>),
    Remote(Arc<Client>, Path),
}

impl Store {
    /// Opens a store by URL (`file:`, a plain path, `memory:`, `s3:`, `az:`/`abfss:`, `gs:`, `hdfs:`,
    /// `http:`) and a JSON object of options; nothing is connected yet.
    pub fn open(url: &str, options: &str) -> Result<Store> {
        let options = parse_options(options)?;
        let place = if let Some(path) = local_path(url)? {
            Place::Local(Arc::new(Folder::new(path)))
        } else {
            let bad =
                |e: &dyn std::fmt::Display| EngineError::bad_option("url", url, e.to_string());
            let parsed = Url::parse(url).map_err(|e| bad(&e))?;
            let prefix = Client::root(&parsed).map_err(|e| bad(&e))?;
            Place::Remote(Arc::new(Client::new(parsed, options)?), prefix)
        };
        Ok(Store { url: url.to_owned(), place })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Whether reading costs a round trip.
    pub fn is_remote(&self) -> bool {
        matches!(self.place, Place::Remote(..))
    }

    /// Whether the store has real folders, so that listing one costs only its own entries.
    pub fn has_folders(&self) -> bool {
        match &self.place {
            Place::Local(_) => true,
            Place::Remote(client, _) => client.has_folders(),
        }
    }

    /// The counters of this store.
    pub fn counters(&self) -> &Counters {
        match &self.place {
            Place::Local(folder) => &folder.counters,
            Place::Remote(client, _) => &client.counters,
        }
    }

    /// Opens a file for reading; a known length saves a request.
    pub fn source(&self, path: &str, len: Option<u64>) -> Result<Arc<dyn RangeSource>> {
        self.open_source(path, len, true)
    }

    /// Opens a file that is read once, so that caching its bytes would only evict others.
    pub fn source_once(&self, path: &str, len: Option<u64>) -> Result<Arc<dyn RangeSource>> {
        self.open_source(path, len, false)
    }

    /// Opens a file of another writer, who may reuse names: `stamp` is part of its identity in the caches.
    pub fn foreign(
        &self,
        path: &str,
        len: Option<u64>,
        stamp: Option<&str>,
        cached: bool,
    ) -> Result<Arc<dyn RangeSource>> {
        match &self.place {
            Place::Local(folder) => Ok(Arc::new(ForeignFile::open(&folder.file(path)?).at(path)?)),
            Place::Remote(client, prefix) => {
                let full = object_path(prefix, path)?;
                let source = RemoteSource::open(client.clone(), full, len, cached)?;
                Ok(Arc::new(match stamp {
                    Some(stamp) => source.stamped(stamp),
                    None => source,
                }))
            }
        }
    }

    fn open_source(
        &self,
        path: &str,
        len: Option<u64>,
        cached: bool,
    ) -> Result<Arc<dyn RangeSource>> {
        match &self.place {
            Place::Local(folder) => Ok(Arc::new(BytesSource::map(&folder.file(path)?).at(path)?)),
            Place::Remote(client, prefix) => {
                let full = object_path(prefix, path)?;
                Ok(Arc::new(RemoteSource::open(client.clone(), full, len, cached)?))
            }
        }
    }

    /// All bytes of a file.
    pub fn get(&self, path: &str) -> Result<Bytes> {
        self.find(path)?.ok_or_else(|| EngineError::Missing { path: path.to_owned() })
    }

    /// All bytes of a file, if there is one.
    pub fn find(&self, path: &str) -> Result<Option<Bytes>> {
        match &self.place {
            Place::Local(folder) => folder.find(path),
            Place::Remote(client, prefix) => client.find(&object_path(prefix, path)?),
        }
    }

    /// Several files in order; a remote store fetches some at a time.
    pub fn find_all(&self, paths: &[String], at_once: usize) -> Result<Vec<Option<Bytes>>> {
        match &self.place {
            Place::Local(folder) => paths.iter().map(|path| folder.find(path)).collect(),
            Place::Remote(client, prefix) => {
                let full: Result<Vec<Path>> =
                    paths.iter().map(|p| object_path(prefix, p)).collect();
                client.find_all(&full?, at_once)
            }
        }
    }

    /// Ranges of one file; near ones are fetched together.
    pub fn ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        match &self.place {
            Place::Local(folder) => folder.ranges(path, ranges),
            Place::Remote(client, prefix) => client.ranges(&object_path(prefix, path)?, ranges),
        }
    }

    /// Writes a whole file, replacing what was there.
    pub fn put(&self, path: &str, bytes: Bytes) -> Result<()> {
        self.write(path, bytes, false).map(|_| ())
    }

    /// Writes a file if there is none; returns true for the one writer that wins.
    pub fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool> {
        self.write(path, bytes, true)
    }

    fn write(&self, path: &str, bytes: Bytes, if_absent: bool) -> Result<bool> {
        match &self.place {
            Place::Local(folder) => folder.put(path, &bytes, if_absent),
            Place::Remote(client, prefix) => {
                client.put(&object_path(prefix, path)?, bytes, if_absent)
            }
        }
    }

    /// Size and age of a file, if there is one.
    pub fn head(&self, path: &str) -> Result<Option<Meta>> {
        match &self.place {
            Place::Local(folder) => folder.head(path),
            Place::Remote(client, prefix) => {
                let full = object_path(prefix, path)?;
                let skip = full.as_ref().len() - path.len();
                Ok(client.head(&full)?.map(|meta| objects::below(&meta, skip)))
            }
        }
    }

    /// Everything below a folder (the whole store for ``), after a path, in the order of paths.
    pub fn list(&self, folder: &str, after: Option<&str>) -> Result<Listing> {
        match &self.place {
            Place::Local(here) => here.list(folder, after.unwrap_or_default()).map(Listing::known),
            Place::Remote(client, prefix) => {
                let below = folder_path(prefix, folder)?;
                let after = after.map(|path| object_path(prefix, path)).transpose()?;
                Listing::ask(client.clone(), prefix.clone(), &below, after)
            }
        }
    }

    /// The names in a folder, files and folders, unsorted; for stores that have folders.
    pub fn names(&self, folder: &str) -> Result<Vec<String>> {
        match &self.place {
            Place::Local(here) => here.names(folder),
            Place::Remote(client, prefix) => client.names(&folder_path(prefix, folder)?),
        }
    }

    /// The files directly in a folder (the root for ``), and the names of the folders in it; unsorted.
    pub fn inside(&self, folder: &str) -> Result<(Vec<Meta>, Vec<String>)> {
        match &self.place {
            Place::Local(here) => here.inside(folder),
            Place::Remote(client, prefix) => {
                let found = client.inside(&folder_path(prefix, folder)?)?;
                let skip = objects::root_bytes(prefix);
                let files = found.objects.iter().map(|meta| objects::below(meta, skip));
                let folders = found.common_prefixes.iter().filter_map(|path| path.filename());
                Ok((files.collect(), folders.map(str::to_owned).collect()))
            }
        }
    }

    /// Starts a new file of about this size; it becomes visible when it is complete.
    pub fn create(&self, path: &str, expected: u64, cancel: &Cancel) -> Result<Upload> {
        match &self.place {
            Place::Local(folder) => Upload::local(folder.file(path)?, cancel),
            Place::Remote(client, prefix) => {
                let full = object_path(prefix, path)?;
                Ok(Upload::remote(client.clone(), full, expected, cancel))
            }
        }
    }

    /// Removes a file; a missing file is not an error.
    pub fn delete(&self, path: &str) -> Result<()> {
        match &self.place {
            Place::Local(folder) => folder.delete(path),
            Place::Remote(client, prefix) => client.delete(&object_path(prefix, path)?),
        }
    }

    /// Removes an empty folder, if the store has folders.
    pub fn remove_empty(&self, folder: &str) -> Result<()> {
        match &self.place {
            Place::Local(here) => here.remove_empty(folder),
            Place::Remote(client, prefix) if client.has_folders() => {
                // not empty, or gone: either is fine
                let _ = client.delete(&object_path(prefix, folder)?);
                Ok(())
            }
            Place::Remote(..) => Ok(()),
        }
    }
}

pub(crate) fn parse_options(options: &str) -> Result<HashMap<String, String>> {
    if options.trim().is_empty() {
        return Ok(HashMap::new());
    }
    let parsed: HashMap<String, serde_json::Value> = serde_json::from_str(options)
        // show neither the text nor the parser's message: both may contain credentials
        .map_err(|_| EngineError::bad_option("store options", "...", "a JSON object"))?;
    Ok(parsed
        .into_iter()
        .map(|(key, value)| match value {
            serde_json::Value::String(text) => (key, text),
            other => (key, other.to_string()),
        })
        .collect())
}

/// The local path of a URL, if it has one.
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

/// Paths come from logs, which are untrusted: none may leave the table.
pub fn check_path(path: &str) -> Result<()> {
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

fn folder_path(prefix: &Path, folder: &str) -> Result<Path> {
    if folder.is_empty() { Ok(prefix.clone()) } else { object_path(prefix, folder) }
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
        let counters = store.counters();
        // the two ranges are near each other: one request brings all ten bytes
        assert_eq!((counters.requests(), counters.bytes_read()), (3, 12));
        assert_eq!((counters.of(Request::Get), counters.of(Request::Head)), (2, 1));
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
