//! Time spent in the engine, by section. Off by default; when on, it costs a few atomics per call.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use serde::Serialize;

/// A part of the engine's work.
#[derive(Debug, Clone, Copy)]
pub enum Section {
    OpenSplit,
    Count,
    Search,
    ReadBatch,
    Aggregate,
    Prewarm,
    Fetch,
    DiskRead,
    DiskWrite,
    WriteBatch,
    FinishSplit,
    Merge,
}

const SECTIONS: [(&str, &str); 12] = [
    ("open_split", "open"),
    ("count", "query"),
    ("search", "query"),
    ("read_batch", "read"),
    ("aggregate", "query"),
    ("prewarm", "cache"),
    ("fetch", "store"),
    ("disk_cache_read", "cache"),
    ("disk_cache_write", "cache"),
    ("write_batch", "write"),
    ("finish_split", "write"),
    ("merge", "write"),
];

struct Clock {
    calls: AtomicU64,
    total_ns: AtomicU64,
    min_ns: AtomicU64,
    max_ns: AtomicU64,
}

static ENABLED: AtomicBool = AtomicBool::new(false);
static CLOCKS: [Clock; SECTIONS.len()] = [const {
    Clock {
        calls: AtomicU64::new(0),
        total_ns: AtomicU64::new(0),
        min_ns: AtomicU64::new(u64::MAX),
        max_ns: AtomicU64::new(0),
    }
}; SECTIONS.len()];

/// Measures until it is dropped.
pub struct Timer {
    section: Section,
    started: Instant,
}

/// A timer, if the profiler is on.
pub fn start(section: Section) -> Option<Timer> {
    ENABLED.load(Relaxed).then(|| Timer { section, started: Instant::now() })
}

impl Drop for Timer {
    fn drop(&mut self) {
        let spent = self.started.elapsed().as_nanos() as u64;
        let clock = &CLOCKS[self.section as usize];
        clock.calls.fetch_add(1, Relaxed);
        clock.total_ns.fetch_add(spent, Relaxed);
        clock.min_ns.fetch_min(spent, Relaxed);
        clock.max_ns.fetch_max(spent, Relaxed);
    }
}

/// Turns measuring on or off.
pub fn enable(on: bool) {
    ENABLED.store(on, Relaxed);
}

/// What one section took.
#[derive(Debug, Serialize)]
pub struct Measured {
    pub section: &'static str,
    pub category: &'static str,
    pub calls: u64,
    pub total_ns: u64,
    pub min_ns: u64,
    pub max_ns: u64,
}

/// All sections that were entered; `reset` sets the clocks to zero.
pub fn measured(reset: bool) -> Vec<Measured> {
    let take = |value: &AtomicU64, zero: u64| {
        if reset { value.swap(zero, Relaxed) } else { value.load(Relaxed) }
    };
    SECTIONS
        .iter()
        .zip(&CLOCKS)
        .map(|(&(section, category), clock)| Measured {
            section,
            category,
            calls: take(&clock.calls, 0),
            total_ns: take(&clock.total_ns, 0),
            min_ns: take(&clock.min_ns, u64::MAX),
            max_ns: take(&clock.max_ns, 0),
        })
        .filter(|m| m.calls > 0)
        .collect()
}
