//! Files of the log: entries of Avro manifests and lines of version files as Arrow batches, states as
//! plain values.
//!
//! The records are decoded by hand, straight into Arrow buffers, so that one pass also checks what a
//! log must not contain; docs/adr has the reasons, and the cost compared with a general decoder.

mod column;
mod columns;
mod container;
mod cursor;
mod decode;
mod encode;
mod entry;
pub mod lines;
mod members;
mod schema;
pub mod state;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::RecordBatch;

pub use container::Codec;
pub use decode::arrow_schema;
pub use encode::encode;

use crate::error::{At, EngineError, Result};

/// Decodes manifests on several threads; each is named for errors, with the number of its entries.
pub fn decode_all(files: &[(String, &[u8], usize)], threads: usize) -> Result<Vec<RecordBatch>> {
    let read =
        |(name, data, entries): &(String, &[u8], usize)| decode::decode(data, *entries).at(name);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(files.len()).min(cores);
    if threads <= 1 {
        return files.iter().map(read).collect();
    }
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<Result<RecordBatch>>>> =
        Mutex::new(files.iter().map(|_| None).collect());
    let panicked = || EngineError::internal("a thread that decodes manifests panicked");
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(file) = files.get(at) else { break };
                    let batch = read(file);
                    if let Ok(mut done) = done.lock() {
                        done[at] = Some(batch);
                    }
                }
            });
        }
    });
    done.into_inner()
        .map_err(|_| panicked())?
        .into_iter()
        .map(|batch| batch.unwrap_or_else(|| Err(panicked())))
        .collect()
}
