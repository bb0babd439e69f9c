//! One piece as a file of the disk cache.
//!
//! `ITC1 · u32 length of the header · u32 CRC of the header · header · chunks`. The bytes are divided into
//! chunks that are compressed and checked one by one, so that a few bytes of a large piece cost one
//! chunk. The header identifies the file, so that a collision of names is detected.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};

use crate::error::{EngineError, Result};

const MAGIC: &[u8; 4] = b"ITC1";
const CHUNK: usize = 64 << 10;
/// The header of a piece of 16 GiB; more is damage.
const LONGEST_HEADER: u32 = 8 << 20;
const PREFIX: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Codec {
    None,
    Lz4,
    Zstd,
}

impl Codec {
    pub fn parse(text: &str) -> Result<Codec> {
        match text {
            "none" => Ok(Codec::None),
            "lz4" => Ok(Codec::Lz4),
            "zstd" => Ok(Codec::Zstd),
            other => Err(EngineError::bad_option(
                "cache_disk_compression",
                other,
                "allowed are lz4, zstd, none",
            )),
        }
    }

    fn compress(self, bytes: &[u8]) -> Option<Vec<u8>> {
        let small = match self {
            Codec::None => return None,
            Codec::Lz4 => {
                let most = lz4_flex::block::get_maximum_output_size(bytes.len());
                let mut small = vec![0; most];
                let len = lz4_flex::block::compress_into(bytes, &mut small).ok()?;
                small.truncate(len);
                small
            }
            Codec::Zstd => zstd::bulk::compress(bytes, 1).ok()?,
        };
        (small.len() < bytes.len()).then_some(small)
    }

    fn decompress(self, bytes: Vec<u8>, len: usize) -> io::Result<Vec<u8>> {
        let whole = match self {
            Codec::None => bytes,
            Codec::Lz4 => {
                let mut whole = vec![0; len];
                let found = lz4_flex::block::decompress_into(&bytes, &mut whole)
                    .map_err(|e| damaged(e.to_string()))?;
                whole.truncate(found);
                whole
            }
            Codec::Zstd => zstd::bulk::decompress(&bytes, len)?,
        };
        if whole.len() == len { Ok(whole) } else { Err(damaged("a chunk has another length")) }
    }
}

#[derive(Serialize, Deserialize)]
struct Header {
    identity: String,
    start: u64,
    len: u64,
    chunk: u64,
    /// Codec, stored length and CRC of the stored bytes.
    chunks: Vec<(Codec, u32, u32)>,
}

fn damaged(detail: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, detail.into())
}

/// The file of a piece.
pub fn encode(identity: &str, start: u64, bytes: &[u8], codec: Codec) -> io::Result<Vec<u8>> {
    let mut chunks = Vec::with_capacity(bytes.len().div_ceil(CHUNK));
    let mut body = Vec::with_capacity(bytes.len());
    for chunk in bytes.chunks(CHUNK) {
        let small = codec.compress(chunk);
        let used = if small.is_some() { codec } else { Codec::None };
        let stored = small.as_deref().unwrap_or(chunk);
        chunks.push((used, stored.len() as u32, crc32fast::hash(stored)));
        body.extend_from_slice(stored);
    }
    let header = Header {
        identity: identity.to_owned(),
        start,
        len: bytes.len() as u64,
        chunk: CHUNK as u64,
        chunks,
    };
    let header = postcard::to_allocvec(&header).map_err(|e| damaged(e.to_string()))?;
    let mut out = Vec::with_capacity(PREFIX + header.len() + body.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&(header.len() as u32).to_le_bytes());
    out.extend_from_slice(&crc32fast::hash(&header).to_le_bytes());
    out.extend_from_slice(&header);
    out.extend_from_slice(&body);
    Ok(out)
}

/// A range of the remote file, read from the file of a piece that holds it.
pub fn read(file: &File, identity: &str, range: &Range<u64>) -> io::Result<Vec<u8>> {
    let (header, body) = read_header(file)?;
    let end = header.start.saturating_add(header.len);
    if header.identity != identity || range.start < header.start || range.end > end {
        return Err(damaged("it is a piece of something else"));
    }
    let size = header.chunk;
    let first = (range.start - header.start) / size;
    let last = (range.end - header.start).div_ceil(size);
    let mut at =
        body + header.chunks.iter().take(first as usize).map(|c| u64::from(c.1)).sum::<u64>();
    let mut out = Vec::with_capacity(((last - first) * size) as usize);
    for number in first..last {
        let &(codec, stored, crc) =
            header.chunks.get(number as usize).ok_or_else(|| damaged("a chunk is missing"))?;
        let mut bytes = vec![0; stored as usize];
        file.read_exact_at(&mut bytes, at)?;
        if crc32fast::hash(&bytes) != crc {
            return Err(damaged("a checksum differs"));
        }
        let len = size.min(header.len - number * size) as usize;
        out.append(&mut codec.decompress(bytes, len)?);
        at += u64::from(stored);
    }
    let offset = (range.start - header.start - first * size) as usize;
    out.truncate(offset + (range.end - range.start) as usize);
    out.drain(..offset);
    Ok(out)
}

fn read_header(file: &File) -> io::Result<(Header, u64)> {
    let mut prefix = [0; PREFIX];
    file.read_exact_at(&mut prefix, 0)?;
    let number = |at: usize| {
        u32::from_le_bytes([prefix[at], prefix[at + 1], prefix[at + 2], prefix[at + 3]])
    };
    let len = number(4);
    if &prefix[..4] != MAGIC || len > LONGEST_HEADER {
        return Err(damaged("it is not a piece"));
    }
    let mut bytes = vec![0; len as usize];
    file.read_exact_at(&mut bytes, PREFIX as u64)?;
    if crc32fast::hash(&bytes) != number(8) {
        return Err(damaged("the checksum of its header differs"));
    }
    let header: Header = postcard::from_bytes(&bytes).map_err(|e| damaged(e.to_string()))?;
    if header.chunk == 0 || header.chunk > 1 << 30 {
        return Err(damaged("its chunks have a strange size"));
    }
    Ok((header, PREFIX as u64 + u64::from(len)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file(bytes: &[u8]) -> io::Result<File> {
        let mut file = tempfile::tempfile()?;
        file.write_all(bytes)?;
        Ok(file)
    }

    fn sample() -> Vec<u8> {
        (0..200_000u32)
            .map(|i| if i < 100_000 { 7 } else { (i.wrapping_mul(i) >> 3) as u8 })
            .collect()
    }

    #[test]
    fn any_range_comes_back_with_every_codec() -> io::Result<()> {
        let bytes = sample();
        for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
            let encoded = encode("f", 1000, &bytes, codec)?;
            assert_eq!(codec == Codec::None, encoded.len() > bytes.len());
            let file = file(&encoded)?;
            for range in [0..200_000, 0..1, 65_535..65_537, 131_072..200_000, 5..5] {
                let wanted = &bytes[range.clone()];
                let found =
                    read(&file, "f", &(1000 + range.start as u64..1000 + range.end as u64))?;
                assert_eq!(found, wanted);
            }
            assert!(read(&file, "other", &(1000..1001)).is_err());
            assert!(read(&file, "f", &(999..1001)).is_err());
        }
        Ok(())
    }

    #[test]
    fn a_changed_byte_is_noticed_wherever_it_is() -> io::Result<()> {
        let bytes = sample();
        let encoded = encode("f", 0, &bytes, Codec::Lz4)?;
        for at in (0..encoded.len()).step_by(997).chain(0..40) {
            let mut broken = encoded.clone();
            broken[at] ^= 0x10;
            assert!(read(&file(&broken)?, "f", &(0..bytes.len() as u64)).is_err(), "{at}");
        }
        let cut = &encoded[..encoded.len() - 1];
        assert!(read(&file(cut)?, "f", &(0..bytes.len() as u64)).is_err());
        Ok(())
    }
}
