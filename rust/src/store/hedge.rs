//! Hedged reads: a read of a range without a response in time is sent a second time, and the first response
//! is used. Only reads: a second write could undo a later change.

use std::ops::Range;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use futures::future::{Either, select};
use object_store::path::Path;
use object_store::{GetOptions, ObjectStore, Result};

use super::counters::{Counters, Request};

/// At most one request in this many is sent twice, so that a store that is slow as a whole gets little extra load.
const SHARE: u64 = 20;
/// The maximum number of hedges that can be saved up.
const SAVED: u64 = 8;

/// When reads are sent a second time, and how many.
pub(super) struct Hedge {
    /// The time to wait for a response; None disables hedging.
    after: Option<Duration>,
    /// A request adds one, a hedge takes `SHARE`.
    budget: AtomicU64,
}

impl Hedge {
    /// Hedges after this many milliseconds; 0 disables it.
    pub(super) fn new(after_ms: u64) -> Hedge {
        let after = (after_ms > 0).then(|| Duration::from_millis(after_ms));
        Hedge { after, budget: AtomicU64::new(0) }
    }

    /// Reads a range. The delay counts until the response starts: a large range on a slow connection is not a
    /// straggler.
    pub(super) async fn get(
        &self,
        store: &dyn ObjectStore,
        path: &Path,
        range: Range<u64>,
        counters: &Counters,
    ) -> Result<Bytes> {
        let ask = || store.get_opts(path, GetOptions::new().with_range(Some(range.clone())));
        let Some(after) = self.after else {
            return ask().await?.bytes().await;
        };
        self.save();
        let mut first = pin!(ask());
        let found = match tokio::time::timeout(after, first.as_mut()).await {
            Ok(found) => found?,
            Err(_) if !self.spend() => first.await?,
            Err(_) => {
                counters.ask(Request::Hedge, 1);
                // the other request is dropped with its connection
                match select(first, pin!(ask())).await {
                    Either::Left((Ok(found), _)) | Either::Right((Ok(found), _)) => found,
                    Either::Left((Err(_), second)) => second.await?,
                    Either::Right((Err(_), first)) => first.await?,
                }
            }
        };
        found.bytes().await
    }

    fn save(&self) {
        let most = SAVED * SHARE;
        let _ =
            self.budget.fetch_update(Relaxed, Relaxed, |saved| (saved < most).then_some(saved + 1));
    }

    /// Takes one hedge, if there is one.
    fn spend(&self) -> bool {
        self.budget.fetch_update(Relaxed, Relaxed, |saved| saved.checked_sub(SHARE)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_in_twenty_is_sent_twice() {
        let hedge = Hedge::new(1);
        assert!(!hedge.spend());
        (0..SHARE).for_each(|_| hedge.save());
        assert!(hedge.spend());
        assert!(!hedge.spend());
        (0..100 * SHARE).for_each(|_| hedge.save());
        assert_eq!((0..100).filter(|_| hedge.spend()).count() as u64, SAVED);
    }

    #[test]
    fn nothing_is_sent_twice_without_a_delay() {
        assert_eq!(Hedge::new(0).after, None);
    }
}
