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
    "Memory for data of remote splits in one process; 0 keeps none.",
    _GROUP,
)
DISK_ENABLED = Option(
    "cache.disk.enabled",
    automatic(BOOLEAN),
    None,
    "Keep data of remote splits on local disk too; `auto` does so when a folder is set or "
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
    "Disk caches with different names share a folder and nothing else.",
    _GROUP,
)
DISK_MAX_BYTES = Option(
    "cache.disk.maxSize",
    SIZE,
    0,
    "Size of the disk cache; 0 is two thirds of the disk.",
    _GROUP,
)
DISK_COMPRESSION = Option(
    "cache.disk.compression",
    choice("lz4", "zstd", "none"),
    "lz4",
    "How the disk cache compresses.",
    _GROUP,
)
DISK_MIN_COMPRESS = Option(
    "cache.disk.minCompressSize",
    SIZE,
    4 << 10,
    "Smaller pieces are not compressed.",
    _GROUP,
)
DISK_RESCAN_SECONDS = Option(
    "cache.disk.manifestSyncInterval",
    number(0),
    30.0,
    "Seconds for which a process trusts its own sum of what is in the disk cache, which other "
    "processes fill too.",
    _GROUP,
)
QUEUE_MODE = Option(
    "cache.disk.writeQueue.mode",
    choice("size", "fragment"),
    "size",
    "Whether pieces that wait to be written to disk are bounded by bytes (`size`) or by number "
    "(`fragment`: one per MiB of the capacity).",
    _GROUP,
)
QUEUE_CAPACITY = Option(
    "cache.disk.writeQueue.capacity",
    SIZE,
    1 << 30,
    "How much may wait to be written to disk.",
    _GROUP,
)
QUEUE_BUDGET = Option(
    "cache.disk.writeQueue.maxBudget",
    SIZE,
    0,
    "Most bytes that wait in mode `fragment`; 0 is eight times the capacity.",
    _GROUP,
)
DROP_WHEN_FULL = Option(
    "cache.disk.dropWritesWhenFull",
    BOOLEAN,
    default=True,
    doc="With too much waiting, do not keep a piece on disk; else the query waits.",
    group=_GROUP,
)
COALESCE_MAX_GAP = Option(
    "cache.coalesceMaxGap",
    optional(SIZE),
    None,
    "Hole between two reads of a remote split up to which they become one request, where "
    "`read.batchOptimization.gapTolerance` is not set; unset, its profile says it.",
    _GROUP,
)
MAX_CONCURRENT_LOADS = Option(
    "cache.maxConcurrentLoads",
    optional(integer(1)),
    None,
    "Requests for parts of one remote split at the same time, where "
    "`read.batchOptimization.maxConcurrentPrefetch` is not set; unset, its profile says it.",
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
    doc="Load the index parts a scan will need before it starts.",
    group=_GROUP,
    aliases=("cache.prewarm.enabled",),
)
PREWARM_SEGMENTS = Option(
    "prewarm.segments",
    NAMES,
    ("TERM", "POSTINGS"),
    "Index parts that are loaded.",
    _GROUP,
)
PREWARM_FIELDS = Option(
    "prewarm.fields",
    NAMES,
    (),
    "Columns whose parts are loaded; none named means all.",
    _GROUP,
)
PREWARM_SPLITS_PER_TASK = Option(
    "prewarm.splitsPerTask",
    integer(1),
    2,
    "Splits loaded by one task.",
    _GROUP,
)
PREWARM_PARTITION_FILTER = Option(
    "prewarm.partitionFilter",
    TEXT,
    "",
    "Partitions that are loaded, as a predicate.",
    _GROUP,
)
PREWARM_FAIL_ON_MISSING = Option(
    "prewarm.failOnMissingField",
    BOOLEAN,
    default=True,
    doc="Refuse to prewarm a column that does not exist, and do not just skip it.",
    group=_GROUP,
)
PREWARM_MAX_RETRIES = Option(
    "prewarm.maxRetries",
    integer(0),
    10,
    "How often a failed split is tried again.",
    _GROUP,
)
PREWARM_MAX_CONCURRENT = Option(
    "prewarm.async.maxConcurrent",
    integer(1),
    1,
    "Background jobs at the same time.",
    _GROUP,
)
PREWARM_JOB_RETENTION_MS = Option(
    "prewarm.async.completedJobRetentionMs",
    integer(0),
    3_600_000,
    "How long a finished background job stays in the list.",
    _GROUP,
)

PREWARM_CATCH_UP = Option(
    "prewarm.catchUpNewHosts",
    BOOLEAN,
    default=False,
    doc="After a PREWARM, queries load the same parts on machines that came later.",
    group=_GROUP,
)

OPTIONS: tuple[Option[Any], ...] = tuple(
    value for value in tuple(globals().values()) if isinstance(value, Option)
)
