//! The memory cache: an LRU of pieces.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Mutex;

use ownedbytes::OwnedBytes;

use crate::store::lock;

#[derive(Default)]
pub struct Memory {
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    limit: u64,
    used: u64,
    clock: u64,
    /// By file and start. No piece of a file contains another, so ends increase with starts, and the piece with
    /// the nearest start before a position reaches furthest.
    files: HashMap<u128, BTreeMap<u64, Piece>>,
    /// When each piece was last used.
    order: BTreeMap<u64, (u128, u64)>,
}

struct Piece {
    bytes: OwnedBytes,
    used_at: u64,
}

impl Memory {
    /// Sets the limit of the whole process; the last call wins.
    pub fn set_limit(&self, bytes: u64) {
        let mut held = lock(&self.held);
        held.limit = bytes;
        held.shrink();
    }

    pub fn used(&self) -> u64 {
        lock(&self.held).used
    }

    pub fn get(&self, file: u128, range: &Range<u64>) -> Option<OwnedBytes> {
        let mut held = lock(&self.held);
        let now = held.tick();
        let (&start, piece) = held.files.get_mut(&file)?.range_mut(..=range.start).next_back()?;
        let offset = (range.start - start) as usize;
        let end = offset + (range.end - range.start) as usize;
        if end > piece.bytes.len() {
            return None;
        }
        let bytes = piece.bytes.slice(offset..end);
        let before = std::mem::replace(&mut piece.used_at, now);
        held.order.remove(&before);
        held.order.insert(now, (file, start));
        Some(bytes)
    }

    pub fn put(&self, file: u128, start: u64, bytes: OwnedBytes) {
        let mut held = lock(&self.held);
        let len = bytes.len() as u64;
        if len > held.limit || held.holds(file, start, start + len) {
            return;
        }
        held.forget_within(file, start..start + len);
        let now = held.tick();
        held.used += len;
        held.order.insert(now, (file, start));
        held.files.entry(file).or_default().insert(start, Piece { bytes, used_at: now });
        held.shrink();
    }

    /// Drops everything; returns pieces and bytes.
    pub fn clear(&self) -> (u64, u64) {
        let mut held = lock(&self.held);
        let cleared = (held.order.len() as u64, held.used);
        *held = Held { limit: held.limit, ..Held::default() };
        cleared
    }
}

impl Held {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn holds(&self, file: u128, start: u64, end: u64) -> bool {
        let nearest = self.files.get(&file).and_then(|f| f.range(..=start).next_back());
        nearest.is_some_and(|(at, piece)| at + piece.bytes.len() as u64 >= end)
    }

    fn forget_within(&mut self, file: u128, range: Range<u64>) {
        let within = |(start, piece): (&u64, &Piece)| {
            (start + piece.bytes.len() as u64 <= range.end).then_some(*start)
        };
        let Some(pieces) = self.files.get(&file) else {
            return;
        };
        let gone: Vec<u64> = pieces.range(range.clone()).filter_map(within).collect();
        for start in gone {
            self.forget(file, start);
        }
    }

    fn forget(&mut self, file: u128, start: u64) {
        let Some(pieces) = self.files.get_mut(&file) else {
            return;
        };
        if let Some(piece) = pieces.remove(&start) {
            self.used -= piece.bytes.len() as u64;
            self.order.remove(&piece.used_at);
        }
        if pieces.is_empty() {
            self.files.remove(&file);
        }
    }

    fn shrink(&mut self) {
        while self.used > self.limit {
            let Some((_, &(file, start))) = self.order.first_key_value() else {
                return;
            };
            self.forget(file, start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(start: u64, len: u64) -> OwnedBytes {
        OwnedBytes::new((start..start + len).map(|i| i as u8).collect::<Vec<u8>>())
    }

    #[test]
    fn the_least_recently_used_piece_goes_first() {
        let memory = Memory::default();
        memory.set_limit(30);
        for start in [0, 10, 20] {
            memory.put(1, start, bytes(start, 10));
        }
        assert!(memory.get(1, &(0..10)).is_some());
        memory.put(2, 0, bytes(0, 10));
        assert!(memory.get(1, &(10..20)).is_none());
        assert!(memory.get(1, &(0..10)).is_some());
        assert_eq!(memory.used(), 30);
        memory.set_limit(10);
        assert_eq!(memory.used(), 10);
        assert_eq!(memory.clear(), (1, 10));
    }

    proptest! {
        #[test]
        fn what_is_answered_was_put_and_the_limit_holds(
            puts in proptest::collection::vec((0u64..100, 1u64..40), 1..40),
            asks in proptest::collection::vec((0u64..120, 1u64..30), 1..20),
        ) {
            let memory = Memory::default();
            memory.set_limit(100);
            for (start, len) in puts {
                memory.put(7, start, bytes(start, len));
                prop_assert!(memory.used() <= 100);
                // the newest piece is always there
                let found = memory.get(7, &(start..start + len));
                let wanted = bytes(start, len);
                prop_assert_eq!(found.as_deref(), Some(wanted.as_slice()));
            }
            for (start, len) in asks {
                if let Some(found) = memory.get(7, &(start..start + len)) {
                    let wanted = bytes(start, len);
                    prop_assert_eq!(found.as_slice(), wanted.as_slice());
                }
            }
        }
    }
}
