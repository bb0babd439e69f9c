//! Reads tantivy's document store block by block, handing out documents as bytes.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use ownedbytes::OwnedBytes;
use tantivy::HasLen;
use tantivy::directory::FileSlice;

use super::Docs;
use super::lz4;
use super::offsets::OffsetTable;
use super::stored_value::Cursor;
use crate::directory::BundleDirectory;
use crate::error::{EngineError, Result};
use crate::unzstd::unzstd;

const FOOTER_LEN: usize = 28;
/// Bytes of blocks that are fetched together from a remote store.
const FETCH_BYTES: u64 = 16 << 20;

/// The blocks of one segment's document store.
#[derive(Debug)]
pub struct DocStore {
    data: FileSlice,
    path: PathBuf,
    blocks: Vec<Block>,
    codec: Codec,
    bytes: u64,
}

#[derive(Debug, Clone)]
struct Block {
    docs: Range<u32>,
    bytes: Range<usize>,
}

#[derive(Debug, Clone, Copy)]
enum Codec {
    None,
    Lz4,
    Zstd,
}

pub fn damaged(detail: &str) -> EngineError {
    EngineError::corrupt("", format!("its document store: {detail}"))
}

impl DocStore {
    pub fn open(file: FileSlice, path: PathBuf, max_doc: u32) -> Result<DocStore> {
        let len = file.len();
        if len < FOOTER_LEN {
            return Err(damaged("too short"));
        }
        let footer = file.slice(len - FOOTER_LEN..len).read_bytes()?;
        let version = u32::from_le_bytes(footer[0..4].try_into().unwrap_or_default());
        let index_at = u64::from_le_bytes(footer[4..12].try_into().unwrap_or_default()) as usize;
        if version != 2 {
            return Err(damaged(&format!("version {version} is not known")));
        }
        let codec = match footer[12] {
            0 => Codec::None,
            1 => Codec::Lz4,
            4 => Codec::Zstd,
            _ => return Err(damaged("unknown compression")),
        };
        if index_at > len - FOOTER_LEN {
            return Err(damaged("its index lies outside"));
        }
        let index = file.slice(index_at..len - FOOTER_LEN).read_bytes()?;
        let blocks = parse_index(&index).ok_or_else(|| damaged("its index does not parse"))?;
        check_blocks(&blocks, index_at, max_doc)?;
        let data = file.slice(0..index_at);
        Ok(DocStore { data, path, blocks, codec, bytes: index_at as u64 })
    }

    /// Compressed bytes of all blocks.
    pub fn num_bytes(&self) -> u64 {
        self.bytes
    }

    pub fn num_blocks(&self) -> usize {
        self.blocks.len()
    }
}

/// The lowest layer of the skip list: groups of (documents, bytes) after their first position.
fn parse_index(index: &[u8]) -> Option<Vec<Block>> {
    let mut cursor = Cursor::new(index);
    let layers = cursor.vint()?;
    let (mut start, mut end) = (0usize, 0usize);
    let mut header = 0;
    for _ in 0..layers {
        start = end;
        end = usize::try_from(cursor.vint()?).ok()?;
        header += 1;
    }
    if header == 0 {
        return Some(Vec::new());
    }
    let layer = cursor.rest().get(start..end)?;
    let mut cursor = Cursor::new(layer);
    let mut blocks = Vec::new();
    while !cursor.rest().is_empty() {
        let count = cursor.vint()?;
        if count == 0 {
            continue;
        }
        let mut doc = u32::try_from(cursor.vint()?).ok()?;
        let mut at = usize::try_from(cursor.vint()?).ok()?;
        for _ in 0..count {
            let next_doc = doc.checked_add(u32::try_from(cursor.vint()?).ok()?)?;
            let next_at = at.checked_add(usize::try_from(cursor.vint()?).ok()?)?;
            blocks.push(Block { docs: doc..next_doc, bytes: at..next_at });
            (doc, at) = (next_doc, next_at);
        }
    }
    Some(blocks)
}

fn check_blocks(blocks: &[Block], data_len: usize, max_doc: u32) -> Result<()> {
    let mut next = 0;
    for block in blocks {
        if block.docs.start != next || block.bytes.end > data_len {
            return Err(damaged("its blocks do not follow each other"));
        }
        next = block.docs.end;
    }
    if next != max_doc {
        return Err(damaged("it does not hold every document"));
    }
    Ok(())
}

/// A reader that caches the last decompressed block.
pub struct BlockReader {
    store: Arc<DocStore>,
    directory: BundleDirectory,
    current: Option<usize>,
    buffer: Vec<u8>,
}

impl BlockReader {
    pub fn new(store: Arc<DocStore>, directory: BundleDirectory) -> BlockReader {
        BlockReader { store, directory, current: None, buffer: Vec::new() }
    }

    /// Calls `visit` with the bytes of each wanted document, in ascending order.
    pub fn read(
        &mut self,
        docs: &Docs<'_>,
        mut visit: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        self.prefetch(docs)?;
        let mut at = 0;
        while at < docs.len() {
            let (block, range) = self.block_of(docs.get(at))?;
            let end = at + docs.count_before(at, range.end);
            at += self.read_start(block, docs, at..end, &mut visit)?;
            if at == end {
                continue;
            }
            let table = self.load(block)?;
            while at < end {
                visit(table.document(&self.buffer, docs.get(at) - range.start)?)?;
                at += 1;
            }
        }
        Ok(())
    }

    /// Calls `visit` with each wanted document in which `find` finds something, and its number. A hit may lie anywhere in
    /// the document, or begin in it and end in the next.
    pub fn search(
        &mut self,
        docs: &Docs<'_>,
        find: impl Fn(&[u8]) -> Option<usize>,
        mut visit: impl FnMut(u32, &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.prefetch(docs)?;
        let mut at = 0;
        while at < docs.len() {
            let (block, range) = self.block_of(docs.get(at))?;
            let table = self.load(block)?;
            let end = at + docs.count_before(at, range.end);
            while at < end {
                let Some(hit) = table.first_hit(&self.buffer, docs.get(at) - range.start, &find)?
                else {
                    at = end;
                    break;
                };
                at += docs.count_before(at, range.start + hit);
                if at < end && docs.get(at) == range.start + hit {
                    visit(docs.get(at), table.document(&self.buffer, hit)?)?;
                    at += 1;
                }
            }
        }
        Ok(())
    }

    /// The block of a document, and the documents in it.
    fn block_of(&self, doc: u32) -> Result<(usize, Range<u32>)> {
        let block = self.store.blocks.partition_point(|b| b.docs.end <= doc);
        match self.store.blocks.get(block) {
            Some(found) => Ok((block, found.docs.clone())),
            None => Err(damaged("a document is missing")),
        }
    }

    /// Visits some documents of a block, if they lie in its first half: no more of it is decompressed. Returns how
    /// many were visited; the others need the whole block.
    fn read_start(
        &mut self,
        block: usize,
        docs: &Docs<'_>,
        wanted: Range<usize>,
        visit: &mut impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<usize> {
        let range = self.store.blocks[block].docs.clone();
        let count = range.end - range.start;
        let last = docs.get(wanted.end - 1) - range.start;
        let is_early = last < count / 2;
        if !is_early || self.current == Some(block) || !matches!(self.store.codec, Codec::Lz4) {
            return Ok(0);
        }
        self.current = None;
        let compressed = self.compressed(block)?;
        let (size, body) = sized(&compressed)?;
        // document offsets are at the end of the block: documents are read in order instead, and the first may be longer
        let share = size / count as usize * (last as usize + 1);
        lz4::decompress(body, size, share + share / 4 + 64, &mut self.buffer)?;
        let mut rest = Cursor::new(&self.buffer);
        let (mut visited, mut next) = (0, 0);
        for at in wanted {
            let index = docs.get(at) - range.start;
            while next < index && rest.document().is_some() {
                next += 1;
            }
            let Some(document) = rest.document().filter(|_| next == index) else { break };
            visit(document)?;
            (visited, next) = (visited + 1, next + 1);
        }
        Ok(visited)
    }

    fn prefetch(&self, docs: &Docs<'_>) -> Result<()> {
        if !self.directory.is_remote() {
            return Ok(());
        }
        let mut wanted: Vec<Range<u64>> = Vec::new();
        let mut total = 0;
        let mut at = 0;
        while at < docs.len() {
            let first = docs.get(at);
            let block = self.store.blocks.partition_point(|b| b.docs.end <= first);
            let Some(block) = self.store.blocks.get(block) else { break };
            let range = block.bytes.start as u64..block.bytes.end as u64;
            total += range.end - range.start;
            // the rest is fetched when it is reached, so that memory stays bounded
            if total > FETCH_BYTES && !wanted.is_empty() {
                break;
            }
            wanted.push(range);
            at += docs.count_before(at, block.docs.end);
        }
        Ok(self.directory.prefetch(&self.store.path, &wanted)?)
    }

    /// Loads a block, and tells where its documents lie.
    fn load(&mut self, block: usize) -> Result<OffsetTable> {
        if self.current != Some(block) {
            self.current = None;
            let compressed = self.compressed(block)?;
            self.decompress(&compressed)?;
            self.current = Some(block);
        }
        let range = &self.store.blocks[block].docs;
        OffsetTable::of(&self.buffer, range.end - range.start)
    }

    fn compressed(&self, block: usize) -> Result<OwnedBytes> {
        let range = self.store.blocks[block].bytes.clone();
        Ok(self.store.data.slice(range).read_bytes()?)
    }

    fn decompress(&mut self, compressed: &[u8]) -> Result<()> {
        match self.store.codec {
            Codec::None => {
                self.buffer.clear();
                self.buffer.extend_from_slice(compressed);
                Ok(())
            }
            Codec::Lz4 => {
                let (size, body) = sized(compressed)?;
                lz4::decompress(body, size, size, &mut self.buffer)
            }
            Codec::Zstd => {
                let (size, body) = sized(compressed)?;
                self.buffer.clear();
                self.buffer.try_reserve_exact(size).map_err(|_| damaged("a block is too large"))?;
                match unzstd(body, &mut self.buffer).map_err(|e| damaged(&e.to_string()))? {
                    written if written == size => Ok(()),
                    _ => Err(damaged("a block has another length than it says")),
                }
            }
        }
    }
}

/// The length of a block, which is stored before it, and its bytes.
fn sized(compressed: &[u8]) -> Result<(usize, &[u8])> {
    let (size, body) =
        compressed.split_first_chunk::<4>().ok_or_else(|| damaged("a block is too short"))?;
    Ok((u32::from_le_bytes(*size) as usize, body))
}
