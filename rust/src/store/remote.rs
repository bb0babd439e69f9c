//! A file in an object store: ranges are joined when they are close and fetched in parallel.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use ownedbytes::OwnedBytes;

use super::connect::{Client, ReadPlan};
use super::counters::Request;
use super::source::{Shared, out_of_file};
use super::{RangeSource, runtime};
use crate::cache::FileCache;
use crate::error::{EngineError, Result};
use crate::profile::{self, Section};

/// Ranges are always coalesced over gaps up to this size: a round trip costs more than these bytes.
const NEAR: u64 = 64 << 10;

pub(super) struct RemoteSource {
    client: Arc<Client>,
    path: Path,
    len: u64,
    cache: Option<FileCache>,
}

impl RemoteSource {
    /// Opens a file; its bytes are cached if `cached`.
    pub(super) fn open(
        client: Arc<Client>,
        path: Path,
        len: Option<u64>,
        cached: bool,
    ) -> Result<RemoteSource> {
        let len = match len {
            Some(len) => len,
            None => {
                let missing = || EngineError::Missing { path: client.shown(&path) };
                client.head(&path)?.ok_or_else(missing)?.size
            }
        };
        let cache =
            cached.then(|| FileCache::new(client.cache.clone(), &client.address(&path), len));
        Ok(RemoteSource { client, path, len, cache })
    }

    /// The same file, distinguished in the caches from others with its name and length.
    pub(super) fn stamped(mut self, stamp: &str) -> RemoteSource {
        if self.cache.is_some() {
            let name = format!("{} {stamp}", self.client.address(&self.path));
            self.cache = Some(FileCache::new(self.client.cache.clone(), &name, self.len));
        }
        self
    }

    /// Fetches ranges, several at a time, and processes each as it arrives.
    fn fetch<T>(
        &self,
        ranges: &[Range<u64>],
        each: impl Fn(usize, bytes::Bytes) -> T,
    ) -> Result<Vec<T>> {
        let _timer = profile::start(Section::Fetch);
        let store = self.client.connect()?;
        let total = ranges.iter().map(|r| r.end - r.start).sum();
        self.client.counters.ask(Request::Get, ranges.len() as u64);
        self.client.counters.read(total);
        let fetched = runtime::block_on(async {
            futures::stream::iter(ranges.iter().cloned())
                .map(|range| {
                    self.client.hedge.get(store.as_ref(), &self.path, range, &self.client.counters)
                })
                .buffered(self.client.reading.concurrency)
                .enumerate()
                .map(|(at, bytes)| bytes.map(|bytes| each(at, bytes)))
                .try_collect::<Vec<_>>()
                .await
        })?;
        fetched.map_err(|e| self.client.failed(&self.path, e))
    }

    /// Fetches ranges in few requests; returns the index of each range and its bytes.
    fn fetch_joined(&self, ranges: &[Range<u64>]) -> Result<Vec<(usize, OwnedBytes)>> {
        let joined = join(ranges, self.client.reading);
        let requests: Vec<Range<u64>> = joined.iter().map(|(range, _)| range.clone()).collect();
        let cut = |at: usize, bytes: bytes::Bytes| {
            let (whole, held) = &joined[at];
            let bytes = OwnedBytes::new(Shared(bytes));
            let wanted: u64 = held.iter().map(|&i| ranges[i].end - ranges[i].start).sum();
            // a cached piece must not keep a much larger response in memory
            let sparse = wanted < (whole.end - whole.start) / 2;
            let part = |&i: &usize| {
                let start = (ranges[i].start - whole.start) as usize;
                let part = bytes.slice(start..start + (ranges[i].end - ranges[i].start) as usize);
                (i, if sparse { OwnedBytes::new(part.to_vec()) } else { part })
            };
            let parts: Vec<(usize, OwnedBytes)> = held.iter().map(part).collect();
            if let Some(cache) = &self.cache {
                // one file on disk per request, however many ranges it contains
                cache.put_disk(whole.start, &bytes);
                if sparse {
                    parts.iter().for_each(|(i, part)| cache.put_memory(ranges[*i].start, part));
                } else {
                    cache.put_memory(whole.start, &bytes);
                }
            }
            parts
        };
        Ok(self.fetch(&requests, cut)?.into_iter().flatten().collect())
    }

    fn known(&self, range: &Range<u64>) -> Option<OwnedBytes> {
        self.cache.as_ref()?.get(range)
    }

    fn check(&self, range: &Range<u64>) -> io::Result<()> {
        if range.start > range.end || range.end > self.len {
            return Err(out_of_file(range, self.len));
        }
        Ok(())
    }
}

/// Joins ranges into few requests, and says for each request which ranges are found in it.
fn join(ranges: &[Range<u64>], plan: ReadPlan) -> Vec<(Range<u64>, Vec<usize>)> {
    let gap = if ranges.len() >= plan.least { plan.gap } else { plan.gap.min(NEAR) };
    let mut order: Vec<usize> = (0..ranges.len()).collect();
    order.sort_unstable_by_key(|&i| (ranges[i].start, ranges[i].end));
    let mut joined: Vec<(Range<u64>, Vec<usize>)> = Vec::new();
    for i in order {
        let range = &ranges[i];
        match joined.last_mut() {
            Some((last, held))
                if range.start <= last.end.saturating_add(gap)
                    && (range.end <= last.end || range.end - last.start <= plan.most) =>
            {
                last.end = last.end.max(range.end);
                held.push(i);
            }
            _ => joined.push((range.clone(), vec![i])),
        }
    }
    joined
}

impl RangeSource for RemoteSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, range: Range<u64>) -> io::Result<OwnedBytes> {
        self.read_near(range.clone(), range)
    }

    fn read_near(&self, wanted: Range<u64>, near: Range<u64>) -> io::Result<OwnedBytes> {
        self.check(&wanted)?;
        self.check(&near)?;
        if wanted.is_empty() {
            return Ok(OwnedBytes::empty());
        }
        if let Some(bytes) = self.known(&wanted) {
            return Ok(bytes);
        }
        let keep = |_: usize, bytes: bytes::Bytes| {
            let bytes = OwnedBytes::new(Shared(bytes));
            if let Some(cache) = &self.cache {
                cache.put_memory(near.start, &bytes);
                cache.put_disk(near.start, &bytes);
            }
            bytes
        };
        let mut fetched = self.fetch(std::slice::from_ref(&near), keep)?;
        let bytes = fetched.pop().unwrap_or_else(OwnedBytes::empty);
        let start = (wanted.start - near.start) as usize;
        Ok(bytes.slice(start..start + (wanted.end - wanted.start) as usize))
    }

    fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<OwnedBytes>> {
        ranges.iter().try_for_each(|range| self.check(range))?;
        let mut found: Vec<Option<OwnedBytes>> = ranges.iter().map(|r| self.known(r)).collect();
        let missing: Vec<usize> = (0..ranges.len()).filter(|&i| found[i].is_none()).collect();
        let wanted: Vec<Range<u64>> = missing.iter().map(|&i| ranges[i].clone()).collect();
        if !wanted.is_empty() {
            for (at, part) in self.fetch_joined(&wanted)? {
                found[missing[at]] = Some(part);
            }
        }
        Ok(found.into_iter().map(|bytes| bytes.unwrap_or_else(OwnedBytes::empty)).collect())
    }

    fn is_remote(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: ReadPlan = ReadPlan { gap: 1 << 20, most: 4 << 20, least: 3, concurrency: 2 };

    #[test]
    fn close_ranges_become_one_request() {
        let joined = join(&[500_000..500_010, 0..10, 20..30], PLAN);
        assert_eq!(joined, vec![(0..500_010, vec![1, 2, 0])]);
        let few = join(&[500_000..500_010, 20..30], PLAN);
        assert_eq!(few, vec![(20..30, vec![1]), (500_000..500_010, vec![0])]);
        let off = join(&[10..20, 0..10, 21..22], ReadPlan { gap: 0, ..PLAN });
        assert_eq!(off, vec![(0..20, vec![1, 0]), (21..22, vec![2])]);
    }

    #[test]
    fn a_request_does_not_grow_without_end() {
        let many: Vec<Range<u64>> = (0..100).map(|i| i * 500_000..i * 500_000 + 10).collect();
        let joined = join(&many, PLAN);
        assert!(joined.iter().all(|(range, _)| range.end - range.start <= PLAN.most));
        assert_eq!(joined.len(), 12);
        let inside = join(&[0..9 << 20, 1 << 20..2 << 20, 5..7], PLAN);
        assert_eq!(inside.len(), 1);
    }
}
