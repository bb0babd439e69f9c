//! The queue of pieces to be written to disk by one thread, so that no query waits for the disk.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, Once, PoisonError};

use ownedbytes::OwnedBytes;

use super::disk::Disk;
use super::options::DiskOptions;
use super::stats::Stats;
use crate::profile::{self, Section};
use crate::store::lock;

/// In mode `fragment`, this many bytes of capacity count as one piece.
const PIECE: u64 = 1 << 20;

/// How much may wait, and what happens beyond that.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Count pieces, not bytes.
    pub by_count: bool,
    pub capacity: u64,
    /// Maximum bytes in the queue when pieces are counted; 0 means eight times the capacity.
    pub budget: u64,
    pub drop_when_full: bool,
}

impl Limits {
    fn full(&self, pieces: usize, bytes: u64, more: u64) -> bool {
        if pieces == 0 {
            return false;
        }
        if !self.by_count {
            return bytes + more > self.capacity;
        }
        let budget = if self.budget > 0 { self.budget } else { self.capacity.saturating_mul(8) };
        pieces as u64 >= (self.capacity / PIECE).max(1) || bytes + more > budget
    }
}

pub struct Job {
    pub disk: Arc<Disk>,
    pub options: Arc<DiskOptions>,
    pub id: u128,
    pub identity: String,
    pub start: u64,
    pub tail: bool,
    pub bytes: OwnedBytes,
}

pub struct Queue {
    shared: Arc<Shared>,
    started: Once,
}

struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    stats: Arc<Stats>,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    bytes: u64,
    /// Pieces that wait or are being written.
    pieces: usize,
}

impl Queue {
    pub fn new(stats: Arc<Stats>) -> Queue {
        let shared = Shared { waiting: Mutex::default(), changed: Condvar::new(), stats };
        Queue { shared: Arc::new(shared), started: Once::new() }
    }

    /// Queues a piece to be written; if too much is waiting, the piece is dropped or the caller waits.
    pub fn push(&self, job: Job) {
        self.started.call_once(|| {
            let shared = self.shared.clone();
            let name = "indextables-cache".to_owned();
            // without the thread nothing is written: the queue fills, then pieces are dropped
            let _ = std::thread::Builder::new().name(name).spawn(move || shared.work());
        });
        let (limits, more) = (job.options.limits, job.bytes.len() as u64);
        let mut waiting = lock(&self.shared.waiting);
        while limits.full(waiting.pieces, waiting.bytes, more) {
            if limits.drop_when_full {
                self.shared.stats.dropped.fetch_add(1, Relaxed);
                return;
            }
            waiting = self.shared.wait(waiting);
        }
        waiting.bytes += more;
        waiting.pieces += 1;
        waiting.jobs.push_back(job);
        self.shared.changed.notify_all();
    }

    /// Waits until the queue is empty.
    pub fn wait(&self) {
        let mut waiting = lock(&self.shared.waiting);
        while waiting.pieces > 0 {
            waiting = self.shared.wait(waiting);
        }
    }
}

impl Shared {
    fn wait<'a>(
        &self,
        held: std::sync::MutexGuard<'a, Waiting>,
    ) -> std::sync::MutexGuard<'a, Waiting> {
        self.changed.wait(held).unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        loop {
            let mut waiting = lock(&self.waiting);
            let job = loop {
                match waiting.jobs.pop_front() {
                    Some(job) => break job,
                    None => waiting = self.wait(waiting),
                }
            };
            drop(waiting);
            let timer = profile::start(Section::DiskWrite);
            job.disk.write(&job, &self.stats);
            drop(timer);
            let mut waiting = lock(&self.waiting);
            waiting.bytes -= job.bytes.len() as u64;
            waiting.pieces -= 1;
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_full_by_bytes_or_by_pieces() {
        let mut limits = Limits { by_count: false, capacity: 100, budget: 0, drop_when_full: true };
        assert!(!limits.full(0, 0, 1000), "one piece always goes");
        assert!(!limits.full(1, 50, 50));
        assert!(limits.full(1, 50, 51));
        limits = Limits { by_count: true, capacity: 3 << 20, ..limits };
        assert!(!limits.full(2, 0, 1));
        assert!(limits.full(3, 0, 1));
        assert!(limits.full(1, 24 << 20, 1));
        limits.budget = 10;
        assert!(limits.full(1, 10, 1));
    }
}
