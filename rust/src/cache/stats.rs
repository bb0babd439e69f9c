//! Counters of the caches of this process.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::Serialize;

#[derive(Default)]
pub struct Stats {
    pub memory: Hits,
    pub disk: Hits,
    /// Pieces written to disk, and their bytes there.
    pub written: Pair,
    /// Pieces evicted to stay within the limit, and their bytes.
    pub evicted: Pair,
    /// Damaged pieces, which were deleted.
    pub corrupt: AtomicU64,
    /// Pieces not written because too many were waiting.
    pub dropped: AtomicU64,
    /// Pieces not written because the disk failed.
    pub failed: AtomicU64,
}

#[derive(Default)]
pub struct Hits {
    hits: AtomicU64,
    misses: AtomicU64,
    bytes: AtomicU64,
}

impl Hits {
    pub fn record(&self, hit: bool, bytes: u64) {
        if hit {
            self.hits.fetch_add(1, Relaxed);
            self.bytes.fetch_add(bytes, Relaxed);
        } else {
            self.misses.fetch_add(1, Relaxed);
        }
    }
}

#[derive(Default)]
pub struct Pair {
    count: AtomicU64,
    bytes: AtomicU64,
}

impl Pair {
    pub fn add(&self, bytes: u64) {
        self.count.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }
}

/// A snapshot of the counters.
#[derive(Debug, Default, Serialize)]
pub struct Snapshot {
    pub memory_hits: u64,
    pub memory_misses: u64,
    pub memory_hit_bytes: u64,
    pub memory_used: u64,
    pub disk_hits: u64,
    pub disk_misses: u64,
    pub disk_hit_bytes: u64,
    pub disk_writes: u64,
    pub disk_written_bytes: u64,
    pub disk_evictions: u64,
    pub disk_evicted_bytes: u64,
    pub disk_corrupt: u64,
    pub disk_dropped: u64,
    pub disk_failed: u64,
}

impl Stats {
    pub fn snapshot(&self, reset: bool) -> Snapshot {
        let get =
            |count: &AtomicU64| if reset { count.swap(0, Relaxed) } else { count.load(Relaxed) };
        Snapshot {
            memory_hits: get(&self.memory.hits),
            memory_misses: get(&self.memory.misses),
            memory_hit_bytes: get(&self.memory.bytes),
            memory_used: 0,
            disk_hits: get(&self.disk.hits),
            disk_misses: get(&self.disk.misses),
            disk_hit_bytes: get(&self.disk.bytes),
            disk_writes: get(&self.written.count),
            disk_written_bytes: get(&self.written.bytes),
            disk_evictions: get(&self.evicted.count),
            disk_evicted_bytes: get(&self.evicted.bytes),
            disk_corrupt: get(&self.corrupt),
            disk_dropped: get(&self.dropped),
            disk_failed: get(&self.failed),
        }
    }
}
