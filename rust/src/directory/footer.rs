//! The footer of a bundle: the offsets of its files, and the hotcache.
//!
//! `[files][metadata][u32 length of metadata][hotcache][u32 length of hotcache]`, where the metadata is
//! a magic number, a version and JSON. Every number is checked before it is used: a damaged file must
//! cause an error, not a panic or a large allocation.

use std::collections::BTreeMap;
use std::ops::Range;

use ownedbytes::OwnedBytes;
use serde::Deserialize;

use crate::error::{EngineError, Result};
use crate::store::RangeSource;

const BUNDLE_MAGIC: u32 = 403_881_646;
const BUNDLE_VERSION: u32 = 1;
/// First guess at the footer's length if the log does not record it.
const TAIL_GUESS: u64 = 64 << 10;

/// The parsed end of a split.
#[derive(Debug)]
pub struct Footer {
    pub files: BTreeMap<String, Range<u64>>,
    pub hotcache: OwnedBytes,
    /// Where the footer begins: the length of all files together.
    pub start: u64,
}

#[derive(Deserialize)]
struct Metadata {
    files: BTreeMap<String, Span>,
}

#[derive(Deserialize)]
struct Span {
    start: u64,
    end: u64,
}

/// Reads the footer, in one read when `start` (the log's footer offset) is known.
pub fn read_footer(source: &dyn RangeSource, start: Option<u64>) -> Result<Footer> {
    let len = source.len();
    let known = start.filter(|&at| at < len).map(|at| len - at);
    let mut want = known.unwrap_or(TAIL_GUESS).min(len);
    loop {
        let tail = source.read(len - want..len)?;
        match parse_footer(&tail, len)? {
            Parsed::Footer(footer) => return Ok(footer),
            Parsed::Needs(more) if more > want => want = more,
            Parsed::Needs(_) => return Err(damaged("its footer does not end")),
        }
    }
}

enum Parsed {
    Footer(Footer),
    Needs(u64),
}

fn damaged(detail: &str) -> EngineError {
    EngineError::corrupt("", detail)
}

/// Parses the last bytes of a file of `len` bytes.
fn parse_footer(tail: &OwnedBytes, len: u64) -> Result<Parsed> {
    let have = tail.len() as u64;
    if len < 16 {
        return Err(damaged("it is too short to be a split"));
    }
    if have < 8 {
        return Ok(Parsed::Needs(8));
    }
    let hot_len = u64::from(u32_before(tail, have));
    let hot_end = have - 4;
    let need = hot_len + 8;
    if need > len {
        return Err(damaged("its hotcache is longer than the file"));
    }
    if need > have {
        return Ok(Parsed::Needs((need + TAIL_GUESS / 4).min(len)));
    }
    let hot_start = hot_end - hot_len;
    let meta_len = u64::from(u32_before(tail, hot_start));
    let total = meta_len + 4 + hot_len + 4;
    if total > len {
        return Err(damaged("its file table is longer than the file"));
    }
    if total > have {
        return Ok(Parsed::Needs(total));
    }
    let meta_start = (have - total) as usize;
    let meta = &tail[meta_start..meta_start + meta_len as usize];
    let files = parse_metadata(meta, len - total)?;
    let hotcache = tail.slice(hot_start as usize..hot_end as usize);
    Ok(Parsed::Footer(Footer { files, hotcache, start: len - total }))
}

/// The little-endian number that ends at `end`.
fn u32_before(bytes: &[u8], end: u64) -> u32 {
    let end = end as usize;
    bytes
        .get(end.wrapping_sub(4)..end)
        .and_then(|slice| slice.try_into().ok())
        .map_or(u32::MAX, u32::from_le_bytes)
}

fn parse_metadata(meta: &[u8], limit: u64) -> Result<BTreeMap<String, Range<u64>>> {
    if meta.len() < 8 || u32_before(meta, 4) != BUNDLE_MAGIC {
        return Err(damaged("it is not a split (wrong magic number)"));
    }
    if u32_before(meta, 8) != BUNDLE_VERSION {
        return Err(damaged("its bundle version is unknown"));
    }
    let parsed: Metadata = serde_json::from_slice(&meta[8..])
        .map_err(|e| EngineError::corrupt("", format!("its file table does not parse: {e}")))?;
    parsed
        .files
        .into_iter()
        .map(|(name, span)| {
            if span.start > span.end || span.end > limit {
                return Err(damaged("its file table names bytes outside the file"));
            }
            Ok((name, span.start..span.end))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::BytesSource;
    use proptest::prelude::*;

    fn bundle(files: &str, hotcache: &[u8]) -> Vec<u8> {
        let mut out = b"body".to_vec();
        let mut meta = BUNDLE_MAGIC.to_le_bytes().to_vec();
        meta.extend(BUNDLE_VERSION.to_le_bytes());
        meta.extend(files.as_bytes());
        out.extend(&meta);
        out.extend((meta.len() as u32).to_le_bytes());
        out.extend(hotcache);
        out.extend((hotcache.len() as u32).to_le_bytes());
        out
    }

    fn read(bytes: Vec<u8>, start: Option<u64>) -> Result<Footer> {
        read_footer(&BytesSource::new(OwnedBytes::new(bytes)), start)
    }

    #[test]
    fn a_footer_is_found_with_and_without_its_offset() -> Result<()> {
        let bytes = bundle(r#"{"files":{"a":{"start":0,"end":4}}}"#, &[7; 100_000]);
        for start in [None, Some(4), Some(1), Some(100_100)] {
            let footer = read(bytes.clone(), start)?;
            assert_eq!(footer.start, 4);
            assert_eq!(footer.files["a"], 0..4);
            assert_eq!(footer.hotcache.len(), 100_000);
        }
        Ok(())
    }

    #[test]
    fn a_file_outside_the_body_is_refused() {
        let bytes = bundle(r#"{"files":{"a":{"start":0,"end":5}}}"#, b"");
        assert!(matches!(read(bytes, None), Err(EngineError::Corrupt { .. })));
    }

    proptest! {
        #[test]
        fn damaged_bytes_never_panic(
            cut in 0usize..200,
            changes in proptest::collection::vec((0usize..200, any::<u8>()), 0..6),
            start in proptest::option::of(any::<u64>()),
        ) {
            let mut bytes = bundle(r#"{"files":{"meta.json":{"start":0,"end":4}}}"#, &[1, 2, 3]);
            for (at, value) in changes {
                let at = at % bytes.len();
                bytes[at] = value;
            }
            bytes.truncate(bytes.len().saturating_sub(cut % 70));
            let _ = read(bytes, start);
        }

        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(bytes, None);
        }
    }
}
