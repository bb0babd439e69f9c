//! A flag that asks long work to stop: set by the thread that waits, looked at by the one that works.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{EngineError, Result};

#[derive(Debug, Clone, Default)]
pub struct Cancel {
    asked: Arc<AtomicBool>,
}

impl Cancel {
    pub fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    pub fn check(&self) -> Result<()> {
        if self.asked.load(Ordering::Relaxed) { Err(EngineError::Interrupted) } else { Ok(()) }
    }
}
