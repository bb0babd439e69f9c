//! Avro object containers: a header with schema and codec, then compressed blocks of records.
//!
//! Containers that we write have a checksum of the whole file in their header, because neither the format
//! nor most codecs detect a flipped bit.

use std::io::Read;

use crate::error::{EngineError, Result};
use crate::manifest::cursor::{Cursor, put_bytes, put_long};

const MAGIC: &[u8] = b"Obj\x01";
const SYNC: usize = 16;
const CHECKSUM: &str = "indextables.crc32";
const UNSEALED: &[u8] = b"00000000";
/// The decompressed size that a container may always have; beyond that it is limited to a multiple of its
/// compressed size. Real manifests are compressed to a twentieth at most.
const FREE: u64 = 16 << 20;
const MOST_RATIO: u64 = 256;
const MAX_INFLATED: u64 = 4 << 30;

type Zstd = zstd::bulk::Decompressor<'static>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    None,
    Deflate,
    Snappy,
    Zstd(i32),
}

impl Codec {
    /// The codec a user names, with the level zstd is to use.
    pub fn named(name: &str, level: i32) -> Result<Self> {
        Ok(match name {
            "none" => Self::None,
            "deflate" => Self::Deflate,
            "snappy" => Self::Snappy,
            "zstd" => Self::Zstd(level),
            other => {
                let allowed = "zstd, snappy, deflate or none";
                return Err(EngineError::bad_option("state.compression", other, allowed));
            }
        })
    }

    fn from_header(name: &[u8]) -> Result<Self> {
        match name {
            b"" | b"null" => Ok(Self::None),
            b"deflate" => Ok(Self::Deflate),
            b"snappy" => Ok(Self::Snappy),
            b"zstandard" => Ok(Self::Zstd(0)),
            other => {
                let name = String::from_utf8_lossy(other);
                Err(EngineError::corrupt("", format!("unknown codec `{name}`")))
            }
        }
    }

    fn header_name(self) -> &'static [u8] {
        match self {
            Self::None => b"null",
            Self::Deflate => b"deflate",
            Self::Snappy => b"snappy",
            Self::Zstd(_) => b"zstandard",
        }
    }

    fn compress(self, data: Vec<u8>) -> Result<Vec<u8>> {
        let failed = |e: &dyn std::fmt::Display| EngineError::internal(format!("compress: {e}"));
        match self {
            Self::None => Ok(data),
            Self::Deflate => {
                let mut out = Vec::new();
                flate2::read::DeflateEncoder::new(&data[..], flate2::Compression::default())
                    .read_to_end(&mut out)
                    .map_err(|e| failed(&e))?;
                Ok(out)
            }
            Self::Snappy => {
                let mut out =
                    snap::raw::Encoder::new().compress_vec(&data).map_err(|e| failed(&e))?;
                out.extend_from_slice(&crc32fast::hash(&data).to_be_bytes());
                Ok(out)
            }
            Self::Zstd(level) => zstd::bulk::compress(&data, level).map_err(|e| failed(&e)),
        }
    }

    /// Decompresses a block into a reused buffer: fresh memory costs more than the decompression.
    fn decompress(self, data: &[u8], out: &mut Vec<u8>, limit: u64, zstd: &mut Zstd) -> Result<()> {
        out.clear();
        match self {
            Self::None => {
                out.try_reserve(data.len()).map_err(broken)?;
                out.extend_from_slice(data);
                Ok(())
            }
            Self::Deflate => read_bounded(flate2::read::DeflateDecoder::new(data), out, limit),
            Self::Snappy => unsnap(data, out, limit),
            Self::Zstd(_) => unzstd(data, out, limit, zstd),
        }
    }
}

fn broken(detail: impl std::fmt::Display) -> EngineError {
    EngineError::corrupt("", format!("a block: {detail}"))
}

fn check_size(size: u64, limit: u64) -> Result<()> {
    if size > limit {
        return Err(broken("it unpacks to more than a file of this size may"));
    }
    Ok(())
}

fn read_bounded(reader: impl Read, out: &mut Vec<u8>, limit: u64) -> Result<()> {
    reader.take(limit + 1).read_to_end(out).map_err(broken)?;
    check_size(out.len() as u64, limit)
}

fn unsnap(data: &[u8], out: &mut Vec<u8>, limit: u64) -> Result<()> {
    let (body, sum) = data.split_last_chunk::<4>().ok_or_else(|| broken("too short"))?;
    let size = snap::raw::decompress_len(body).map_err(broken)?;
    check_size(size as u64, limit)?;
    out.try_reserve(size).map_err(broken)?;
    out.resize(size, 0);
    snap::raw::Decoder::new().decompress(body, out).map_err(broken)?;
    if crc32fast::hash(out).to_be_bytes() != *sum {
        return Err(broken("its checksum does not match"));
    }
    Ok(())
}

fn unzstd(data: &[u8], out: &mut Vec<u8>, limit: u64, decoder: &mut Zstd) -> Result<()> {
    match zstd::zstd_safe::get_frame_content_size(data) {
        // a frame that records its size is decompressed at once; a wrong size fails
        Ok(Some(size)) => {
            check_size(size, limit)?;
            out.try_reserve(usize::try_from(size).map_err(broken)?).map_err(broken)?;
            decoder.decompress_to_buffer(data, out).map_err(broken)?;
            Ok(())
        }
        _ => read_bounded(zstd::stream::read::Decoder::new(data).map_err(broken)?, out, limit),
    }
}

/// An open container: its schema, and its compressed blocks.
pub struct Container<'a> {
    pub schema: &'a str,
    codec: Codec,
    sync: &'a [u8],
    body: &'a [u8],
    limit: u64,
}

impl<'a> Container<'a> {
    pub fn open(data: &'a [u8]) -> Result<Self> {
        if !data.starts_with(MAGIC) {
            return Err(EngineError::corrupt("", "it does not begin as an Avro file"));
        }
        let mut cursor = Cursor::new(&data[MAGIC.len()..]);
        let (mut schema, mut codec) = (None, Codec::None);
        loop {
            let count = cursor.block(2)?;
            if count == 0 {
                break;
            }
            for _ in 0..count {
                let key = cursor.text()?;
                let value = cursor.bytes()?;
                match key {
                    "avro.schema" => {
                        schema = Some(std::str::from_utf8(value).map_err(broken)?);
                    }
                    "avro.codec" => codec = Codec::from_header(value)?,
                    CHECKSUM => {
                        let end = MAGIC.len() + cursor.position();
                        check_seal(data, end - value.len(), end)?;
                    }
                    _ => {}
                }
            }
        }
        let sync = cursor.take(SYNC)?;
        let body = &data[MAGIC.len() + cursor.position()..];
        let schema = schema.ok_or_else(|| EngineError::corrupt("", "it has no Avro schema"))?;
        let limit = (data.len() as u64).saturating_mul(MOST_RATIO).saturating_add(FREE);
        Ok(Self { schema, codec, sync, body, limit: limit.min(MAX_INFLATED) })
    }

    /// Gives every block to `each`: the number of records, and their bytes.
    pub fn for_each_block(&self, mut each: impl FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
        let mut cursor = Cursor::new(self.body);
        let mut data = Vec::new();
        let mut zstd = Zstd::new().map_err(broken)?;
        let mut left = self.limit;
        while cursor.remaining() > 0 {
            let (count, packed) = self.next_block(&mut cursor)?;
            self.codec.decompress(packed, &mut data, left, &mut zstd)?;
            left = left.saturating_sub(data.len() as u64);
            if count > data.len() {
                return Err(broken(format!("{count} records cannot be in it")));
            }
            each(count, &data)?;
        }
        Ok(())
    }

    /// The number of records according to the block headers; nothing is decompressed.
    pub fn records(&self) -> Result<usize> {
        let mut cursor = Cursor::new(self.body);
        let mut total = 0_usize;
        while cursor.remaining() > 0 {
            total = total.saturating_add(self.next_block(&mut cursor)?.0);
        }
        Ok(total)
    }

    fn next_block(&self, cursor: &mut Cursor<'a>) -> Result<(usize, &'a [u8])> {
        let count = usize::try_from(cursor.long()?).map_err(broken)?;
        let packed = cursor.bytes()?;
        if cursor.take(SYNC)? != self.sync {
            return Err(broken("its end is not marked"));
        }
        Ok((count, packed))
    }
}

fn check_seal(data: &[u8], start: usize, end: usize) -> Result<()> {
    let mut hash = crc32fast::Hasher::new();
    hash.update(&data[..start]);
    hash.update(UNSEALED);
    hash.update(&data[end..]);
    let expected = format!("{:08x}", hash.finalize());
    if data.get(start..end) != Some(expected.as_bytes()) {
        return Err(EngineError::corrupt("", "its checksum does not match"));
    }
    Ok(())
}

/// Packs blocks of records into a container.
pub fn pack(
    schema: &str,
    codec: Codec,
    blocks: impl IntoIterator<Item = (usize, Vec<u8>)>,
) -> Result<Vec<u8>> {
    let mut out = MAGIC.to_vec();
    put_long(&mut out, 3);
    for (key, value) in [("avro.schema", schema.as_bytes()), ("avro.codec", codec.header_name())] {
        put_bytes(&mut out, key.as_bytes());
        put_bytes(&mut out, value);
    }
    put_bytes(&mut out, CHECKSUM.as_bytes());
    put_bytes(&mut out, UNSEALED);
    let seal = out.len() - UNSEALED.len();
    put_long(&mut out, 0);
    let sync = uuid::Uuid::new_v4().into_bytes();
    out.extend_from_slice(&sync);
    for (count, data) in blocks {
        put_long(&mut out, count as i64);
        put_bytes(&mut out, &codec.compress(data)?);
        out.extend_from_slice(&sync);
    }
    let checksum = format!("{:08x}", crc32fast::hash(&out));
    out[seal..seal + UNSEALED.len()].copy_from_slice(checksum.as_bytes());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(codec: Codec) -> Vec<u8> {
        pack("\"long\"", codec, [(3, vec![2, 4, 6]), (1, vec![8])]).unwrap_or_default()
    }

    fn read(data: &[u8]) -> Result<Vec<(usize, Vec<u8>)>> {
        let mut found = Vec::new();
        Container::open(data)?.for_each_block(|count, bytes| {
            found.push((count, bytes.to_vec()));
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn blocks_come_back_with_every_codec() {
        for codec in [Codec::None, Codec::Deflate, Codec::Snappy, Codec::Zstd(3)] {
            let blocks = read(&sample(codec));
            assert_eq!(blocks.ok(), Some(vec![(3, vec![2, 4, 6]), (1, vec![8])]), "{codec:?}");
        }
    }

    #[test]
    fn a_flipped_or_cut_byte_is_noticed() {
        for codec in [Codec::None, Codec::Deflate, Codec::Snappy, Codec::Zstd(3)] {
            let data = sample(codec);
            let key = data.windows(CHECKSUM.len()).position(|w| w == CHECKSUM.as_bytes());
            let key = key.unwrap_or_default();
            for at in 0..data.len() {
                let mut flipped = data.clone();
                flipped[at] ^= 0x10;
                // without its name the checksum is not checked, but then nothing else is damaged
                let unchecked = (key..key + CHECKSUM.len()).contains(&at);
                assert_eq!(read(&flipped).is_ok(), unchecked, "{codec:?} byte {at}");
                assert!(read(&data[..at]).is_err(), "{codec:?} cut at {at}");
            }
        }
    }
}
