"""Keys of the caches of split data and of prewarming them."""

from __future__ import annotations

from typing import Any

from indextables.config.option import (
    BOOLEAN,
    NAMES,
    SIZE,
    TEXT,
    Option,
    Status,
    automatic,
    choice,
    ignored,
    integer,
    number,
    optional,
)

_GROUP = "Caches and prewarming"

MAX_BYTES = Option(
    "cache.maxSize",
    SIZE,
    200_000_000,
    "Memory for split data in one process.",
    _GROUP,
    status=Status.LATER,
)
DISK_ENABLED = Option(
    "cache.disk.enabled",
    automatic(BOOLEAN),
    None,
    "Keep split data on local disk too; `auto` does so when `cache.disk.path` is set.",
    _GROUP,
    status=Status.LATER,
)
DISK_PATH = Option(
    "cache.disk.path",
    optional(TEXT),
    None,
    "Folder of the disk cache.",
    _GROUP,
    status=Status.LATER,
)
DISK_MAX_BYTES = Option(
    "cache.disk.maxSize",
    SIZE,
    0,
    "Size of the disk cache; 0 is two thirds of the disk.",
    _GROUP,
    status=Status.LATER,
)
COALESCE_MAX_GAP = Option(
    "cache.coalesceMaxGap",
    SIZE,
    512 << 10,
    "Range reads nearer than this are joined into one request.",
    _GROUP,
    status=Status.LATER,
)
PREWARM_ENABLED = Option(
    "prewarm.enabled",
    BOOLEAN,
    default=False,
    doc="Load the index parts a scan will need before it starts.",
    group=_GROUP,
    aliases=("cache.prewarm.enabled",),
    status=Status.LATER,
)
PREWARM_SEGMENTS = Option(
    "prewarm.segments",
    NAMES,
    ("TERM", "POSTINGS"),
    "Index parts that are loaded.",
    _GROUP,
    status=Status.LATER,
)
PREWARM_FIELDS = Option(
    "prewarm.fields",
    NAMES,
    (),
    "Columns whose parts are loaded; none named means all.",
    _GROUP,
    status=Status.LATER,
)
PREWARM_SPLITS_PER_TASK = Option(
    "prewarm.splitsPerTask",
    integer(1),
    2,
    "Splits loaded by one task.",
    _GROUP,
    status=Status.LATER,
)
PREWARM_PARTITION_FILTER = Option(
    "prewarm.partitionFilter",
    TEXT,
    "",
    "Partitions that are loaded, as a predicate.",
    _GROUP,
    status=Status.LATER,
)
PREWARM_FAIL_ON_MISSING = Option(
    "prewarm.failOnMissingField",
    BOOLEAN,
    default=True,
    doc="Refuse to prewarm a column that does not exist, and do not just skip it.",
    group=_GROUP,
    status=Status.LATER,
)
PREWARM_MAX_RETRIES = Option(
    "prewarm.maxRetries",
    integer(0),
    10,
    "How often a failed split is tried again.",
    _GROUP,
    status=Status.LATER,
)
PREWARM_MAX_CONCURRENT = Option(
    "prewarm.async.maxConcurrent",
    integer(1),
    1,
    "Background jobs at the same time.",
    _GROUP,
    status=Status.LATER,
)
PREWARM_JOB_RETENTION_MS = Option(
    "prewarm.async.completedJobRetentionMs",
    integer(0),
    3_600_000,
    "How long a finished background job stays in the list.",
    _GROUP,
    status=Status.LATER,
)

_IGNORED = (
    *ignored(
        _GROUP,
        "One memory cache serves the process.",
        {
            "cache.name": (TEXT, ""),
            "cache.maxConcurrentLoads": (integer(1), 8),
            "cache.queryCache": (BOOLEAN, True),
            "cache.directoryPath": (automatic(TEXT), None),
        },
    ),
    *ignored(
        _GROUP,
        "The disk cache writes plain files at once.",
        {
            "cache.disk.compression": (choice("lz4", "zstd", "none"), "lz4"),
            "cache.disk.minCompressSize": (SIZE, 4 << 10),
            "cache.disk.manifestSyncInterval": (number(0), 30.0),
            "cache.disk.writeQueue.mode": (choice("size", "fragment"), "size"),
            "cache.disk.writeQueue.capacity": (SIZE, 1 << 30),
            "cache.disk.writeQueue.maxBudget": (SIZE, 0),
            "cache.disk.dropWritesWhenFull": (BOOLEAN, True),
        },
    ),
    *ignored(
        _GROUP,
        "New hosts load what they need when they need it.",
        {"prewarm.catchUpNewHosts": (BOOLEAN, False)},
    ),
)

_DECLARED = tuple(value for value in tuple(globals().values()) if isinstance(value, Option))
OPTIONS: tuple[Option[Any], ...] = (*_DECLARED, *_IGNORED)
