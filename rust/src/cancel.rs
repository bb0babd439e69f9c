//! A flag that asks long work to stop: set by the thread that waits, looked at by the one that works.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{EngineError, Result};

#[derive(Debug, Clone, Default)]
pub struct Cancel {
    asked: Arc<AtomicBool>,
}

thread_local! {
    /// What can stop this thread when it waits for a store.
    static CURRENT: RefCell<Option<Cancel>> = const { RefCell::new(None) };
}

impl Cancel {
    pub fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    pub fn check(&self) -> Result<()> {
        if self.asked.load(Ordering::Relaxed) { Err(EngineError::Interrupted) } else { Ok(()) }
    }

    /// What can stop this thread, to be handed to the threads it starts.
    pub fn current() -> Option<Cancel> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Makes this, or nothing, what can stop this thread; returns what could before.
    pub fn replace(cancel: Option<Cancel>) -> Option<Cancel> {
        CURRENT.replace(cancel)
    }

    /// Does work that this, or nothing, can stop while it waits for a store.
    pub fn during<T>(cancel: Option<Cancel>, work: impl FnOnce() -> T) -> T {
        struct Before(Option<Cancel>);
        impl Drop for Before {
            fn drop(&mut self) {
                Cancel::replace(self.0.take());
            }
        }
        let _before = Before(Cancel::replace(cancel));
        work()
    }
}
