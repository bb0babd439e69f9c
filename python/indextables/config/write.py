"""Keys of writing: memory, split size, layout, schema changes, maintenance after a commit."""

from __future__ import annotations

from typing import Any

from indextables.config.option import (
    BOOLEAN,
    SIZE,
    TEXT,
    Option,
    Parser,
    Scope,
    choice,
    integer,
    number,
    optional,
    size_from,
)

_GROUP = "Writing"
_ALL = (Scope.OPTION, Scope.SESSION, Scope.TABLE)
_OPTION = (Scope.OPTION,)

HEAP_BYTES = Option(
    "indexWriter.heapSize",
    size_from(1),
    256 << 20,
    "Memory of one split being written.",
    _GROUP,
    _ALL,
)
TEMP_DIRECTORY = Option(
    "indexWriter.tempDirectoryPath",
    optional(TEXT),
    None,
    "Folder for splits in progress. Defaults to the system's temporary folder.",
    _GROUP,
)
BATCH_ROWS = Option(
    "write.arrowFfi.batchSize",
    integer(1),
    8192,
    "Rows per Arrow batch passed to the engine.",
    _GROUP,
)
OPTIMIZE = Option(
    "write.optimizeWrite.enabled",
    BOOLEAN,
    default=False,
    doc="Let Spark distribute rows before writing, for fewer and larger splits.",
    group=_GROUP,
    scopes=_ALL,
)
TARGET_SPLIT_BYTES = Option(
    "write.optimizeWrite.targetSplitSize",
    SIZE,
    1 << 30,
    "Target split size of optimized writes.",
    _GROUP,
    _ALL,
)
MAX_SPLIT_BYTES = Option(
    "write.optimizeWrite.maxSplitSize",
    SIZE,
    4 << 30,
    "Maximum split size: a task that reaches it starts the next split.",
    _GROUP,
    _ALL,
)
DISTRIBUTION_MODE = Option(
    "write.optimizeWrite.distributionMode",
    choice("hash", "balanced", "none"),
    "hash",
    "How optimized writes distribute rows: `hash` and `balanced` cluster by partition and "
    "adjust tasks to the target size, `none` keeps the distribution. `balanced` also ends "
    "splits after as many rows as fill `maxSplitSize`, estimated from the table's existing rows.",
    _GROUP,
    _ALL,
)
SAMPLING_RATIO = Option(
    "write.optimizeWrite.samplingRatio",
    number(0),
    1.1,
    "Ratio of the size of the rows that Spark shuffles together to the size of the split.",
    _GROUP,
    _ALL,
)
MIN_ROWS_FOR_ESTIMATION = Option(
    "write.optimizeWrite.minRowsForEstimation",
    integer(0),
    10_000,
    "Minimum rows in the table to estimate how many rows fill a split, with "
    "distribution mode `balanced`.",
    _GROUP,
    _ALL,
)
MERGE_SCHEMA = Option(
    "mergeSchema",
    BOOLEAN,
    default=False,
    doc="Add new columns of the data to the table, and widen types to those of the data.",
    group=_GROUP,
    bare=True,
)
OVERWRITE_SCHEMA = Option(
    "overwriteSchema",
    BOOLEAN,
    default=False,
    doc="Let an overwrite replace the table's schema and partitioning.",
    group=_GROUP,
    scopes=_OPTION,
    bare=True,
)
# an empty condition is wrong: it must not mean all rows
_CONDITION: Parser[str | None] = Parser(str, "a predicate")
REPLACE_WHERE = Option(
    "replaceWhere",
    _CONDITION,
    None,
    "Overwrite only the rows of this predicate.",
    _GROUP,
    _OPTION,
    bare=True,
)
PARTITION_OVERWRITE_MODE = Option(
    "partitionOverwriteMode",
    optional(choice("static", "dynamic")),
    None,
    "`dynamic` overwrites only the partitions in the data. Defaults to the session's mode.",
    _GROUP,
    _OPTION,
    bare=True,
)
TXN_APP_ID = Option(
    "txnAppId",
    optional(TEXT),
    None,
    "Name of an application that numbers its writes; a repeated write has no effect.",
    _GROUP,
    _OPTION,
    bare=True,
)
TXN_VERSION = Option(
    "txnVersion",
    optional(integer(0)),
    None,
    "Number of a write within `txnAppId`.",
    _GROUP,
    _OPTION,
    bare=True,
)
USER_METADATA = Option(
    "userMetadata",
    optional(TEXT),
    None,
    "Text stored with the commit and shown in the history.",
    _GROUP,
    bare=True,
)

MERGE_ON_WRITE = Option(
    "mergeOnWrite.enabled",
    BOOLEAN,
    default=False,
    doc="Merge small splits after a write when there are enough of them.",
    group=_GROUP,
    scopes=_ALL,
)
MERGE_ON_WRITE_ASYNC = Option(
    "mergeOnWrite.async.enabled",
    BOOLEAN,
    default=True,
    doc="Merge in the background.",
    group=_GROUP,
    scopes=_ALL,
)
MERGE_ON_WRITE_TARGET_BYTES = Option(
    "mergeOnWrite.targetSize",
    SIZE,
    4 << 30,
    "Target split size of merges after a write.",
    _GROUP,
    _ALL,
)
MERGE_ON_WRITE_CPU_FRACTION = Option(
    "mergeOnWrite.batchCpuFraction",
    number(0, 1),
    0.167,
    "Share of the cores one batch of merges may use.",
    _GROUP,
)
MERGE_ON_WRITE_MAX_BATCHES = Option(
    "mergeOnWrite.maxConcurrentBatches",
    integer(1),
    3,
    "Batches merged concurrently.",
    _GROUP,
)
MERGE_ON_WRITE_MIN_BATCHES = Option(
    "mergeOnWrite.minBatchesToTrigger",
    integer(1),
    1,
    "Number of pending batches that starts a merge.",
    _GROUP,
    _ALL,
)
MERGE_ON_WRITE_SHUTDOWN_MS = Option(
    "mergeOnWrite.shutdownTimeoutMs",
    integer(0),
    300_000,
    "How long the session waits for a running merge when it stops.",
    _GROUP,
)
PURGE_ON_WRITE = Option(
    "purgeOnWrite.enabled",
    BOOLEAN,
    default=False,
    doc="Purge after writes.",
    group=_GROUP,
    scopes=_ALL,
)
PURGE_AFTER_MERGE = Option(
    "purgeOnWrite.triggerAfterMerge",
    BOOLEAN,
    default=True,
    doc="Purge after a merge that followed a write.",
    group=_GROUP,
    scopes=_ALL,
)
PURGE_AFTER_WRITES = Option(
    "purgeOnWrite.triggerAfterWrites",
    integer(0),
    0,
    "Purge after this many writes of a process; 0 and 1 mean after every write.",
    _GROUP,
    _ALL,
)
PURGE_SPLIT_RETENTION_HOURS = Option(
    "purgeOnWrite.splitRetentionHours",
    number(0),
    168.0,
    "Age up to which unreferenced splits are kept by a purge after a write.",
    _GROUP,
    _ALL,
)
PURGE_LOG_RETENTION_HOURS = Option(
    "purgeOnWrite.txLogRetentionHours",
    number(0),
    720.0,
    "Age up to which version files are kept by a purge after a write.",
    _GROUP,
    _ALL,
)

OPTIONS: tuple[Option[Any], ...] = tuple(
    value for value in tuple(globals().values()) if isinstance(value, Option)
)
