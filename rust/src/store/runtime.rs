//! The asynchronous runtime, created on first use and again after a fork.
//!
//! Spark's Python workers are forked from a daemon: threads of the parent do not exist in the child,
//! so neither a runtime nor a connection pool may be carried over.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::{Handle, Runtime};

use crate::cancel::Cancel;
use crate::error::{EngineError, Result};

/// How often a wait for a store checks for cancellation.
const SLICE: Duration = Duration::from_millis(50);

/// A value that belongs to the process that created it.
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
        // do not drop the parent's value: its threads do not exist here
        std::mem::forget(slot.replace((pid, value.clone())));
        Ok(value)
    }
}

static RUNTIME: PerProcess<Arc<Runtime>> = PerProcess::new();

fn runtime() -> Result<Arc<Runtime>> {
    RUNTIME.get(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("indextables-io")
            .enable_all()
            .build()
            .map(Arc::new)
            .map_err(|e| EngineError::internal(format!("cannot start the I/O runtime: {e}")))
    })
}

/// The runtime handle for clients that spawn tasks themselves.
pub(super) fn handle() -> Result<Handle> {
    Ok(runtime()?.handle().clone())
}

/// Runs a future to completion on the shared runtime, or until this thread is canceled: then its requests
/// are abandoned.
pub(crate) fn block_on<F: Future>(future: F) -> Result<F::Output> {
    let runtime = runtime()?;
    let Some(cancel) = Cancel::current() else {
        return Ok(runtime.block_on(future));
    };
    runtime.block_on(async {
        let mut future = pin!(future);
        loop {
            match tokio::time::timeout(SLICE, future.as_mut()).await {
                Ok(output) => return Ok(output),
                Err(_) => cancel.check()?,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_ends_when_it_is_asked_to() {
        let cancel = Cancel::default();
        cancel.ask();
        let waited = Cancel::during(Some(cancel), || block_on(std::future::pending::<()>()));
        assert!(matches!(waited, Err(EngineError::Interrupted)));
        assert!(Cancel::current().is_none());
    }
}
