//! The sizes and folders of the caches: the `cache_*` keys of a store's options.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::piece::Codec;
use super::queue::Limits;
use crate::error::{EngineError, Result};

/// Local disks that hosts provide for caches; used when no folder is configured.
const USUAL_DISK: &str = "/local_disk0";

#[derive(Debug)]
pub struct Options {
    pub memory_bytes: u64,
    pub disk: Option<Arc<DiskOptions>>,
}

#[derive(Debug, Clone)]
pub struct DiskOptions {
    pub root: PathBuf,
    /// 0 means two thirds of the disk.
    pub max_bytes: u64,
    pub codec: Codec,
    pub min_compress_bytes: u64,
    /// How long the known size of the folder, which all processes fill, may be out of date.
    pub rescan: Duration,
    pub limits: Limits,
}

impl Options {
    pub fn parse(options: &HashMap<String, String>) -> Result<Options> {
        let given = Given(options);
        let memory_bytes = given.number("cache_memory_bytes", 200_000_000)?;
        let root = match options.get("cache_disk_path").map(String::as_str) {
            None | Some("") => None,
            Some("auto") => {
                let usual = Path::new(USUAL_DISK);
                usual.is_dir().then(|| usual.join("indextables_slicecache"))
            }
            Some(path) => Some(PathBuf::from(path)),
        };
        let name = options.get("cache_name").map_or("", String::as_str);
        let Some(root) = root else {
            return Ok(Options { memory_bytes, disk: None });
        };
        let disk = DiskOptions {
            root: if name.is_empty() { root } else { root.join(folder_name(name)) },
            max_bytes: given.number("cache_disk_max_bytes", 0)?,
            codec: Codec::parse(options.get("cache_disk_compression").map_or("lz4", |c| c))?,
            min_compress_bytes: given.number("cache_disk_min_compress_bytes", 4 << 10)?,
            rescan: Duration::from_millis(given.number("cache_disk_rescan_ms", 30_000)?),
            limits: Limits {
                by_count: options.get("cache_queue_mode").is_some_and(|mode| mode == "fragment"),
                capacity: given.number("cache_queue_capacity", 1 << 30)?,
                budget: given.number("cache_queue_budget", 0)?,
                drop_when_full: options.get("cache_queue_drop").is_none_or(|drop| drop == "true"),
            },
        };
        Ok(Options { memory_bytes, disk: Some(Arc::new(disk)) })
    }
}

impl DiskOptions {
    /// The limit in bytes on this host.
    pub fn limit(&self) -> u64 {
        if self.max_bytes > 0 {
            return self.max_bytes;
        }
        let existing = self.root.ancestors().find(|folder| folder.is_dir());
        let total = existing.and_then(|folder| fs4::total_space(folder).ok()).unwrap_or(0);
        total / 3 * 2
    }
}

/// A name as one part of a path.
fn folder_name(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' };
    format!("n-{}", name.chars().map(safe).collect::<String>())
}

struct Given<'a>(&'a HashMap<String, String>);

impl Given<'_> {
    fn number(&self, key: &str, default: u64) -> Result<u64> {
        match self.0.get(key) {
            None => Ok(default),
            Some(text) => text
                .parse()
                .map_err(|_| EngineError::bad_option(key, text, "allowed is a whole number")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<Options> {
        let map = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Options::parse(&map)
    }

    #[test]
    fn a_name_stays_inside_the_folder() -> Result<()> {
        let options = parse(&[("cache_disk_path", "/c"), ("cache_name", "../x")])?;
        assert_eq!(options.disk.map(|d| d.root.clone()), Some(PathBuf::from("/c/n-___x")));
        assert!(parse(&[])?.disk.is_none());
        assert!(parse(&[("cache_memory_bytes", "many")]).is_err());
        Ok(())
    }

    #[test]
    fn the_limit_is_two_thirds_of_the_disk_when_none_is_given() -> Result<()> {
        let options = parse(&[("cache_disk_path", "/no/such/folder")])?;
        let limit = options.disk.map_or(0, |disk| disk.limit());
        assert_eq!(limit, fs4::total_space("/")? / 3 * 2);
        Ok(())
    }
}
