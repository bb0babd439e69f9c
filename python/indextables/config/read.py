"""Keys of reading: mode, limits, push-down, time travel, how work is cut into tasks."""

from __future__ import annotations

from typing import Any

from indextables.config.option import (
    BOOLEAN,
    SIZE,
    TEXT,
    Option,
    Scope,
    automatic,
    choice,
    integer,
    optional,
)

_GROUP = "Reading"
_ALL = (Scope.OPTION, Scope.SESSION, Scope.TABLE)
_OPTION = (Scope.OPTION,)

MODE = Option(
    "read.mode",
    choice("complete", "fast"),
    "complete",
    "`complete` returns every row. `fast` cuts each task at `read.defaultLimit` rows when the "
    "query has no limit, and says so in a warning; the existing implementation does that by "
    "default.",
    _GROUP,
    _ALL,
)
DEFAULT_LIMIT = Option(
    "read.defaultLimit",
    integer(1),
    250,
    "Most rows of one task in mode `fast`.",
    _GROUP,
    _ALL,
)
VERSION_AS_OF = Option(
    "versionAsOf",
    optional(integer(0)),
    None,
    "Read the table as it was at this version.",
    _GROUP,
    _OPTION,
    bare=True,
)
TIMESTAMP_AS_OF = Option(
    "timestampAsOf",
    optional(TEXT),
    None,
    "Read the table as it was at this time, such as `2026-01-31 12:00:00`.",
    _GROUP,
    _OPTION,
    bare=True,
)
SPLITS_PER_TASK = Option(
    "read.splitsPerTask",
    automatic(integer(1)),
    None,
    "Splits of one read task; `auto` goes by size and cores.",
    _GROUP,
)
MAX_SPLITS_PER_TASK = Option(
    "read.maxSplitsPerTask",
    integer(1),
    8,
    "Most splits of one read task with `auto`.",
    _GROUP,
)
BATCH_ROWS = Option(
    "read.batchRows",
    integer(1),
    32768,
    "Rows of one Arrow batch.",
    _GROUP,
)
LOCAL_ENABLED = Option(
    "read.local.enabled",
    BOOLEAN,
    default=True,
    doc="Let the planner answer small queries itself, without a Spark job.",
    group=_GROUP,
)
LOCAL_MAX_BYTES = Option(
    "read.local.maxBytes",
    SIZE,
    256 << 20,
    "Most bytes a query may touch, as estimated, to be answered by the planner.",
    _GROUP,
)
LOCAL_MAX_ROWS = Option(
    "read.local.maxRows",
    integer(0),
    10_000,
    "Most result rows of a query answered by the planner.",
    _GROUP,
)
MAX_UNQUALIFIED_FIELDS = Option(
    "indexquery.indexall.maxUnqualifiedFields",
    integer(0),
    10,
    "Most searchable columns a search over all columns may touch without naming any; 0 allows "
    "any number.",
    _GROUP,
)
BATCH_ENABLED = Option(
    "read.batchOptimization.enabled",
    BOOLEAN,
    default=True,
    doc="Join reads of documents that lie near each other in an object store into one request.",
    group=_GROUP,
)
BATCH_PROFILE = Option(
    "read.batchOptimization.profile",
    choice("conservative", "balanced", "aggressive", "disabled"),
    "balanced",
    "How eagerly reads are joined; the four keys below override single values of the profile. "
    "`balanced` is 16M, 512K, 50 and 8; `conservative` 4M, 128K, 100 and 4; `aggressive` 64M, 2M, "
    "10 and 16.",
    _GROUP,
)
BATCH_RANGE = Option(
    "read.batchOptimization.maxRangeSize",
    optional(SIZE),
    None,
    "Most bytes of one joined request; by default the profile's.",
    _GROUP,
)
BATCH_GAP = Option(
    "read.batchOptimization.gapTolerance",
    optional(SIZE),
    None,
    "Most bytes between two reads that become one request; by default the profile's.",
    _GROUP,
)
BATCH_LEAST = Option(
    "read.batchOptimization.minDocsForOptimization",
    optional(integer(0)),
    None,
    "Reads of one fetch from which on they are joined over more than 64K; else the profile's.",
    _GROUP,
)
BATCH_CONCURRENCY = Option(
    "read.batchOptimization.maxConcurrentPrefetch",
    optional(integer(1)),
    None,
    "Requests of one fetch at the same time; by default the profile's.",
    _GROUP,
)

OPTIONS: tuple[Option[Any], ...] = tuple(
    value for value in tuple(globals().values()) if isinstance(value, Option)
)
