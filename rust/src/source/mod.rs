//! The Parquet files that a companion indexes, and their rows.
//!
//! A companion split holds an index of the rows of some files, and no copy of them. Its sidecar records which
//! rows of which files its documents are (`runs`), and values are read from the files (`rows`).

mod address;
mod decode;
mod feed;
mod file;
mod kinds;
mod rows;
mod runs;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

pub use address::{Address, Identity};
pub use feed::{Facts, feed};
pub use file::FileId;
pub use rows::SourceRows;
pub use runs::{Run, Runs};

use crate::error::{EngineError, Result};
use crate::store::{RangeSource, Store};

/// How columns are found in the files.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lookup {
    /// The columns of the table; one that is not listed is found by its name.
    pub columns: Vec<Address>,
    pub case_sensitive: bool,
    pub calendar: Calendar,
}

/// What to do with old dates in files that count them by the Julian calendar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Calendar {
    #[default]
    Exception,
    /// Take them as they are.
    Corrected,
}

/// The table whose files hold the rows.
pub struct Source {
    store: Store,
    /// The options for stores of files outside the source's location; contains credentials.
    options: String,
    lookup: Lookup,
}

impl Source {
    /// Opens the source by the URL and the options of its store; nothing is connected yet.
    pub fn open(url: &str, options: &str, lookup: Value) -> Result<Source> {
        let lookup = serde_json::from_value(lookup)
            .map_err(|e| EngineError::internal(format!("how columns are found: {e}")))?;
        Ok(Source { store: Store::open(url, options)?, options: options.to_owned(), lookup })
    }

    pub fn lookup(&self) -> &Lookup {
        &self.lookup
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The bytes of a file, and its identity in caches.
    fn bytes(&self, file: &FileId, cached: bool) -> Result<(Arc<dyn RangeSource>, String)> {
        let (store, path) = self.place(&file.path)?;
        let found = store.foreign(path, Some(file.size), file.stamp.as_deref(), cached)?;
        Ok((found, format!("{}/{path}", store.url())))
    }

    /// The actual length of a file.
    fn length(&self, file: &FileId) -> Result<u64> {
        let (store, path) = self.place(&file.path)?;
        Ok(store.foreign(path, None, None, false)?.len())
    }

    /// The store of a file and its path there.
    fn place<'a>(&self, path: &'a str) -> Result<(Store, &'a str)> {
        let Some((folder, name)) = elsewhere(path) else {
            return Ok((self.store.clone(), path));
        };
        if scheme(folder) != scheme(self.store.url()) {
            return Err(EngineError::BadPath { path: path.to_owned() });
        }
        Ok((Store::open(folder, &self.options)?, name))
    }
}

/// The folder and the name of a file given by a URL or a local path.
fn elsewhere(path: &str) -> Option<(&str, &str)> {
    let whole = path.starts_with('/') || url_scheme(path).is_some();
    if whole { path.rsplit_once('/') } else { None }
}

/// The scheme of a URL; `file` for a local path.
fn scheme(url: &str) -> &str {
    url_scheme(url).unwrap_or("file")
}

fn url_scheme(url: &str) -> Option<&str> {
    let (scheme, _) = url.split_once(":/")?;
    let plain = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c));
    plain.then_some(scheme)
}
