"""Keys of reading: mode, limits, push-down, time travel, division into tasks."""

from __future__ import annotations

from typing import Any

from indextables.config.option import (
    BOOLEAN,
    NAMES,
    SIZE,
    TEXT,
    Option,
    Parser,
    Scope,
    automatic,
    choice,
    integer,
    optional,
)

_GROUP = "Reading"


def _tags(text: str) -> tuple[str, str]:
    before, after = text.split(",")
    return before, after


_ALL = (Scope.OPTION, Scope.SESSION, Scope.TABLE)
_OPTION = (Scope.OPTION,)

MODE = Option(
    "read.mode",
    choice("complete", "fast"),
    "complete",
    "`complete` returns every row. `fast` stops each task after `read.defaultLimit` rows when the "
    "query has no limit, and warns about it; the existing implementation does that by "
    "default.",
    _GROUP,
    _ALL,
)
DEFAULT_LIMIT = Option(
    "read.defaultLimit",
    integer(1),
    250,
    "Maximum rows per task in mode `fast`.",
    _GROUP,
    _ALL,
)
SCORE = Option(
    "read.score",
    choice("table", "split"),
    "table",
    "Statistics that `_score` is computed from. `table`: those of the live rows of the whole "
    "table, so that a score does not depend on the layout; every split counts its rows with the "
    "words once per query. `split`: those of each split alone, including deleted rows; this is "
    "cheaper, but scores of rows in different splits are only roughly comparable.",
    _GROUP,
    _ALL,
)
VERSION_AS_OF = Option(
    "versionAsOf",
    optional(integer(0)),
    None,
    "Version of the table to read.",
    _GROUP,
    _OPTION,
    bare=True,
)
TIMESTAMP_AS_OF = Option(
    "timestampAsOf",
    optional(TEXT),
    None,
    "Timestamp of the table to read, such as `2026-01-31 12:00:00`; without an offset, in UTC.",
    _GROUP,
    _OPTION,
    bare=True,
)
SPLITS_PER_TASK = Option(
    "read.splitsPerTask",
    automatic(integer(1)),
    None,
    "Splits per read task; `auto` decides by size and number of cores.",
    _GROUP,
)
MAX_SPLITS_PER_TASK = Option(
    "read.maxSplitsPerTask",
    integer(1),
    8,
    "Maximum splits per read task with `auto`.",
    _GROUP,
)
REPORT_PARTITIONING = Option(
    "read.reportPartitioning",
    BOOLEAN,
    default=False,
    doc="Tell Spark the partition values of read tasks, so that it joins and groups partitioned "
    "tables without a shuffle (`spark.sql.sources.v2.bucketing.enabled`). A task then reads splits "
    "of one partition only.",
    group=_GROUP,
    scopes=_ALL,
)
BATCH_ROWS = Option(
    "read.batchRows",
    integer(1),
    32768,
    "Rows per Arrow batch.",
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
    "Maximum estimated bytes that a query reads to be answered by the planner.",
    _GROUP,
)
LOCAL_MAX_ROWS = Option(
    "read.local.maxRows",
    integer(0),
    10_000,
    "Maximum result rows of a query answered by the planner.",
    _GROUP,
)
JOIN_MAX_KEYS = Option(
    "read.join.maxKeys",
    integer(0),
    200_000,
    "Maximum number of keys that a join looks up in the index; 0 turns joins by index off.",
    _GROUP,
)
SUGGEST_MAX_SPLITS = Option(
    "read.suggest.maxSplits",
    integer(0),
    100,
    "Maximum number of splits whose words are suggested (`suggest`, `did_you_mean`, the page), "
    "largest first; 0 reads every split.",
    _GROUP,
    _ALL,
)
MAX_UNQUALIFIED_FIELDS = Option(
    "indexquery.indexall.maxUnqualifiedFields",
    integer(0),
    10,
    "Maximum number of searchable columns for a search that names no column; 0 allows any number.",
    _GROUP,
)
SNIPPET_COLUMNS = Option(
    "read.snippet.columns",
    NAMES,
    (),
    "Columns that `_snippet` is cut from. Defaults to the searched column, else the first text "
    "column.",
    _GROUP,
)
SNIPPET_FRAGMENTS = Option(
    "read.snippet.fragments",
    integer(1, 20),
    1,
    "Maximum number of parts of each column that `_snippet` shows, joined by ` … `.",
    _GROUP,
)
SNIPPET_SIZE = Option(
    "read.snippet.size",
    integer(1, 10_000),
    150,
    "Maximum characters of one part of `_snippet`.",
    _GROUP,
)
SNIPPET_TAGS = Option(
    "read.snippet.tags",
    Parser(_tags, "two strings separated by a comma, such as `<em>,</em>`"),
    ("<b>", "</b>"),
    "Marks before and after each matching word of `_snippet`.",
    _GROUP,
)
BATCH_ENABLED = Option(
    "read.batchOptimization.enabled",
    BOOLEAN,
    default=True,
    doc="Combine reads of nearby rows in an object store into one request.",
    group=_GROUP,
)
BATCH_PROFILE = Option(
    "read.batchOptimization.profile",
    choice("conservative", "balanced", "aggressive", "disabled"),
    "balanced",
    "How aggressively reads are combined; the four keys below override values of the profile. "
    "`balanced` is 16M, 512K, 50 and 8; `conservative` 4M, 128K, 100 and 4; `aggressive` 64M, 2M, "
    "10 and 16.",
    _GROUP,
)
BATCH_RANGE = Option(
    "read.batchOptimization.maxRangeSize",
    optional(SIZE),
    None,
    "Maximum bytes of one combined request. Defaults to the profile's value.",
    _GROUP,
)
BATCH_GAP = Option(
    "read.batchOptimization.gapTolerance",
    optional(SIZE),
    None,
    "Maximum bytes between two reads that are combined. Defaults to the profile's value.",
    _GROUP,
)
BATCH_LEAST = Option(
    "read.batchOptimization.minDocsForOptimization",
    optional(integer(0)),
    None,
    "Minimum reads per fetch to combine reads over 64K apart. Defaults to the profile's value.",
    _GROUP,
)
BATCH_CONCURRENCY = Option(
    "read.batchOptimization.maxConcurrentPrefetch",
    optional(integer(1)),
    None,
    "Concurrent requests per fetch. Defaults to the profile's value.",
    _GROUP,
)

OPTIONS: tuple[Option[Any], ...] = tuple(
    value for value in tuple(globals().values()) if isinstance(value, Option)
)
