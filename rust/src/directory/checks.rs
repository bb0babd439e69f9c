//! Checksums of the blocks of a split's files, verified when a block is first used.
//!
//! Only bytes in local files are verified: over a network whole blocks would have to be fetched for this, so
//! readers rely on the store's checksums and TLS.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ownedbytes::OwnedBytes;
use serde::Deserialize;

use crate::split::{BLOCK_BYTES, Sidecar};

/// The end of each tantivy file: JSON, its length, this number.
const TANTIVY_MAGIC: u32 = 1337;

#[derive(Deserialize)]
struct TantivyFooter {
    crc: u32,
}

/// The blocks of one file that have a checksum.
pub(super) struct FileChecks {
    block: u64,
    covered: u64,
    sums: Vec<u32>,
    whole: Vec<AtomicBool>,
}

impl FileChecks {
    fn new(block: u64, covered: u64, sums: Vec<u32>) -> FileChecks {
        let whole = sums.iter().map(|_| AtomicBool::new(false)).collect();
        FileChecks { block: block.max(1), covered, sums, whole }
    }

    /// The checksum in tantivy's footer of the file; None if there is none.
    fn from_tantivy(content: &[u8]) -> Option<FileChecks> {
        let (rest, magic) = content.split_last_chunk::<4>()?;
        let (rest, length) = rest.split_last_chunk::<4>()?;
        if u32::from_le_bytes(*magic) != TANTIVY_MAGIC {
            return None;
        }
        let body = rest.len().checked_sub(u32::from_le_bytes(*length) as usize)?;
        let footer: TantivyFooter = serde_json::from_slice(&rest[body..]).ok()?;
        Some(FileChecks::new(body as u64, body as u64, vec![footer.crc]))
    }

    /// Verifies the blocks of a range that were not verified before.
    pub fn check(&self, content: &[u8], range: &Range<u64>) -> io::Result<()> {
        let end = range.end.min(self.covered);
        if range.start >= end {
            return Ok(());
        }
        for number in range.start / self.block..=(end - 1) / self.block {
            let (Some(sum), Some(whole)) =
                (self.sums.get(number as usize), self.whole.get(number as usize))
            else {
                return Err(damaged(number));
            };
            if !whole.load(Ordering::Relaxed) {
                let start = (number * self.block) as usize;
                let stop = ((number + 1) * self.block).min(self.covered) as usize;
                let block = content.get(start..stop).ok_or_else(|| damaged(number))?;
                if crc32fast::hash(block) != *sum {
                    return Err(damaged(number));
                }
                whole.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

fn damaged(block: u64) -> io::Error {
    let detail = format!("the checksum of its block {block} does not match");
    io::Error::new(io::ErrorKind::InvalidData, detail)
}

/// The checksums of all files of a split.
pub(super) struct Checks {
    files: HashMap<PathBuf, Arc<FileChecks>>,
}

impl Checks {
    /// Checksums of a sidecar; whole files are compared if its writer had no blocks.
    pub fn from_sidecar(sidecar: &Sidecar, length: impl Fn(&str) -> Option<u64>) -> Checks {
        let mut files = HashMap::with_capacity(sidecar.checksums.len());
        for (name, &sum) in &sidecar.checksums {
            // opening a missing file reports the error
            let Some(length) = length(name) else { continue };
            let checks = match sidecar.blocks.get(name) {
                Some(sums) => FileChecks::new(BLOCK_BYTES as u64, length, sums.clone()),
                None => FileChecks::new(length, length, vec![sum]),
            };
            files.insert(PathBuf::from(name), Arc::new(checks));
        }
        Checks { files }
    }

    /// Checksums in tantivy's own footers, for splits of other writers.
    pub fn from_tantivy<'a>(
        names: impl Iterator<Item = &'a Path>,
        content: impl Fn(&Path) -> io::Result<OwnedBytes>,
    ) -> io::Result<Checks> {
        let mut files = HashMap::new();
        for name in names {
            if let Some(checks) = FileChecks::from_tantivy(&content(name)?) {
                files.insert(name.to_owned(), Arc::new(checks));
            }
        }
        Ok(Checks { files })
    }

    /// The checksums of one file, if it has any.
    pub fn of(&self, path: &Path) -> Option<Arc<FileChecks>> {
        self.files.get(path).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_touched_blocks_are_compared() {
        let mut content = vec![7u8; 25];
        let sums = content.chunks(10).map(crc32fast::hash).collect();
        let checks = FileChecks::new(10, 25, sums);
        content[12] = 0;
        assert!(checks.check(&content, &(0..10)).is_ok());
        assert!(checks.check(&content, &(20..25)).is_ok());
        assert!(checks.check(&content, &(9..11)).is_err());
        assert!(checks.check(&content, &(5..25)).is_err());
    }

    #[test]
    fn tantivys_footer_covers_the_body() {
        let mut content = b"body".to_vec();
        let footer = format!("{{\"version\":1,\"crc\":{}}}", crc32fast::hash(b"body"));
        content.extend(footer.as_bytes());
        content.extend((footer.len() as u32).to_le_bytes());
        content.extend(TANTIVY_MAGIC.to_le_bytes());
        let checks = FileChecks::from_tantivy(&content);
        assert!(checks.as_ref().is_some_and(|c| c.check(&content, &(1..2)).is_ok()));
        content[1] = b'x';
        let checks = FileChecks::from_tantivy(&content);
        assert!(checks.is_some_and(|c| c.check(&content, &(3..4)).is_err()));
        assert!(FileChecks::from_tantivy(b"no footer here").is_none());
    }
}
