//! The hotcache: the byte ranges that every reader needs to open the split.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use ownedbytes::OwnedBytes;
use serde::Deserialize;

use crate::error::{EngineError, Result};

const HOTCACHE_MAGIC: u32 = 2_557_869_106;
const HOTCACHE_VERSION: u32 = 1;

#[derive(Deserialize)]
struct Header {
    file_lengths: HashMap<PathBuf, u64>,
    slice_offsets: Vec<(PathBuf, u64)>,
}

#[derive(Deserialize)]
struct SliceIndex {
    _total_len: u64,
    slices: Vec<Slice>,
}

#[derive(Deserialize)]
struct Slice {
    start: u64,
    stop: u64,
    addr: u64,
}

/// Cached slices by file, each a range of the file and its bytes.
#[derive(Debug, Default)]
pub struct HotCache {
    files: HashMap<PathBuf, Vec<(Range<u64>, OwnedBytes)>>,
}

fn damaged(detail: impl std::fmt::Display) -> EngineError {
    EngineError::corrupt("", format!("its hotcache: {detail}"))
}

impl HotCache {
    pub fn parse(bytes: &OwnedBytes) -> Result<HotCache> {
        let all = bytes.as_slice();
        if all.is_empty() {
            return Ok(HotCache::default());
        }
        let number = |at: usize| -> Result<u32> {
            all.get(at..at + 4)
                .and_then(|b| b.try_into().ok())
                .map(u32::from_le_bytes)
                .ok_or_else(|| damaged("too short"))
        };
        if number(0)? != HOTCACHE_MAGIC || number(4)? != HOTCACHE_VERSION {
            return Err(damaged("wrong magic number or version"));
        }
        let body = 12usize
            .checked_add(number(8)? as usize)
            .filter(|&end| end <= all.len())
            .ok_or_else(|| damaged("its header is longer than itself"))?;
        let header: Header = postcard::from_bytes(&all[12..body]).map_err(damaged)?;
        let mut starts = header.slice_offsets;
        starts.push((PathBuf::new(), (all.len() - body) as u64));
        let mut files = HashMap::with_capacity(header.file_lengths.len().min(all.len()));
        for pair in starts.windows(2) {
            let (path, start) = &pair[0];
            let section = section(bytes, body, *start, pair[1].1)?;
            files.insert(path.clone(), parse_section(&section)?);
        }
        Ok(HotCache { files })
    }

    /// The bytes of a range of a file, when one cached slice holds all of them.
    pub fn get(&self, path: &Path, range: &Range<u64>) -> Option<OwnedBytes> {
        let slices = self.files.get(path)?;
        let at = slices.partition_point(|(held, _)| held.start <= range.start);
        let (held, bytes) = slices.get(at.checked_sub(1)?)?;
        if range.end > held.end {
            return None;
        }
        let start = (range.start - held.start) as usize;
        let end = (range.end - held.start) as usize;
        Some(bytes.slice(start..end))
    }
}

fn section(bytes: &OwnedBytes, body: usize, start: u64, end: u64) -> Result<OwnedBytes> {
    let len = (bytes.len() - body) as u64;
    if start > end || end > len {
        return Err(damaged("a section leaves it"));
    }
    Ok(bytes.slice(body + start as usize..body + end as usize))
}

/// `slice bytes · index of the slices · u64 length of the slice bytes`
fn parse_section(section: &OwnedBytes) -> Result<Vec<(Range<u64>, OwnedBytes)>> {
    let all = section.as_slice();
    let index_end = all.len().checked_sub(8).ok_or_else(|| damaged("a section is too short"))?;
    let data_len = u64::from_le_bytes(all[index_end..].try_into().unwrap_or_default());
    if data_len > index_end as u64 {
        return Err(damaged("a section is longer than itself"));
    }
    let index: SliceIndex =
        postcard::from_bytes(&all[data_len as usize..index_end]).map_err(damaged)?;
    let mut slices = Vec::with_capacity(index.slices.len());
    let mut last = 0;
    for slice in index.slices {
        let len = slice.stop.checked_sub(slice.start);
        let stop = len.and_then(|len| slice.addr.checked_add(len));
        match stop {
            Some(stop) if stop <= data_len && slice.start >= last => {
                last = slice.stop;
                let bytes = section.slice(slice.addr as usize..stop as usize);
                slices.push((slice.start..slice.stop, bytes));
            }
            _ => return Err(damaged("a slice leaves its section")),
        }
    }
    Ok(slices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Serialize;

    #[derive(Serialize)]
    struct HeaderOut {
        file_lengths: HashMap<PathBuf, u64>,
        slice_offsets: Vec<(PathBuf, u64)>,
    }

    fn sample() -> Vec<u8> {
        let path = PathBuf::from("a.term");
        let mut section = b"0123456789".to_vec();
        section.extend(
            postcard::to_allocvec(&(50u64, vec![(10u64, 14u64, 0u64), (20, 26, 4)]))
                .unwrap_or_default(),
        );
        section.extend(10u64.to_le_bytes());
        let header = HeaderOut {
            file_lengths: HashMap::from([(path.clone(), 50)]),
            slice_offsets: vec![(path, 0)],
        };
        let header = postcard::to_allocvec(&header).unwrap_or_default();
        let mut out = HOTCACHE_MAGIC.to_le_bytes().to_vec();
        out.extend(HOTCACHE_VERSION.to_le_bytes());
        out.extend((header.len() as u32).to_le_bytes());
        out.extend(header);
        out.extend(section);
        out
    }

    #[test]
    fn only_whole_ranges_are_answered() -> Result<()> {
        let cache = HotCache::parse(&OwnedBytes::new(sample()))?;
        let get = |range: Range<u64>| cache.get(Path::new("a.term"), &range).map(|b| b.to_vec());
        assert_eq!(get(11..13).as_deref(), Some(&b"12"[..]));
        assert_eq!(get(20..26).as_deref(), Some(&b"456789"[..]));
        assert_eq!(get(13..15), None);
        assert_eq!(get(9..11), None);
        assert_eq!(cache.get(Path::new("b.term"), &(10..11)), None);
        Ok(())
    }

    proptest! {
        #[test]
        fn damaged_bytes_never_panic(
            changes in proptest::collection::vec((0usize..200, any::<u8>()), 1..8),
            cut in 0usize..40,
        ) {
            let mut bytes = sample();
            for (at, value) in changes {
                let at = at % bytes.len();
                bytes[at] = value;
            }
            bytes.truncate(bytes.len() - cut);
            if let Ok(cache) = HotCache::parse(&OwnedBytes::new(bytes)) {
                let _ = cache.get(Path::new("a.term"), &(11..13));
            }
        }
    }
}
