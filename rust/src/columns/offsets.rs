//! Where the documents of a block of the document store lie.

use super::doc_store::damaged;
use crate::error::{EngineError, Result};

fn outside() -> EngineError {
    damaged("a document lies outside its block")
}

/// Where the documents of a block begin: `documents · u32 offset of each · u32 count`.
pub struct OffsetTable {
    start: usize,
    count: u32,
}

impl OffsetTable {
    pub fn of(block: &[u8], docs: u32) -> Result<OffsetTable> {
        let count = block.last_chunk::<4>().map(|b| u32::from_le_bytes(*b));
        let start = count
            .filter(|&count| count == docs)
            .and_then(|count| block.len().checked_sub(4 * (count as usize + 1)));
        match start {
            Some(start) => Ok(OffsetTable { start, count: docs }),
            None => Err(damaged("a block does not hold its documents")),
        }
    }

    /// Where a document begins, or behind the last one where they end.
    #[inline]
    fn start_of(&self, block: &[u8], index: u32) -> Result<usize> {
        if index == self.count {
            return Ok(self.start);
        }
        let entry = self.start + 4 * index as usize;
        let bytes = block.get(entry..entry + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map(|bytes| u32::from_le_bytes(bytes) as usize).ok_or_else(outside)
    }

    #[inline]
    pub fn document<'a>(&self, block: &'a [u8], index: u32) -> Result<&'a [u8]> {
        let range = self.start_of(block, index)?..self.start_of(block, index + 1)?;
        block.get(range).ok_or_else(outside)
    }

    /// The first document from `from` on in which `find` finds something.
    pub fn first_hit(
        &self,
        block: &[u8],
        from: u32,
        find: &impl Fn(&[u8]) -> Option<usize>,
    ) -> Result<Option<u32>> {
        let start = self.start_of(block, from)?;
        let rest = block.get(start..self.start).ok_or_else(outside)?;
        let Some(hit) = find(rest) else { return Ok(None) };
        // the last document that begins at or before the hit
        let (mut low, mut high) = (from, self.count);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.start_of(block, middle)? <= start + hit {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(Some(low))
    }
}
