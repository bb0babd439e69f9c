//! The disk cache: a folder of pieces that any number of processes read, fill and shrink.
//!
//! They share nothing but the file system. A piece is published by a rename, so it exists as a whole or not
//! at all. Its name says which bytes it holds, so no index can become stale. Its modification time is the
//! time of its last use. A process that finds the folder too large evicts the least recently used pieces
//! under a lock, footers last, because a split cannot be opened without its footer. A damaged piece is
//! deleted and fetched again.

use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant, SystemTime};

use super::options::DiskOptions;
use super::piece;
use super::queue::Job;
use super::stats::Stats;
use crate::store::lock;

const FORMAT: &str = "v1";
const LOCK: &str = "lock";
const TAIL: &str = "t";
const DATA: &str = "d";
/// A use is recorded at most this often, because it costs a write.
const NOTE_USE: Duration = Duration::from_secs(30);
/// Half-written files of a process that was killed.
const STALE: Duration = Duration::from_secs(3600);

pub struct Disk {
    root: PathBuf,
    budget: Mutex<Budget>,
}

#[derive(Default)]
struct Budget {
    used: u64,
    scanned: Option<Instant>,
}

/// The content of a disk cache.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub bytes: u64,
    pub pieces: u64,
    pub files: u64,
}

struct Found {
    path: PathBuf,
    tail: bool,
    used_at: SystemTime,
    bytes: u64,
}

impl Disk {
    pub fn new(root: &Path) -> Disk {
        Disk { root: root.to_owned(), budget: Mutex::default() }
    }

    fn folder(&self, id: u128) -> PathBuf {
        let name = format!("{id:032x}");
        self.root.join(FORMAT).join(&name[..2]).join(name)
    }

    /// The bytes of a range, from one piece or from several that touch.
    pub fn read(
        &self,
        id: u128,
        identity: &str,
        range: &Range<u64>,
        stats: &Stats,
    ) -> Option<Vec<u8>> {
        let folder = self.folder(id);
        let mut pieces: Vec<(Range<u64>, PathBuf)> = fs::read_dir(&folder)
            .ok()?
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                Some((parse_name(path.file_name()?.to_str()?)?.1, path))
            })
            .collect();
        pieces.sort_unstable_by_key(|(held, _)| (held.start, held.end));
        let mut out: Vec<u8> = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let reaching = pieces.iter().filter(|(held, _)| held.start <= at && held.end > at);
            let (held, path) = reaching.max_by_key(|(held, _)| held.end)?;
            let part = at..held.end.min(range.end);
            let mut bytes = read_piece(path, identity, &part, stats)?;
            at = part.end;
            if out.is_empty() {
                out = bytes;
            } else {
                out.append(&mut bytes);
            }
        }
        Some(out)
    }

    /// Writes a piece and keeps the folder within its limit. The cache never fails a query: a piece that cannot
    /// be written is not cached.
    pub fn write(&self, job: &Job, stats: &Stats) {
        let written = self.write_piece(job);
        match written {
            Ok(bytes) => {
                stats.written.add(bytes);
                self.account(bytes, &job.options, stats);
            }
            Err(_) => {
                stats.failed.fetch_add(1, Relaxed);
            }
        }
    }

    fn write_piece(&self, job: &Job) -> io::Result<u64> {
        let options = &job.options;
        let small = (job.bytes.len() as u64) < options.min_compress_bytes;
        let codec = if small { piece::Codec::None } else { options.codec };
        let encoded = piece::encode(&job.identity, job.start, &job.bytes, codec)?;
        let size = encoded.len() as u64;
        if size > options.limit() {
            return Err(io::Error::other("larger than the cache"));
        }
        let folder = self.folder(job.id);
        // the data may be private, so the folder is
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let partial = folder.join(format!(".{}", uuid::Uuid::new_v4().simple()));
        let class = if job.tail { TAIL } else { DATA };
        let end = job.start + job.bytes.len() as u64;
        let done =
            File::create_new(&partial).and_then(|mut file| file.write_all(&encoded)).and_then(
                |()| fs::rename(&partial, folder.join(format!("{class}-{}-{end}", job.start))),
            );
        if done.is_err() {
            let _ = fs::remove_file(&partial);
        }
        done.map(|()| size)
    }

    fn account(&self, bytes: u64, options: &DiskOptions, stats: &Stats) {
        let mut budget = lock(&self.budget);
        budget.used += bytes;
        let limit = options.limit();
        let fresh = budget.scanned.is_some_and(|at| at.elapsed() < options.rescan);
        if fresh && budget.used <= limit {
            return;
        }
        // the process that holds the lock evicts for all processes
        if let Ok(lock) = File::create(self.root.join(LOCK))
            && lock.try_lock().is_ok()
        {
            budget.used = self.shrink(limit, stats);
            budget.scanned = Some(Instant::now());
        }
    }

    /// Evicts the least recently used pieces until a tenth of the limit is free; returns the bytes left.
    fn shrink(&self, limit: u64, stats: &Stats) -> u64 {
        let mut found = self.scan();
        let mut used: u64 = found.iter().map(|f| f.bytes).sum();
        if used <= limit {
            return used;
        }
        found.sort_by_key(|f| (f.tail, f.used_at));
        for old in found {
            if used <= limit / 10 * 9 {
                break;
            }
            if fs::remove_file(&old.path).is_ok() {
                stats.evicted.add(old.bytes);
                used -= old.bytes;
                remove_if_empty(&old.path);
            }
        }
        used
    }

    fn scan(&self) -> Vec<Found> {
        let mut found = Vec::new();
        for folder in self.folders() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                let Ok(meta) = entry.metadata() else {
                    continue;
                };
                let used_at = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                let name = entry.file_name();
                match name.to_str().and_then(parse_name) {
                    Some((tail, _)) => {
                        found.push(Found { path, tail, used_at, bytes: meta.len() });
                    }
                    None if used_at.elapsed().is_ok_and(|age| age > STALE) => {
                        let _ = fs::remove_file(path);
                    }
                    None => {}
                }
            }
        }
        found
    }

    /// The folders of all cached files.
    fn folders(&self) -> impl Iterator<Item = PathBuf> {
        let inside = |path: PathBuf| {
            fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path())
        };
        inside(self.root.join(FORMAT)).flat_map(inside)
    }

    pub fn usage(&self) -> Usage {
        let found = self.scan();
        let mut folders: Vec<_> = found.iter().filter_map(|f| f.path.parent()).collect();
        folders.sort_unstable();
        folders.dedup();
        Usage {
            bytes: found.iter().map(|f| f.bytes).sum(),
            pieces: found.len() as u64,
            files: folders.len() as u64,
        }
    }

    /// Deletes every piece: bytes and pieces.
    pub fn clear(&self) -> (u64, u64) {
        let mut cleared = (0, 0);
        for old in self.scan() {
            if fs::remove_file(&old.path).is_ok() {
                cleared = (cleared.0 + old.bytes, cleared.1 + 1);
                remove_if_empty(&old.path);
            }
        }
        *lock(&self.budget) = Budget::default();
        cleared
    }
}

fn remove_if_empty(piece: &Path) {
    // fails if the folder is not empty, as it should
    if let Some(folder) = piece.parent() {
        let _ = fs::remove_dir(folder);
    }
}

/// `t-<start>-<end>` or `d-<start>-<end>`: whether it is a footer, and which bytes it holds.
fn parse_name(name: &str) -> Option<(bool, Range<u64>)> {
    let (class, range) = name.split_once('-')?;
    let (start, end) = range.split_once('-')?;
    if class != TAIL && class != DATA {
        return None;
    }
    Some((class == TAIL, start.parse().ok()?..end.parse().ok()?))
}

fn read_piece(path: &Path, identity: &str, range: &Range<u64>, stats: &Stats) -> Option<Vec<u8>> {
    // deleted by another process in the meantime: a miss, not damage
    let file = File::options().read(true).write(true).open(path).ok()?;
    match piece::read(&file, identity, range) {
        Ok(bytes) => {
            let used_at = file.metadata().and_then(|meta| meta.modified()).ok();
            let noted = used_at.and_then(|at| at.elapsed().ok()).is_some_and(|age| age < NOTE_USE);
            if !noted {
                let _ = file.set_modified(SystemTime::now());
            }
            Some(bytes)
        }
        Err(_) => {
            stats.corrupt.fetch_add(1, Relaxed);
            let _ = fs::remove_file(path);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use ownedbytes::OwnedBytes;

    use super::super::options::Options;
    use super::*;
    use crate::error::{EngineError, Result};

    fn job(disk: &Arc<Disk>, id: u128, start: u64, bytes: Vec<u8>, max: u64) -> Result<Job> {
        let options = HashMap::from([
            ("cache_disk_path".to_owned(), disk.root.to_string_lossy().into_owned()),
            ("cache_disk_max_bytes".to_owned(), max.to_string()),
            ("cache_disk_compression".to_owned(), "none".to_owned()),
        ]);
        let options = Options::parse(&options)?.disk;
        let options = options.ok_or_else(|| EngineError::internal("no disk cache"))?;
        Ok(Job {
            disk: disk.clone(),
            options,
            id,
            identity: format!("f{id}"),
            start,
            tail: start == 900,
            bytes: OwnedBytes::new(bytes),
        })
    }

    fn age(disk: &Disk, seconds: u64) -> Result<()> {
        for found in disk.scan() {
            let then = found.used_at - Duration::from_secs(seconds);
            File::options().write(true).open(found.path)?.set_modified(then)?;
        }
        Ok(())
    }

    #[test]
    fn touching_pieces_answer_together_and_a_hole_does_not() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let (disk, stats) = (Arc::new(Disk::new(folder.path())), Stats::default());
        for (start, bytes) in [(0, b"abcd".to_vec()), (4, b"efgh".to_vec()), (9, b"x".to_vec())] {
            disk.write(&job(&disk, 1, start, bytes, 1 << 20)?, &stats);
        }
        let read = |range| disk.read(1, "f1", &range, &stats);
        assert_eq!(read(2..7).as_deref(), Some(&b"cdefg"[..]));
        assert_eq!(read(7..10), None);
        assert_eq!(disk.usage().pieces, 3);
        assert_eq!(disk.clear().1, 3);
        assert_eq!(disk.usage(), Usage::default());
        Ok(())
    }

    #[test]
    fn the_oldest_piece_goes_first_and_footers_last() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let (disk, stats) = (Arc::new(Disk::new(folder.path())), Stats::default());
        let max = 4000;
        disk.write(&job(&disk, 1, 900, vec![0; 1000], max)?, &stats);
        age(&disk, 300)?;
        disk.write(&job(&disk, 2, 0, vec![0; 1000], max)?, &stats);
        age(&disk, 200)?;
        disk.write(&job(&disk, 3, 0, vec![0; 1000], max)?, &stats);
        age(&disk, 100)?;
        assert!(disk.read(2, "f2", &(0..1000), &stats).is_some(), "used now");
        disk.write(&job(&disk, 4, 0, vec![0; 1000], max)?, &stats);
        assert!(disk.usage().bytes <= max);
        assert!(disk.read(1, "f1", &(900..1900), &stats).is_some());
        assert!(disk.read(2, "f2", &(0..1000), &stats).is_some());
        assert!(disk.read(3, "f3", &(0..1000), &stats).is_none());
        Ok(())
    }

    #[test]
    fn a_damaged_piece_is_deleted_and_missed() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let (disk, stats) = (Arc::new(Disk::new(folder.path())), Stats::default());
        disk.write(&job(&disk, 1, 0, vec![7; 1000], 1 << 20)?, &stats);
        for found in disk.scan() {
            let mut bytes = fs::read(&found.path)?;
            if let Some(last) = bytes.last_mut() {
                *last ^= 1;
            }
            fs::write(&found.path, bytes)?;
        }
        assert_eq!(disk.read(1, "f1", &(0..10), &stats), None);
        assert_eq!(stats.corrupt.load(Relaxed), 1);
        assert_eq!(disk.usage(), Usage::default());
        Ok(())
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_error() -> Result<()> {
        let file = tempfile::NamedTempFile::new()?;
        let (disk, stats) = (Arc::new(Disk::new(&file.path().join("x"))), Stats::default());
        disk.write(&job(&disk, 1, 0, vec![7; 10], 1 << 20)?, &stats);
        assert_eq!(stats.failed.load(Relaxed), 1);
        assert_eq!(disk.read(1, "f1", &(0..10), &stats), None);
        Ok(())
    }
}
