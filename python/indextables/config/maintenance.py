"""Keys of MERGE SPLITS and PURGE."""

from __future__ import annotations

from typing import Any

from indextables.config.option import (
    BOOLEAN,
    SIZE,
    TEXT,
    Option,
    Scope,
    automatic,
    integer,
    number,
    optional,
)

_GROUP = "Maintenance"
_ALL = (Scope.OPTION, Scope.SESSION, Scope.TABLE)

MERGE_MAX_SOURCES = Option(
    "merge.maxSourceSplitsPerMerge",
    integer(2),
    1000,
    "Maximum number of splits merged into one.",
    _GROUP,
    _ALL,
)
MERGE_BATCH_SIZE = Option(
    "merge.batchSize",
    automatic(integer(1)),
    None,
    "Merges committed together; `auto` is all of them, or at least 5 GB and one per core.",
    _GROUP,
)
MERGE_MAX_BATCHES = Option(
    "merge.maxConcurrentBatches",
    integer(1),
    2,
    "Batches merged concurrently; each is committed separately.",
    _GROUP,
)
MERGE_MAX_PASSES = Option(
    "merge.maxPasses",
    integer(1),
    10,
    "Maximum number of rounds in which MERGE SPLITS looks for splits to merge.",
    _GROUP,
)
MERGE_SKIP_THRESHOLD = Option(
    "merge.skipSplitThreshold",
    number(0, 1),
    0.45,
    "Splits above this share of the target size are not merged.",
    _GROUP,
    _ALL,
)
MERGE_HEAP_BYTES = Option(
    "merge.heapSize",
    SIZE,
    1 << 30,
    "Memory of one merge.",
    _GROUP,
)
MERGE_COMPRESSION_LEVEL = Option(
    "merge.compressionLevel",
    optional(integer(1, 22)),
    None,
    "Zstd level with which merges recompress stored rows: higher levels take less space and "
    "longer to merge. By default, rows stay compressed as they were written.",
    _GROUP,
    _ALL,
)
MERGE_TEMP_DIRECTORY = Option(
    "merge.tempDirectoryPath",
    optional(TEXT),
    None,
    "Folder for merges in progress. Defaults to the system's temporary folder.",
    _GROUP,
)
PURGE_CHECK_RETENTION = Option(
    "purge.retentionCheckEnabled",
    BOOLEAN,
    default=True,
    doc="Reject PURGE with a retention below `purge.minRetentionHours`.",
    group=_GROUP,
)
PURGE_RETENTION_HOURS = Option(
    "purge.defaultRetentionHours",
    number(0),
    168.0,
    "Age up to which PURGE keeps unreferenced splits, unless the command specifies it.",
    _GROUP,
    _ALL,
)
PURGE_MIN_RETENTION_HOURS = Option(
    "purge.minRetentionHours",
    number(0),
    24.0,
    "Minimum retention that PURGE accepts.",
    _GROUP,
)
PURGE_MAX_FILES = Option(
    "purge.maxFilesToDelete",
    integer(1),
    1_000_000,
    "Maximum number of files that one PURGE deletes, oldest first.",
    _GROUP,
)
PURGE_RETRIES = Option(
    "purge.deleteRetries",
    integer(0),
    3,
    "Retries per file that PURGE deletes.",
    _GROUP,
)

PURGE_PARALLELISM = Option(
    "purge.parallelism",
    automatic(integer(1)),
    None,
    "Files that PURGE deletes concurrently; `auto` is 8.",
    _GROUP,
)
PURGE_LIST_HERE = Option(
    "purge.maxFilesListedByPlanner",
    integer(0),
    20_000,
    "Files of a partitioned table up to which PURGE lists it in the planner process. Tasks on the "
    "executors list the folders of a larger table.",
    _GROUP,
)
MERGE_UPLOAD_CONCURRENCY = Option(
    "merge.upload.maxConcurrency",
    optional(integer(1)),
    None,
    "Parts of a merged split uploaded concurrently. Defaults to `s3.maxConcurrency`.",
    _GROUP,
)
MERGE_RETRIES = Option(
    "merge.download.retries",
    optional(integer(0)),
    None,
    "Retries of store requests by a merge. Defaults to those of a query.",
    _GROUP,
)
MERGE_RETRY_BASE_MS = Option(
    "merge.download.retryBaseDelayMs",
    optional(integer(0)),
    None,
    "Initial delay before a merge retries a request. Defaults to that of a query.",
    _GROUP,
)
MERGE_RETRY_MAX_MS = Option(
    "merge.download.retryMaxDelayMs",
    optional(integer(0)),
    None,
    "Maximum delay before a merge retries a request. Defaults to that of a query.",
    _GROUP,
)

OPTIONS: tuple[Option[Any], ...] = tuple(
    value for value in tuple(globals().values()) if isinstance(value, Option)
)
