//! HDFS as an object store. The client reads, lists and deletes. Files are written under a temporary name
//! and renamed without overwriting, so that one of several writers wins.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use hdfs_native::file::FileWriter;
use hdfs_native::{Client, ClientBuilder, HdfsError, WriteOptions};
use hdfs_native_object_store::HdfsObjectStore;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    Result, UploadPart,
};
use tokio::sync::Mutex;
use url::Url;

use super::runtime;

const STORE: &str = "HDFS";
/// The prefix of options that are keys of Hadoop's client.
const KEYS: &str = "hadoop.";

/// A name node, or a name service with several.
#[derive(Debug)]
pub(super) struct Hdfs {
    client: Client,
    reader: HdfsObjectStore,
    /// The timeout of a name node; its client has none.
    patience: Duration,
}

impl Hdfs {
    pub(super) fn connect(url: &Url, options: &HashMap<String, String>) -> Result<Hdfs> {
        let keys = options.iter().filter_map(|(key, value)| Some((key.strip_prefix(KEYS)?, value)));
        let seconds = options.get("retry_seconds").and_then(|text| text.parse().ok());
        let handle = runtime::handle().map_err(|e| failed(e.to_string()))?;
        let client = ClientBuilder::new()
            .with_url(format!("{}://{}", url.scheme(), url.authority()))
            .with_config(keys)
            .with_io_runtime(handle)
            .build()
            .map_err(store_error)?;
        let patience = Duration::from_secs(seconds.unwrap_or(120));
        Ok(Hdfs { reader: HdfsObjectStore::new(client.clone()), client, patience })
    }

    async fn begin(&self, location: &Path) -> Result<Draft> {
        let target = format!("/{location}");
        let (folder, name) = target.rsplit_once('/').unwrap_or_default();
        let partial = format!("{folder}/.{}.{name}", uuid::Uuid::new_v4().simple());
        let file = self.client.create(&partial, WriteOptions::default());
        let file = within(self.patience, async { file.await.map_err(store_error) }).await?;
        Ok(Draft { client: self.client.clone(), patience: self.patience, file, partial, target })
    }
}

impl fmt::Display for Hdfs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(STORE)
    }
}

/// A file that has not been renamed yet.
struct Draft {
    client: Client,
    patience: Duration,
    file: FileWriter,
    partial: String,
    target: String,
}

impl Draft {
    async fn write(&mut self, payload: PutPayload) -> Result<()> {
        for bytes in payload {
            within(self.patience, async {
                self.file.write_bytes(bytes).await.map_err(store_error)
            })
            .await?;
        }
        Ok(())
    }

    async fn publish(&mut self, overwrite: bool) -> Result<()> {
        within(self.patience, async {
            self.file.close().await.map_err(store_error)?;
            match self.client.rename(&self.partial, &self.target, overwrite).await {
                // the temporary file is gone: the rename succeeded and its response was lost
                Err(HdfsError::FileNotFound(path)) => Err(failed(format!("rename of {path}"))),
                other => other.map_err(store_error),
            }
        })
        .await
    }

    async fn discard(&mut self) -> Result<()> {
        within(self.patience, async {
            // remove the temporary file, whatever was written
            let _ = self.file.close().await;
            self.client.delete(&self.partial, false).await.map(|_| ()).map_err(store_error)
        })
        .await
    }
}

/// A file that is written in parts, in the given order.
struct Parts {
    draft: std::sync::Arc<Mutex<Draft>>,
    /// Completes when the previous part is written.
    before: futures::future::Shared<futures::future::BoxFuture<'static, ()>>,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Parts")
    }
}

#[async_trait]
impl MultipartUpload for Parts {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let (done, written) = tokio::sync::oneshot::channel::<()>();
        // after a failed part the next one continues: the upload reports the first error
        let next = written.map(|_| ()).boxed().shared();
        let before = std::mem::replace(&mut self.before, next);
        let draft = self.draft.clone();
        async move {
            before.await;
            let result = draft.lock().await.write(data).await;
            drop(done);
            result
        }
        .boxed()
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.before.clone().await;
        self.draft.lock().await.publish(true).await?;
        Ok(no_tag())
    }

    async fn abort(&mut self) -> Result<()> {
        self.draft.lock().await.discard().await
    }
}

#[async_trait]
impl ObjectStore for Hdfs {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let overwrite = match options.mode {
            PutMode::Overwrite => true,
            PutMode::Create => false,
            PutMode::Update(_) => {
                let operation = "an update on condition".to_owned();
                return Err(Error::NotImplemented { operation, implementer: STORE.to_owned() });
            }
        };
        let mut draft = self.begin(location).await?;
        let published = async {
            draft.write(payload).await?;
            draft.publish(overwrite).await
        };
        match published.await {
            Ok(()) => Ok(no_tag()),
            Err(error) => {
                // the first error is more informative
                let _ = draft.discard().await;
                Err(error)
            }
        }
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let draft = std::sync::Arc::new(Mutex::new(self.begin(location).await?));
        Ok(Box::new(Parts { draft, before: futures::future::ready(()).boxed().shared() }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let mut found = within(self.patience, self.reader.get_opts(location, options)).await?;
        if let GetResultPayload::Stream(stream) = found.payload {
            found.payload = GetResultPayload::Stream(patient(self.patience, stream));
        }
        Ok(found)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        patient(self.patience, self.reader.delete_stream(locations))
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        patient(self.patience, self.reader.list(prefix))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        within(self.patience, self.reader.list_with_delimiter(prefix)).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.reader.copy_opts(from, to, options).await
    }
}

fn no_tag() -> PutResult {
    PutResult { e_tag: None, version: None, extensions: Default::default() }
}

async fn within<T>(patience: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    match tokio::time::timeout(patience, work).await {
        Ok(done) => done,
        Err(_) => Err(failed(format!("timed out after {} s", patience.as_secs()))),
    }
}

/// A stream that fails when its next item takes too long.
fn patient<T: Send + 'static>(
    patience: Duration,
    stream: BoxStream<'static, Result<T>>,
) -> BoxStream<'static, Result<T>> {
    let next = move |stream: Option<BoxStream<'static, Result<T>>>| async move {
        let mut stream = stream?;
        match tokio::time::timeout(patience, stream.next()).await {
            Ok(item) => item.map(|item| (item, Some(stream))),
            Err(_) => {
                let waited = failed(format!("timed out after {} s", patience.as_secs()));
                Some((Err(waited), None))
            }
        }
    };
    futures::stream::unfold(Some(stream), next).boxed()
}

fn failed(detail: String) -> Error {
    Error::Generic { store: STORE, source: detail.into() }
}

/// An error of HDFS as one of object stores.
fn store_error(error: HdfsError) -> Error {
    const DENIED: [&str; 2] = ["AccessControlException", "AuthorizationException"];
    let path = String::new();
    match error {
        HdfsError::FileNotFound(ref path) => {
            Error::NotFound { path: path.clone(), source: Box::new(error) }
        }
        HdfsError::AlreadyExists(ref path) => {
            Error::AlreadyExists { path: path.clone(), source: Box::new(error) }
        }
        HdfsError::RPCError(ref class, _) | HdfsError::FatalRPCError(ref class, _)
            if DENIED.iter().any(|name| class.ends_with(name)) =>
        {
            Error::PermissionDenied { path, source: Box::new(error) }
        }
        HdfsError::SASLError(_) | HdfsError::GSSAPIError(..) | HdfsError::NoSASLMechanism => {
            Error::Unauthenticated { path, source: Box::new(error) }
        }
        other => Error::Generic { store: STORE, source: Box::new(other) },
    }
}
