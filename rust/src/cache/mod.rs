//! Caches of remote files: in memory (L1) and on local disk (L2).
//!
//! Splits never change, so cached bytes stay valid. A piece is the result of one request; a read is
//! answered by a piece that contains it, in memory first, then on disk. The disk cache is a
//! folder that any number of processes share: see `disk`. Files on local disk are never cached.

mod disk;
mod memory;
mod options;
mod piece;
mod queue;
mod stats;

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ownedbytes::OwnedBytes;

pub use disk::Usage;
pub use options::Options;
pub use stats::Snapshot;

use crate::error::Result;
use crate::profile::{self, Section};
use crate::store::{PerProcess, lock};
use disk::Disk;
use memory::Memory;
use queue::{Job, Queue};
use stats::Stats;

/// The caches of the process; rebuilt after a fork, which the writing thread does not survive.
struct Caches {
    memory: Memory,
    disks: Mutex<HashMap<PathBuf, Arc<Disk>>>,
    queue: Queue,
    stats: Arc<Stats>,
}

static CACHES: PerProcess<Arc<Caches>> = PerProcess::new();

fn caches() -> Arc<Caches> {
    let made = CACHES.get(|| {
        let stats = Arc::new(Stats::default());
        Ok(Arc::new(Caches {
            memory: Memory::default(),
            disks: Mutex::default(),
            queue: Queue::new(stats.clone()),
            stats,
        }))
    });
    // creating them cannot fail
    made.unwrap_or_else(|_: crate::error::EngineError| unreachable!())
}

impl Caches {
    fn disk(&self, root: &Path) -> Arc<Disk> {
        let mut disks = lock(&self.disks);
        disks.entry(root.to_owned()).or_insert_with(|| Arc::new(Disk::new(root))).clone()
    }
}

/// The cached pieces of one remote file.
pub struct FileCache {
    options: Arc<Options>,
    /// Location and length of the file, which identify it.
    identity: String,
    id: u128,
    len: u64,
}

impl FileCache {
    pub fn new(options: Arc<Options>, address: &str, len: u64) -> FileCache {
        caches().memory.set_limit(options.memory_bytes);
        let identity = format!("{address}#{len}");
        let id = fnv128(identity.as_bytes());
        FileCache { options, identity, id, len }
    }

    /// The bytes of a range, if one of the caches holds all of them.
    pub fn get(&self, range: &Range<u64>) -> Option<OwnedBytes> {
        let caches = caches();
        let len = range.end - range.start;
        let found = caches.memory.get(self.id, range);
        caches.stats.memory.record(found.is_some(), len);
        if found.is_some() {
            return found;
        }
        let options = self.options.disk.as_ref()?;
        let timer = profile::start(Section::DiskRead);
        let disk = caches.disk(&options.root);
        let found = disk.read(self.id, &self.identity, range, &caches.stats);
        drop(timer);
        caches.stats.disk.record(found.is_some(), len);
        let bytes = OwnedBytes::new(found?);
        caches.memory.put(self.id, range.start, bytes.clone());
        Some(bytes)
    }

    /// Caches bytes in memory.
    pub fn put_memory(&self, start: u64, bytes: &OwnedBytes) {
        caches().memory.put(self.id, start, bytes.clone());
    }

    /// Caches the result of a request on disk.
    pub fn put_disk(&self, start: u64, bytes: &OwnedBytes) {
        let caches = caches();
        if let Some(options) = &self.options.disk {
            let job = Job {
                disk: caches.disk(&options.root),
                options: options.clone(),
                id: self.id,
                identity: self.identity.clone(),
                start,
                tail: start + bytes.len() as u64 == self.len,
                bytes: bytes.clone(),
            };
            caches.queue.push(job);
        }
    }
}

/// FNV-1a of 128 bits: names must stay the same between versions and machines.
fn fnv128(bytes: &[u8]) -> u128 {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let start = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
    bytes.iter().fold(start, |hash, &byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

/// Hits, misses and bytes of this process since it started or since they were last reset.
pub fn stats(reset: bool) -> Snapshot {
    let caches = caches();
    let mut shown = caches.stats.snapshot(reset);
    shown.memory_used = caches.memory.used();
    shown
}

/// Waits until all pending pieces are on disk.
pub fn sync() {
    caches().queue.wait();
}

/// Drops everything in memory; returns pieces and bytes.
pub fn clear_memory() -> (u64, u64) {
    caches().memory.clear()
}

/// The content of the disk cache that these options describe; None if it is off.
pub fn disk_usage(options: &HashMap<String, String>) -> Result<Option<(PathBuf, u64, Usage)>> {
    let Some(options) = Options::parse(options)?.disk else {
        return Ok(None);
    };
    sync();
    let usage = caches().disk(&options.root).usage();
    Ok(Some((options.root.clone(), options.limit(), usage)))
}

/// Deletes the disk cache that these options describe; returns bytes and files, None if it is off.
pub fn clear_disk(options: &HashMap<String, String>) -> Result<Option<(u64, u64)>> {
    let Some(options) = Options::parse(options)?.disk else {
        return Ok(None);
    };
    sync();
    Ok(Some(caches().disk(&options.root).clear()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(root: &Path, name: &str) -> Result<FileCache> {
        let options = HashMap::from([
            ("cache_disk_path".to_owned(), root.to_string_lossy().into_owned()),
            ("cache_disk_max_bytes".to_owned(), "1000000".to_owned()),
        ]);
        Ok(FileCache::new(Arc::new(Options::parse(&options)?), name, 1000))
    }

    #[test]
    fn a_piece_is_found_on_disk_when_memory_forgot_it() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let cache = file(folder.path(), "s3://b/t/a.split")?;
        assert!(cache.get(&(0..10)).is_none());
        let bytes = OwnedBytes::new(b"0123456789".to_vec());
        cache.put_memory(0, &bytes);
        cache.put_disk(0, &bytes);
        assert_eq!(cache.get(&(2..4)).as_deref(), Some(&b"23"[..]));
        sync();
        clear_memory();
        assert_eq!(cache.get(&(2..4)).as_deref(), Some(&b"23"[..]));
        // files at another location or of another length are other files
        assert!(file(folder.path(), "s3://b/t/b.split")?.get(&(2..4)).is_none());
        Ok(())
    }

    #[test]
    fn names_of_files_stay_the_same() {
        assert_eq!(fnv128(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }
}
