//! Whole objects of a remote store: reading, writing, listing and deleting them.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{ListResult, ObjectMeta, ObjectStoreExt, PutMode, PutOptions};

use super::connect::Client;
use super::counters::Request;
use super::{Meta, runtime};
use crate::cancel::Cancel;
use crate::error::Result;

/// Objects that a page of a listing has.
const PAGE: usize = 1000;

impl Client {
    /// The whole object, if there is one.
    pub(super) fn find(&self, path: &Path) -> Result<Option<Bytes>> {
        let mut found = self.find_all(std::slice::from_ref(path), 1)?;
        Ok(found.pop().flatten())
    }

    /// Several objects, some at a time, in order.
    pub(super) fn find_all(&self, paths: &[Path], at_once: usize) -> Result<Vec<Option<Bytes>>> {
        let store = self.connect()?;
        self.counters.ask(Request::Get, paths.len() as u64);
        let store = &store;
        let one = |path| async move {
            let read = async { store.get(path).await?.bytes().await };
            match read.await {
                Ok(bytes) => {
                    self.counters.read(bytes.len() as u64);
                    Ok(Some(bytes))
                }
                Err(object_store::Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(self.failed(path, error)),
            }
        };
        let found = futures::stream::iter(paths).map(one).buffered(at_once.max(1));
        runtime::block_on(found.try_collect())?
    }

    /// Ranges of one object; near ones are fetched together.
    pub(super) fn ranges(&self, path: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let store = self.connect()?;
        self.counters.ask(Request::Get, 1);
        let parts = runtime::block_on(async { store.get_ranges(path, ranges).await })?
            .map_err(|e| self.failed(path, e))?;
        self.counters.read(parts.iter().map(|part| part.len() as u64).sum());
        Ok(parts)
    }

    /// Writes an object atomically; false if it must be new and already exists. It always waits for the
    /// response: the outcome of a commit must be known before anything is cleaned up.
    pub(super) fn put(&self, path: &Path, bytes: Bytes, if_absent: bool) -> Result<bool> {
        let store = self.connect()?;
        self.counters.ask(Request::Put, 1);
        let (size, mode) =
            (bytes.len() as u64, if if_absent { PutMode::Create } else { PutMode::Overwrite });
        let sent = Cancel::during(None, || {
            runtime::block_on(async {
                store.put_opts(path, bytes.into(), PutOptions::from(mode)).await
            })
        })?;
        match sent {
            Ok(_) => {
                self.counters.wrote(size);
                Ok(true)
            }
            Err(
                object_store::Error::AlreadyExists { .. }
                | object_store::Error::Precondition { .. },
            ) if if_absent => Ok(false),
            Err(error) => Err(self.failed(path, error)),
        }
    }

    pub(super) fn head(&self, path: &Path) -> Result<Option<ObjectMeta>> {
        let store = self.connect()?;
        self.counters.ask(Request::Head, 1);
        match runtime::block_on(async { store.head(path).await })? {
            Ok(meta) => Ok(Some(meta)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(path, error)),
        }
    }

    /// Removes an object; a missing object is not an error.
    pub(super) fn delete(&self, path: &Path) -> Result<()> {
        let store = self.connect()?;
        self.counters.ask(Request::Delete, 1);
        match runtime::block_on(async { store.delete(path).await })? {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed(path, error)),
        }
    }

    /// The objects directly in a folder, and the folders in it.
    pub(super) fn inside(&self, folder: &Path) -> Result<ListResult> {
        let store = self.connect()?;
        let found = runtime::block_on(async { store.list_with_delimiter(Some(folder)).await })?
            .map_err(|e| self.failed(folder, e))?;
        let pages = (found.objects.len() + found.common_prefixes.len()).div_ceil(PAGE);
        self.counters.ask(Request::List, pages.max(1) as u64);
        Ok(found)
    }

    /// The names in a folder, unsorted; for stores that have folders.
    pub(super) fn names(&self, folder: &Path) -> Result<Vec<String>> {
        let found = self.inside(folder)?;
        let objects = found.objects.into_iter().map(|meta| meta.location);
        let paths = found.common_prefixes.into_iter().chain(objects);
        Ok(paths.filter_map(|path| path.filename().map(str::to_owned)).collect())
    }
}

/// A listing that is read page by page, in the order of paths.
pub struct Listing {
    pages: Pages,
}

enum Pages {
    /// All that there is.
    Known(Option<Vec<Meta>>),
    Asked {
        client: Arc<Client>,
        root: Path,
        after: String,
        objects: BoxStream<'static, object_store::Result<ObjectMeta>>,
    },
}

impl Listing {
    pub(super) fn known(all: Vec<Meta>) -> Listing {
        Listing { pages: Pages::Known(Some(all)) }
    }

    /// Everything below `folder` after the object `after`, by paths below `root`.
    pub(super) fn ask(
        client: Arc<Client>,
        root: Path,
        folder: &Path,
        after: Option<Path>,
    ) -> Result<Listing> {
        let store = client.connect()?;
        let folder = Some(folder).filter(|folder| !folder.as_ref().is_empty());
        let objects = match &after {
            Some(after) => store.list_with_offset(folder, after),
            None => store.list(folder),
        };
        let after = after.map(String::from).unwrap_or_default();
        let sorted = client.lists_in_order();
        let mut listing = Listing { pages: Pages::Asked { client, root, after, objects } };
        if sorted {
            return Ok(listing);
        }
        let mut all = Vec::new();
        while let Some(page) = listing.next_page()? {
            all.extend(page);
        }
        all.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(Listing::known(all))
    }

    /// The next objects, None after the last.
    pub fn next_page(&mut self) -> Result<Option<Vec<Meta>>> {
        let (client, root, after, objects) = match &mut self.pages {
            Pages::Known(all) => return Ok(all.take()),
            Pages::Asked { client, root, after, objects } => (client, root, after, objects),
        };
        client.counters.ask(Request::List, 1);
        let page = runtime::block_on(objects.take(PAGE).try_collect::<Vec<_>>())?
            .map_err(|e| client.failed(root, e))?;
        let skip = root_bytes(root);
        // not every server supports a start offset: drop what comes before it
        let wanted = page.iter().filter(|meta| meta.location.as_ref() > after.as_str());
        let found = wanted.map(|meta| below(meta, skip)).collect();
        if page.len() < PAGE {
            self.pages = Pages::Known(None);
        }
        Ok(Some(found))
    }
}

/// The length of the prefix of paths below a root.
pub(super) fn root_bytes(root: &Path) -> usize {
    if root.as_ref().is_empty() { 0 } else { root.as_ref().len() + 1 }
}

/// The metadata of an object, its path without the first bytes.
pub(super) fn below(meta: &ObjectMeta, skip: usize) -> Meta {
    Meta {
        path: meta.location.as_ref()[skip..].to_owned(),
        size: meta.size,
        modified_ms: meta.last_modified.timestamp_millis(),
        e_tag: meta.e_tag.clone(),
        changed_ns: None,
    }
}
