//! A flag that asks long work to stop: set by the thread that waits, polled by the one that works.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{EngineError, Result};

/// Looks for a reason to stop that nobody tells.
type Look = dyn Fn() -> bool + Send + Sync;

#[derive(Clone, Default)]
pub struct Cancel {
    asked: Arc<AtomicBool>,
    /// Stops this work too: that of the caller.
    outer: Option<Arc<Cancel>>,
    look: Option<Arc<Look>>,
}

thread_local! {
    /// What can stop this thread when it waits for a store.
    static CURRENT: RefCell<Option<Cancel>> = const { RefCell::new(None) };
}

impl Cancel {
    /// Stops a part of what this thread does; what stops the thread stops the part too.
    pub fn inner() -> Self {
        Self { outer: Self::current().map(Arc::new), ..Self::default() }
    }

    /// The same, which also stops where `look` finds a reason; every check asks it.
    pub fn looking(self, look: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { look: Some(Arc::new(look)), ..self }
    }

    pub fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    pub fn check(&self) -> Result<()> {
        if self.asked.load(Ordering::Relaxed) || self.look.as_ref().is_some_and(|look| look()) {
            return Err(EngineError::Interrupted);
        }
        self.outer.as_deref().map_or(Ok(()), Self::check)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_that_is_found_stops_work_and_what_is_inside_of_it() {
        let reason = Arc::new(AtomicBool::new(false));
        let seen = reason.clone();
        let work = Cancel::default().looking(move || seen.load(Ordering::Relaxed));
        let part = Cancel::during(Some(work.clone()), Cancel::inner);
        assert!(work.check().is_ok() && part.check().is_ok());
        reason.store(true, Ordering::Relaxed);
        assert!(work.check().is_err() && part.check().is_err());
    }

    #[test]
    fn what_stops_a_thread_stops_a_part_of_its_work_and_not_the_other_way_round() {
        let thread = Cancel::default();
        let (one, two) =
            Cancel::during(Some(thread.clone()), || (Cancel::inner(), Cancel::inner()));
        one.ask();
        assert!(one.check().is_err() && two.check().is_ok() && thread.check().is_ok());
        thread.ask();
        assert!(two.check().is_err());
    }
}
