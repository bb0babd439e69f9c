"""Keys of the caches of split data and of prewarming them."""

from __future__ import annotations

from typing import Any

from indextables.config.option import (
    BOOLEAN,
    NAMES,
    SIZE,
    TEXT,
    Option,
    automatic,
    choice,
    integer,
    number,
    optional,
)

_GROUP = "Caches and prewarming"

MAX_BYTES = Option(
    "cache.maxSize",
    SIZE,
    200_000_000,
    "Memory for cached data of remote splits per process; 0 disables the cache.",
    _GROUP,
)
DISK_ENABLED = Option(
    "cache.disk.enabled",
    automatic(BOOLEAN),
    None,
    "Also cache data of remote splits on local disk; `auto` does so when a folder is set or "
    "`/local_disk0` exists.",
    _GROUP,
)
DISK_PATH = Option(
    "cache.disk.path",
    optional(TEXT),
    None,
    "Folder of the disk cache. Any number of processes may share it.",
    _GROUP,
)
DIRECTORY = Option(
    "cache.directoryPath",
    automatic(TEXT),
    None,
    "Folder of the disk cache when `cache.disk.path` is not set.",
    _GROUP,
)
NAME = Option(
    "cache.name",
    TEXT,
    "",
    "Disk caches with different names can use the same folder without sharing data.",
    _GROUP,
)
DISK_MAX_BYTES = Option(
    "cache.disk.maxSize",
    SIZE,
    0,
    "Maximum size of the disk cache; 0 means two thirds of the disk.",
    _GROUP,
)
DISK_COMPRESSION = Option(
    "cache.disk.compression",
    choice("lz4", "zstd", "none"),
    "lz4",
    "Compression of the disk cache.",
    _GROUP,
)
DISK_MIN_COMPRESS = Option(
    "cache.disk.minCompressSize",
    SIZE,
    4 << 10,
    "Pieces smaller than this are not compressed.",
    _GROUP,
)
DISK_RESCAN_SECONDS = Option(
    "cache.disk.manifestSyncInterval",
    number(0),
    30.0,
    "Seconds for which a process trusts its own estimate of the disk cache's size, which other "
    "processes fill too.",
    _GROUP,
)
QUEUE_MODE = Option(
    "cache.disk.writeQueue.mode",
    choice("size", "fragment"),
    "size",
    "Whether the queue of disk writes is bounded by bytes (`size`) or by number of pieces "
    "(`fragment`: one per MiB of the capacity).",
    _GROUP,
)
QUEUE_CAPACITY = Option(
    "cache.disk.writeQueue.capacity",
    SIZE,
    1 << 30,
    "Capacity of the queue of disk writes.",
    _GROUP,
)
QUEUE_BUDGET = Option(
    "cache.disk.writeQueue.maxBudget",
    SIZE,
    0,
    "Maximum bytes in the queue in mode `fragment`; 0 means eight times the capacity.",
    _GROUP,
)
DROP_WHEN_FULL = Option(
    "cache.disk.dropWritesWhenFull",
    BOOLEAN,
    default=True,
    doc="If the queue is full, do not cache the piece on disk; otherwise the query waits.",
    group=_GROUP,
)
COALESCE_MAX_GAP = Option(
    "cache.coalesceMaxGap",
    optional(SIZE),
    None,
    "Maximum gap between two reads of a remote split that are combined into one request, if "
    "`read.batchOptimization.gapTolerance` is not set. Defaults to the profile's value.",
    _GROUP,
)
MAX_CONCURRENT_LOADS = Option(
    "cache.maxConcurrentLoads",
    optional(integer(1)),
    None,
    "Concurrent requests for parts of one remote split, if "
    "`read.batchOptimization.maxConcurrentPrefetch` is not set. Defaults to the profile's value.",
    _GROUP,
)
QUERY_CACHE = Option(
    "cache.queryCache",
    BOOLEAN,
    default=True,
    doc="Keep splits open between queries.",
    group=_GROUP,
)
PREWARM_ENABLED = Option(
    "prewarm.enabled",
    BOOLEAN,
    default=False,
    doc="Prewarm the index parts that a scan needs before it starts.",
    group=_GROUP,
    aliases=("cache.prewarm.enabled",),
)
PREWARM_SEGMENTS = Option(
    "prewarm.segments",
    NAMES,
    ("TERM", "POSTINGS"),
    "Index parts to prewarm.",
    _GROUP,
)
PREWARM_FIELDS = Option(
    "prewarm.fields",
    NAMES,
    (),
    "Columns to prewarm; empty means all columns.",
    _GROUP,
)
PREWARM_SPLITS_PER_TASK = Option(
    "prewarm.splitsPerTask",
    integer(1),
    2,
    "Splits per prewarm task.",
    _GROUP,
)
PREWARM_PARTITION_FILTER = Option(
    "prewarm.partitionFilter",
    TEXT,
    "",
    "Predicate that selects the partitions to prewarm.",
    _GROUP,
)
PREWARM_FAIL_ON_MISSING = Option(
    "prewarm.failOnMissingField",
    BOOLEAN,
    default=True,
    doc="Fail if a column to prewarm does not exist, instead of skipping it.",
    group=_GROUP,
)
PREWARM_MAX_RETRIES = Option(
    "prewarm.maxRetries",
    integer(0),
    10,
    "Retries per failed split.",
    _GROUP,
)
PREWARM_MAX_CONCURRENT = Option(
    "prewarm.async.maxConcurrent",
    integer(1),
    1,
    "Maximum number of concurrent background jobs.",
    _GROUP,
)
PREWARM_JOB_RETENTION_MS = Option(
    "prewarm.async.completedJobRetentionMs",
    integer(0),
    3_600_000,
    "How long a finished background job stays listed.",
    _GROUP,
)

PREWARM_CATCH_UP = Option(
    "prewarm.catchUpNewHosts",
    BOOLEAN,
    default=False,
    doc="After a PREWARM, queries prewarm the same parts on executors that joined later.",
    group=_GROUP,
)

OPTIONS: tuple[Option[Any], ...] = tuple(
    value for value in tuple(globals().values()) if isinstance(value, Option)
)
