"""Keys of the transaction log: commits, checkpoints, states, retention, caches."""

from __future__ import annotations

from typing import Any

from indextables.config.option import (
    BOOLEAN,
    NAMES,
    SIZE,
    Option,
    Scope,
    choice,
    integer,
    number,
    optional,
)

_GROUP = "Transaction log and state"
_ALL = (Scope.OPTION, Scope.SESSION, Scope.TABLE)
_MAX_INT = 2**31 - 1

CHECKPOINT_ENABLED = Option(
    "checkpoint.enabled",
    BOOLEAN,
    default=True,
    doc="Write checkpoints.",
    group=_GROUP,
    scopes=_ALL,
)
CHECKPOINT_INTERVAL = Option(
    "checkpoint.interval",
    integer(0),
    10,
    "Versions between automatic checkpoints; 0 disables them.",
    _GROUP,
    _ALL,
)
COMPRESSION_ENABLED = Option(
    "transaction.compression.enabled",
    BOOLEAN,
    default=True,
    doc="Compress version files with gzip.",
    group=_GROUP,
    scopes=_ALL,
)
RETRY_MAX_ATTEMPTS = Option(
    "transaction.retry.maxAttempts",
    integer(1),
    10,
    "Maximum number of attempts of a commit.",
    _GROUP,
)
RETRY_BASE_DELAY_MS = Option(
    "transaction.retry.baseDelayMs",
    integer(0),
    100,
    "Initial delay between commit attempts; doubled each time, with jitter.",
    _GROUP,
)
RETRY_MAX_DELAY_MS = Option(
    "transaction.retry.maxDelayMs",
    integer(0),
    5000,
    "Maximum delay between commit attempts.",
    _GROUP,
)
STATE_FORMAT = Option(
    "state.format",
    choice("avro", "json"),
    "avro",
    "Format of checkpoints: Avro state, or the older JSON checkpoint.",
    _GROUP,
    _ALL,
)
STATE_COMPRESSION = Option(
    "state.compression",
    choice("zstd", "snappy", "deflate", "none"),
    "zstd",
    "Compression of manifests.",
    _GROUP,
    _ALL,
)
STATE_COMPRESSION_LEVEL = Option(
    "state.compressionLevel",
    integer(1, 22),
    3,
    "Level of zstd.",
    _GROUP,
    _ALL,
)
ENTRIES_PER_MANIFEST = Option(
    "state.entriesPerManifest",
    integer(1),
    50_000,
    "Maximum number of entries per manifest.",
    _GROUP,
    _ALL,
)
STATE_READ_PARALLELISM = Option(
    "state.read.parallelism",
    integer(1),
    8,
    "Manifests read concurrently.",
    _GROUP,
)
RENORMALIZE_THRESHOLD = Option(
    "state.schema.renormalizeThreshold",
    integer(0),
    5,
    "Number of distinct schema references above which a checkpoint recomputes all schema hashes.",
    _GROUP,
    _ALL,
)
TOMBSTONE_THRESHOLD = Option(
    "state.compaction.tombstoneThreshold",
    number(0, 1),
    0.10,
    "Share of removed entries above which a checkpoint compacts.",
    _GROUP,
    _ALL,
)
MAX_MANIFESTS = Option(
    "state.compaction.maxManifests",
    integer(1),
    20,
    "Number of manifests above which a checkpoint compacts.",
    _GROUP,
    _ALL,
)
LARGE_REMOVE_THRESHOLD = Option(
    "state.compaction.largeRemoveThreshold",
    integer(0),
    _MAX_INT,
    "Number of removals in one checkpoint above which it compacts.",
    _GROUP,
    _ALL,
)
COMPACT_AFTER_MERGE = Option(
    "state.compaction.afterMerge",
    BOOLEAN,
    default=True,
    doc="Compact the state after MERGE SPLITS.",
    group=_GROUP,
    scopes=_ALL,
)
STATE_RETENTION_VERSIONS = Option(
    "state.retention.versions",
    integer(1),
    2,
    "Number of states kept regardless of age.",
    _GROUP,
    _ALL,
)
STATE_RETENTION_HOURS = Option(
    "state.retention.hours",
    number(0),
    168.0,
    "Age up to which states are kept.",
    _GROUP,
    _ALL,
)
GC_MIN_MANIFEST_AGE_HOURS = Option(
    "state.gc.minManifestAgeHours",
    number(0),
    1.0,
    "Unreferenced manifests younger than this are kept.",
    _GROUP,
)
STATE_RETRY_MAX_ATTEMPTS = Option(
    "state.retry.maxAttempts",
    integer(1),
    10,
    "Maximum number of attempts to write a state.",
    _GROUP,
)
STATE_RETRY_BASE_DELAY_MS = Option(
    "state.retry.baseDelayMs",
    integer(0),
    100,
    "Initial delay between attempts to write a state.",
    _GROUP,
)
STATE_RETRY_MAX_DELAY_MS = Option(
    "state.retry.maxDelayMs",
    integer(0),
    5000,
    "Maximum delay between attempts to write a state.",
    _GROUP,
)
CACHE_ENABLED = Option(
    "transaction.cache.enabled",
    BOOLEAN,
    default=True,
    doc="Cache snapshots between queries.",
    group=_GROUP,
)
CACHE_EXPIRATION_SECONDS = Option(
    "transaction.cache.expirationSeconds",
    optional(number(0)),
    None,
    "How long a cached snapshot is used without checking for newer commits. By default every query "
    "checks, so readers see the latest commit.",
    _GROUP,
)
LOG_RETENTION_HOURS = Option(
    "purge.txLogRetentionHours",
    number(0),
    720.0,
    "Age up to which version files are kept.",
    _GROUP,
    _ALL,
)
TRUNCATE_STATS = Option(
    "stats.truncation.enabled",
    BOOLEAN,
    default=True,
    doc="Truncate long string statistics.",
    group="Statistics",
    scopes=_ALL,
)
STATS_MAX_LENGTH = Option(
    "stats.truncation.maxLength",
    integer(1),
    32,
    "Maximum length of string statistics in characters.",
    "Statistics",
    _ALL,
)
STATS_NUM_COLUMNS = Option(
    "dataSkippingNumIndexedCols",
    integer(-1),
    32,
    "Number of columns with statistics, in schema order; -1 means all, 0 none.",
    "Statistics",
    _ALL,
)

STATS_COLUMNS = Option(
    "dataSkippingStatsColumns",
    NAMES,
    (),
    "Columns with statistics; overrides the number.",
    "Statistics",
    _ALL,
)
CACHE_TTL_MS = Option(
    "transaction.cache.ttl.ms",
    optional(integer(0)),
    None,
    "Same as `transaction.cache.expirationSeconds`, in milliseconds; takes precedence over it.",
    _GROUP,
)
LOG_RETENTION_MS = Option(
    "logRetention.duration",
    optional(integer(0)),
    None,
    "Age in milliseconds up to which PURGE keeps version files; takes precedence over "
    "`purge.txLogRetentionHours`.",
    _GROUP,
    _ALL,
)
TRACK_SKIPPED = Option(
    "skippedFiles.trackingEnabled",
    BOOLEAN,
    default=True,
    doc="Record splits that a merge could not read, and skip them for a while.",
    group=_GROUP,
    scopes=_ALL,
)
SKIP_COOLDOWN_HOURS = Option(
    "skippedFiles.cooldownDuration",
    number(0),
    24.0,
    "Hours before a merge tries a skipped split again.",
    _GROUP,
    _ALL,
)
MAX_CONCURRENT_READS = Option(
    "transaction.maxConcurrentReads",
    integer(1),
    32,
    "Log files, or footers of splits for REPAIR, read concurrently.",
    _GROUP,
)
MAX_FILE_BYTES = Option(
    "transaction.maxFileSize",
    SIZE,
    512 << 20,
    "Maximum uncompressed size of a log file. A larger file, or one with over one action per 128 "
    "bytes of this limit, is rejected.",
    _GROUP,
)

OPTIONS: tuple[Option[Any], ...] = tuple(
    value for value in tuple(globals().values()) if isinstance(value, Option)
)
