//! Sending a finished file: whole when it is small, else in parts, which are taken back on failure.

use std::path::Path as FilePath;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload};

use super::connect::{Client, UploadPlan};
use super::{BytesSource, RangeSource, runtime};
use crate::error::Result;

/// No store takes more parts than this.
const MOST_PARTS: u64 = 10_000;

/// Sends a local file. Nothing is seen under its name until it is there as a whole.
pub(super) fn upload(client: &Client, path: &Path, file: &FilePath) -> Result<()> {
    let store = client.connect()?;
    let source = BytesSource::map(file)?;
    let plan = client.upload;
    let sent = if source.len() <= plan.threshold {
        client.counters.add(1, 0);
        runtime::block_on(async { store.put(path, part(&source, 0, source.len())?).await })?
            .map(|_| ())
    } else {
        let parts = cut(source.len(), plan);
        client.counters.add(parts.len() as u64 + 2, 0);
        runtime::block_on(send_parts(store.as_ref(), path, &source, &parts, plan.concurrency))?
    };
    sent.map_err(|e| client.failed(path.as_ref(), e))
}

async fn send_parts(
    store: &dyn ObjectStore,
    path: &Path,
    source: &BytesSource,
    parts: &[(u64, u64)],
    concurrency: usize,
) -> object_store::Result<()> {
    let mut upload = store.put_multipart(path).await?;
    let sent = match send_each(upload.as_mut(), source, parts, concurrency).await {
        Ok(()) => upload.complete().await.map(|_| ()),
        failed => failed,
    };
    if sent.is_err() {
        // parts cost their owner money until somebody removes them; the first error tells more
        let _ = upload.abort().await;
    }
    sent
}

async fn send_each(
    upload: &mut dyn MultipartUpload,
    source: &BytesSource,
    parts: &[(u64, u64)],
    concurrency: usize,
) -> object_store::Result<()> {
    futures::stream::iter(parts)
        .map(|&(start, end)| part(source, start, end).map(|bytes| upload.put_part(bytes)))
        .map(|sending| async move { sending?.await })
        .buffer_unordered(concurrency)
        .try_collect()
        .await
}

/// The bytes of the mapped file themselves, not a copy.
fn part(source: &BytesSource, start: u64, end: u64) -> object_store::Result<PutPayload> {
    let bytes = source
        .read(start..end)
        .map_err(|e| object_store::Error::Generic { store: "local file", source: Box::new(e) })?;
    Ok(Bytes::from_owner(bytes).into())
}

fn cut(len: u64, plan: UploadPlan) -> Vec<(u64, u64)> {
    let size = plan.part.max(len.div_ceil(MOST_PARTS)) as usize;
    (0..len).step_by(size).map(|start| (start, (start + size as u64).min(len))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_the_file_and_are_not_too_many() {
        let plan = UploadPlan { threshold: 0, part: 10, concurrency: 1 };
        assert_eq!(cut(25, plan), vec![(0, 10), (10, 20), (20, 25)]);
        let many = cut(1_000_001, plan);
        assert!(many.len() <= MOST_PARTS as usize);
        assert_eq!(many.last().map(|last| last.1), Some(1_000_001));
    }
}
