//! Connects to a remote store: the builder of its kind, timeouts and credentials. The options come from
//! `indextables.storage.connection`.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{BackoffConfig, ObjectStore, ObjectStoreScheme, RetryConfig};
use url::Url;

use super::Counters;
use super::credentials::{Provider, aws, azure, google};
use super::failure::Wording;
use super::hdfs::Hdfs;
use super::hedge::Hedge;
use super::runtime::PerProcess;
use crate::cache;
use crate::error::{EngineError, Result};

const HDFS: &str = "hdfs";

/// How to connect to an object store; connections are reopened after a fork.
pub(super) struct Client {
    pub(super) url: Url,
    options: HashMap<String, String>,
    pub(super) upload: UploadPlan,
    pub(super) reading: ReadPlan,
    pub(super) hedge: Hedge,
    pub(super) cache: Arc<cache::Options>,
    pub(super) wording: Wording,
    connection: PerProcess<Arc<dyn ObjectStore>>,
    pub(super) counters: Counters,
}

/// The threshold and part size of multipart uploads, and the number of concurrent parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct UploadPlan {
    pub threshold: u64,
    pub part: u64,
    pub concurrency: usize,
}

/// How ranges of one file are coalesced: ranges at most `gap` bytes apart become one request of at
/// most `most` bytes, if there are at least `least` ranges.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadPlan {
    pub gap: u64,
    pub most: u64,
    pub least: usize,
    pub concurrency: usize,
}

impl Client {
    pub(super) fn new(url: Url, options: HashMap<String, String>) -> Result<Client> {
        let number = |key: &str, default: u64| match options.get(key) {
            None => Ok(default),
            Some(text) => text
                .parse::<u64>()
                .map_err(|_| EngineError::bad_option(key, text, "allowed is a whole number")),
        };
        let upload = UploadPlan {
            threshold: number("upload_threshold_bytes", 16 << 20)?,
            part: number("upload_part_bytes", 16 << 20)?.max(5 << 20),
            concurrency: number("upload_concurrency", 4)?.max(1) as usize,
        };
        let reading = ReadPlan {
            gap: number("read_gap_bytes", 512 << 10)?,
            most: number("read_range_bytes", 16 << 20)?.max(1),
            least: number("read_least_ranges", 50)? as usize,
            concurrency: number("read_concurrency", 8)?.max(1) as usize,
        };
        let hedge = Hedge::new(number("read_hedge_after_ms", 0)?);
        let cache = Arc::new(cache::Options::parse(&options)?);
        let wording = Wording::new(&options);
        let (connection, counters) = (PerProcess::new(), Counters::new(true));
        Ok(Client { url, options, upload, reading, hedge, cache, wording, connection, counters })
    }

    /// The path inside the store that its URL ends with.
    pub(super) fn root(url: &Url) -> object_store::Result<Path> {
        if url.scheme() == HDFS {
            return Ok(Path::from_url_path(url.path())?);
        }
        Ok(ObjectStoreScheme::parse(url)?.1)
    }

    /// Whether the store has real folders, which list their content and remain when empty.
    pub(super) fn has_folders(&self) -> bool {
        self.url.scheme() == HDFS
    }

    /// Whether listings are sorted by path across folders.
    pub(super) fn lists_in_order(&self) -> bool {
        !self.has_folders()
    }

    pub(super) fn connect(&self) -> Result<Arc<dyn ObjectStore>> {
        self.connection.get(|| self.build().map_err(|e| self.failed(&Path::default(), e)))
    }

    fn build(&self) -> object_store::Result<Arc<dyn ObjectStore>> {
        // settings by name: each builder has its own type of keys
        macro_rules! built {
            ($builder:ty, $credential:expr) => {{
                let mut builder =
                    <$builder>::new().with_url(self.url.as_str()).with_retry(self.retry());
                for (key, value) in &self.options {
                    if let Ok(key) = key.parse() {
                        builder = builder.with_config(key, value);
                    }
                }
                if let Some(spec) = self.options.get("credentials_provider") {
                    builder = builder.with_credentials(Arc::new(Provider::new(spec, $credential)));
                }
                Ok(Arc::new(builder.build()?))
            }};
        }
        if self.url.scheme() == HDFS {
            return Ok(Arc::new(Hdfs::connect(&self.url, &self.options)?));
        }
        match ObjectStoreScheme::parse(&self.url)?.0 {
            ObjectStoreScheme::Memory => Ok(shared_memory()),
            ObjectStoreScheme::AmazonS3 => built!(AmazonS3Builder, aws),
            ObjectStoreScheme::MicrosoftAzure => built!(MicrosoftAzureBuilder, azure),
            ObjectStoreScheme::GoogleCloudStorage => built!(GoogleCloudStorageBuilder, google),
            _ => object_store::parse_url_opts(&self.url, &self.options).map(|(s, _)| Arc::from(s)),
        }
    }

    /// The location of an object, stable across processes and without secrets.
    pub(super) fn address(&self, path: &Path) -> String {
        let endpoint = self.options.iter().find(|(key, _)| key.contains("endpoint"));
        let endpoint = endpoint.map_or("", |(_, value)| value);
        format!("{} {endpoint}", self.shown(path))
    }

    /// The location of an object for messages.
    pub(super) fn shown(&self, path: &Path) -> String {
        format!("{}://{}/{path}", self.url.scheme(), self.url.authority())
    }

    /// Throttling and lost connections are retried; a failed condition never is.
    fn retry(&self) -> RetryConfig {
        let number = |key: &str, default: u64| {
            self.options.get(key).and_then(|text| text.parse().ok()).unwrap_or(default)
        };
        RetryConfig {
            backoff: BackoffConfig {
                init_backoff: Duration::from_millis(number("retry_first_pause_ms", 100)),
                max_backoff: Duration::from_millis(number("retry_longest_pause_ms", 5_000)),
                base: 2.0,
            },
            max_retries: number("retry_max", 6) as usize,
            retry_timeout: Duration::from_secs(number("retry_seconds", 120)),
        }
    }
}

/// All `memory:` stores of a process are one, so that a writer and a reader meet.
fn shared_memory() -> Arc<dyn ObjectStore> {
    static MEMORY: LazyLock<Arc<InMemory>> = LazyLock::new(|| Arc::new(InMemory::new()));
    MEMORY.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(options: &[(&str, &str)]) -> Result<Client> {
        let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Client::new(Url::parse("s3://b/t").map_err(EngineError::internal)?, options)
    }

    #[test]
    fn parts_are_never_smaller_than_stores_take_them() -> Result<()> {
        let plan = client(&[("upload_part_bytes", "1"), ("upload_concurrency", "0")])?.upload;
        assert_eq!((plan.part, plan.concurrency), (5 << 20, 1));
        assert!(client(&[("upload_part_bytes", "x")]).is_err());
        Ok(())
    }
}
