//! A file in an object store: ranges are joined when they are close and fetched in parallel.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use object_store::ObjectStoreExt;
use object_store::path::Path;
use ownedbytes::OwnedBytes;

use super::connect::Client;
use super::source::{Shared, out_of_file};
use super::{RangeSource, runtime};
use crate::error::Result;

/// Ranges with a smaller hole between them become one request: a round trip costs more than these bytes.
const JOIN_GAP: u64 = 128 << 10;
/// Requests in flight for one set of ranges.
const PARALLEL: usize = 8;

pub(super) struct RemoteSource {
    client: Arc<Client>,
    path: Path,
    len: u64,
}

impl RemoteSource {
    pub(super) fn open(client: Arc<Client>, path: Path, len: Option<u64>) -> Result<RemoteSource> {
        let len = match len {
            Some(len) => len,
            None => {
                let store = client.connect()?;
                client.counters.add(1, 0);
                let head = runtime::block_on(async { store.head(&path).await })?;
                head.map_err(|e| client.failed(path.as_ref(), e))?.size
            }
        };
        Ok(RemoteSource { client, path, len })
    }

    fn fetch(&self, ranges: &[Range<u64>]) -> Result<Vec<bytes::Bytes>> {
        if let Some(range) = ranges.iter().find(|r| r.start > r.end || r.end > self.len) {
            return Err(out_of_file(range, self.len).into());
        }
        let store = self.client.connect()?;
        let total = ranges.iter().map(|r| r.end - r.start).sum();
        self.client.counters.add(ranges.len() as u64, total);
        let fetched = runtime::block_on(async {
            futures::stream::iter(ranges.iter().cloned())
                .map(|range| store.get_range(&self.path, range))
                .buffered(PARALLEL)
                .try_collect::<Vec<_>>()
                .await
        })?;
        fetched.map_err(|e| self.client.failed(self.path.as_ref(), e))
    }
}

/// Joins sorted or unsorted ranges into few requests, and says for each range where it is found.
fn join(ranges: &[Range<u64>]) -> (Vec<Range<u64>>, Vec<usize>) {
    let mut order: Vec<usize> = (0..ranges.len()).collect();
    order.sort_unstable_by_key(|&i| (ranges[i].start, ranges[i].end));
    let mut joined: Vec<Range<u64>> = Vec::new();
    let mut place = vec![0; ranges.len()];
    for i in order {
        let range = &ranges[i];
        match joined.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(JOIN_GAP) => {
                last.end = last.end.max(range.end);
            }
            _ => joined.push(range.clone()),
        }
        place[i] = joined.len() - 1;
    }
    (joined, place)
}

impl RangeSource for RemoteSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, range: Range<u64>) -> io::Result<OwnedBytes> {
        if range.is_empty() {
            return Ok(OwnedBytes::empty());
        }
        let mut fetched = self.fetch(std::slice::from_ref(&range))?;
        Ok(OwnedBytes::new(Shared(fetched.pop().unwrap_or_default())))
    }

    fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<OwnedBytes>> {
        let (joined, place) = join(ranges);
        let fetched = self.fetch(&joined)?;
        Ok(ranges
            .iter()
            .zip(place)
            .map(|(range, at)| {
                let start = (range.start - joined[at].start) as usize;
                let len = (range.end - range.start) as usize;
                OwnedBytes::new(Shared(fetched[at].slice(start..start + len)))
            })
            .collect())
    }

    fn is_remote(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_ranges_become_one_request() {
        let (joined, place) = join(&[500_000..500_010, 0..10, 20..30]);
        assert_eq!(joined, vec![0..30, 500_000..500_010]);
        assert_eq!(place, vec![1, 0, 0]);
    }
}
