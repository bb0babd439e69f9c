//! Deletion vectors as tantivy's sets of living documents.

use ownedbytes::OwnedBytes;
use roaring::RoaringBitmap;
use tantivy::fastfield::AliveBitSet;

use crate::error::{EngineError, Result};

/// Whether a document of a segment lives, by the bits of its living ones.
#[inline]
pub fn is_alive(words: &[u64], doc: u32) -> bool {
    words[(doc >> 6) as usize] >> (doc & 63) & 1 != 0
}

/// Documents of a split that are deleted, one bit each.
pub struct Deleted {
    words: Vec<u64>,
    count: u64,
}

impl Deleted {
    /// Reads a portable roaring bitmap of document positions in a split of `docs` documents.
    pub fn parse(bytes: &[u8], docs: u32) -> Result<Deleted> {
        let bitmap = RoaringBitmap::deserialize_from(bytes)
            .map_err(|e| EngineError::corrupt("", format!("its deletion vector: {e}")))?;
        if bitmap.max().is_some_and(|last| last >= docs) {
            return Err(EngineError::corrupt(
                "",
                "its deletion vector names rows it does not have",
            ));
        }
        let mut words = vec![0u64; docs.div_ceil(64) as usize];
        for doc in &bitmap {
            words[(doc >> 6) as usize] |= 1 << (doc & 63);
        }
        Ok(Deleted { words, count: bitmap.len() })
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// The living documents of a segment that begins at `base`, one bit each; nothing when all live.
    pub fn alive(&self, base: u32, docs: u32) -> Option<Vec<u64>> {
        let mut any = false;
        let words = (0..docs).step_by(64).map(|at| {
            let left = docs - at;
            let inside = if left >= 64 { u64::MAX } else { (1 << left) - 1 };
            let dead = self.word_at(base + at) & inside;
            any |= dead != 0;
            !dead & inside
        });
        let words: Vec<u64> = words.collect();
        any.then_some(words)
    }

    /// 64 bits beginning at any position.
    fn word_at(&self, position: u32) -> u64 {
        let (word, shift) = ((position >> 6) as usize, position & 63);
        let low = self.words.get(word).copied().unwrap_or(0) >> shift;
        if shift == 0 {
            return low;
        }
        low | self.words.get(word + 1).copied().unwrap_or(0) << (64 - shift)
    }
}

/// The same bits in tantivy's form.
pub fn alive_set(words: &[u64], docs: u32) -> AliveBitSet {
    let mut bytes = Vec::with_capacity(4 + words.len() * 8);
    bytes.extend_from_slice(&docs.to_le_bytes());
    words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    AliveBitSet::open(OwnedBytes::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_segment_sees_its_own_documents(
            dead in proptest::collection::btree_set(0u32..500, 0..200),
            base in 0u32..300,
            docs in 1u32..200,
        ) {
            let mut bytes = Vec::new();
            let bitmap: RoaringBitmap = dead.iter().collect();
            bitmap.serialize_into(&mut bytes).ok();
            let deleted = Deleted::parse(&bytes, 500).ok();
            let words = deleted.as_ref().and_then(|d| d.alive(base, docs));
            let alive = words.map(|words| alive_set(&words, docs));
            for doc in 0..docs {
                let expected = !dead.contains(&(base + doc));
                prop_assert_eq!(alive.as_ref().is_none_or(|a| a.is_alive(doc)), expected);
            }
        }

        #[test]
        fn damaged_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = Deleted::parse(&bytes, 500);
        }
    }
}
