//! Counters of stores: requests by kind, and bytes.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The kinds of requests, in the order of the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    Get,
    Put,
    Head,
    List,
    Delete,
    /// Begin, part, completion or end of an upload in parts.
    Part,
    /// A GET that was sent a second time because of a late response.
    Hedge,
}

impl Request {
    pub const ALL: [Request; 7] = [
        Request::Get,
        Request::Put,
        Request::Head,
        Request::List,
        Request::Delete,
        Request::Part,
        Request::Hedge,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Request::Get => "get",
            Request::Put => "put",
            Request::Head => "head",
            Request::List => "list",
            Request::Delete => "delete",
            Request::Part => "part",
            Request::Hedge => "hedge",
        }
    }
}

/// Requests and bytes of one store, or of all object stores of the process.
#[derive(Debug)]
pub struct Counters {
    requests: [AtomicU64; Request::ALL.len()],
    read: AtomicU64,
    written: AtomicU64,
    /// Whether this is one of the object stores that `totals` adds up.
    counted: bool,
}

static TOTAL: Counters = Counters::new(false);

/// Counters of all object stores of this process; local disk is not one.
pub fn totals() -> &'static Counters {
    &TOTAL
}

impl Counters {
    pub(super) const fn new(counted: bool) -> Counters {
        let requests = [const { AtomicU64::new(0) }; Request::ALL.len()];
        Counters { requests, read: AtomicU64::new(0), written: AtomicU64::new(0), counted }
    }

    /// Requests of one kind.
    pub fn of(&self, kind: Request) -> u64 {
        self.requests[kind as usize].load(Relaxed)
    }

    pub fn requests(&self) -> u64 {
        Request::ALL.iter().map(|&kind| self.of(kind)).sum()
    }

    pub fn bytes_read(&self) -> u64 {
        self.read.load(Relaxed)
    }

    pub fn bytes_written(&self) -> u64 {
        self.written.load(Relaxed)
    }

    pub(super) fn ask(&self, kind: Request, times: u64) {
        self.requests[kind as usize].fetch_add(times, Relaxed);
        if self.counted {
            TOTAL.ask(kind, times);
        }
    }

    pub(super) fn read(&self, bytes: u64) {
        self.read.fetch_add(bytes, Relaxed);
        if self.counted {
            TOTAL.read(bytes);
        }
    }

    pub(super) fn wrote(&self, bytes: u64) {
        self.written.fetch_add(bytes, Relaxed);
        if self.counted {
            TOTAL.wrote(bytes);
        }
    }
}
