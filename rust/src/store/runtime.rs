//! The one asynchronous runtime, made on first use and made again after a fork.
//!
//! Spark's Python workers are forked from a daemon: threads of the parent do not exist in the child,
//! so neither a runtime nor a connection pool may be carried over.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Runtime;

use crate::error::{EngineError, Result};

/// A value that belongs to the process that made it.
pub(crate) struct PerProcess<T> {
    slot: Mutex<Option<(u32, T)>>,
}

impl<T: Clone> PerProcess<T> {
    pub(crate) const fn new() -> PerProcess<T> {
        PerProcess { slot: Mutex::new(None) }
    }

    pub(crate) fn get(&self, make: impl FnOnce() -> Result<T>) -> Result<T> {
        let pid = std::process::id();
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((owner, value)) = slot.as_ref()
            && *owner == pid
        {
            return Ok(value.clone());
        }
        let value = make()?;
        // the parent's value must not be dropped here: its threads are not ours to join
        std::mem::forget(slot.replace((pid, value.clone())));
        Ok(value)
    }
}

static RUNTIME: PerProcess<Arc<Runtime>> = PerProcess::new();

/// Runs a future to its end on the shared runtime.
pub(crate) fn block_on<F: Future>(future: F) -> Result<F::Output> {
    let runtime = RUNTIME.get(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("indextables-io")
            .enable_all()
            .build()
            .map(Arc::new)
            .map_err(|e| EngineError::internal(format!("cannot start the I/O runtime: {e}")))
    })?;
    Ok(runtime.block_on(future))
}
