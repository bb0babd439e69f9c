//! The bundle: concatenated files, then a footer with their offsets.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

pub const BUNDLE_MAGIC: u32 = 403_881_646;
const BUNDLE_VERSION: u32 = 1;
/// Files have a checksum for every block of this many bytes.
pub const BLOCK_BYTES: usize = 1 << 18;

/// The footer of a complete bundle; `end` is the size of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub footer_start: u64,
    pub footer_end: u64,
}

#[derive(Serialize)]
struct Span {
    start: u64,
    end: u64,
}

#[derive(Serialize)]
struct Table<'a> {
    files: &'a BTreeMap<String, Span>,
}

/// Writes a bundle front to back, so that it can go straight into an upload.
pub struct BundleWriter<W: Write> {
    out: W,
    at: u64,
    files: BTreeMap<String, Span>,
    checksums: BTreeMap<String, u32>,
    blocks: BTreeMap<String, Vec<u32>>,
}

impl<W: Write> BundleWriter<W> {
    pub fn new(out: W) -> Self {
        let (files, checksums, blocks) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { out, at: 0, files, checksums, blocks }
    }

    /// Appends a file; its name must be new.
    pub fn add(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        let start = self.at;
        let mut crc = crc32fast::Hasher::new();
        let mut blocks = Vec::with_capacity(content.len().div_ceil(BLOCK_BYTES));
        // block by block, so that it is read from memory once for both
        for piece in content.chunks(BLOCK_BYTES) {
            let mut block = crc32fast::Hasher::new();
            block.update(piece);
            self.out.write_all(piece)?;
            crc.combine(&block);
            blocks.push(block.finalize());
        }
        self.at += content.len() as u64;
        if self.files.insert(name.to_owned(), Span { start, end: self.at }).is_some() {
            return Err(io::Error::other(format!("two files of a bundle are called `{name}`")));
        }
        self.checksums.insert(name.to_owned(), crc.finalize());
        self.blocks.insert(name.to_owned(), blocks);
        Ok(())
    }

    /// CRC-32 of each file so far.
    pub fn checksums(&self) -> &BTreeMap<String, u32> {
        &self.checksums
    }

    /// CRC-32 of the blocks of each file so far.
    pub fn blocks(&self) -> &BTreeMap<String, Vec<u32>> {
        &self.blocks
    }

    /// Ends the bundle with the file table and the hotcache.
    pub fn finish(mut self, hotcache: &[u8]) -> io::Result<(W, Extent)> {
        let mut table = Vec::with_capacity(1024);
        table.extend_from_slice(&BUNDLE_MAGIC.to_le_bytes());
        table.extend_from_slice(&BUNDLE_VERSION.to_le_bytes());
        serde_json::to_writer(&mut table, &Table { files: &self.files })?;
        self.out.write_all(&table)?;
        self.out.write_all(&length(&table)?.to_le_bytes())?;
        self.out.write_all(hotcache)?;
        self.out.write_all(&length(hotcache)?.to_le_bytes())?;
        self.out.flush()?;
        let footer_end = self.at + (table.len() + hotcache.len() + 8) as u64;
        Ok((self.out, Extent { footer_start: self.at, footer_end }))
    }
}

fn length(part: &[u8]) -> io::Result<u32> {
    u32::try_from(part.len()).map_err(|_| io::Error::other("a footer cannot exceed 4 GB"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_cannot_be_used_twice() {
        let mut bundle = BundleWriter::new(Vec::new());
        assert!(bundle.add("a", b"1").is_ok());
        assert!(bundle.add("a", b"2").is_err());
    }

    proptest! {
        #[test]
        fn every_file_is_found_where_the_footer_says(
            files in proptest::collection::btree_map("[a-z.]{1,8}", proptest::collection::vec(any::<u8>(), 0..50), 0..6),
            hotcache in proptest::collection::vec(any::<u8>(), 0..50),
        ) {
            let mut bundle = BundleWriter::new(Vec::new());
            for (name, content) in &files {
                bundle.add(name, content)?;
            }
            let (bytes, extent) = bundle.finish(&hotcache)?;
            prop_assert_eq!(extent.footer_end, bytes.len() as u64);
            let table_len = bytes.len() - 8 - hotcache.len() - extent.footer_start as usize;
            let table = &bytes[extent.footer_start as usize..][..table_len];
            prop_assert_eq!(&table[..4], &BUNDLE_MAGIC.to_le_bytes());
            let table: serde_json::Value = serde_json::from_slice(&table[8..])
                .map_err(|e| TestCaseError::fail(e.to_string()))?;
            for (name, content) in &files {
                let span = &table["files"][name];
                let at = |key: &str| span[key].as_u64().unwrap_or(u64::MAX) as usize;
                prop_assert_eq!(&bytes[at("start")..at("end")], content.as_slice());
            }
        }
    }
}
