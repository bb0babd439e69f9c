"""The grammar of all commands as data: parser, renderer, usage lines and the keyword table use it.

A rule is a row of parts in their fixed order. `IX` stands for either product keyword.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.sql import cache_commands as cache
from indextables.sql import commands as c
from indextables.sql import companion_commands as companion
from indextables.sql.values import (
    ListValue,
    NumberValue,
    PredicateValue,
    SizeValue,
    SpanValue,
    TargetValue,
    TextValue,
    WordValue,
)

if TYPE_CHECKING:
    from indextables.sql.cursor import Places
    from indextables.sql.values import Value

PRODUCT = ("INDEXTABLES", "TANTIVY4SPARK")
_DESCRIBE = "DESCRIBE|DESC IX"


def words_of(text: str) -> Places:
    """`A|B IX` as places with alternatives."""
    return tuple(PRODUCT if word == "IX" else tuple(word.split("|")) for word in text.split())


def shown_words(text: str) -> str:
    """The words with the first of each alternatives."""
    return " ".join(places[0] for places in words_of(text))


@dataclass(frozen=True)
class Words:
    """Keywords that must stand here."""

    text: str


@dataclass(frozen=True)
class Part:
    """A value that must stand here."""

    field: str
    value: Value


@dataclass(frozen=True)
class MaybeTarget:
    """A target that may be left out."""

    field: str
    value: TargetValue


@dataclass(frozen=True)
class Clause:
    """Keywords and a value that may be left out together."""

    text: str
    field: str
    value: Value


@dataclass(frozen=True)
class Flag:
    """Keywords that may be left out."""

    text: str
    field: str


AnyPart = Words | Part | MaybeTarget | Clause | Flag


@dataclass(frozen=True)
class Rule:
    """One command: its keywords and the parts behind them."""

    command: type[c.Command]
    start: str
    parts: tuple[AnyPart, ...] = ()


_TARGET = Part("target", TargetValue())
_WHERE = Clause("WHERE", "where", PredicateValue())
_NUMBER = NumberValue()
_TEXT = TextValue()
_TEXTS = ListValue()
_RETENTION = SpanValue(("DAYS", "HOURS"))

_TABLE_RULES = (
    Rule(
        c.MergeSplits,
        "MERGE SPLITS",
        (
            MaybeTarget("target", TargetValue()),
            _WHERE,
            Clause("TARGET SIZE", "target_size", SizeValue()),
            Clause("MAX DEST SPLITS", "max_dest_splits", _NUMBER),
            Clause("MAX SOURCE SPLITS PER MERGE", "max_source_splits", _NUMBER),
            Flag("PRECOMMIT", "precommit"),
        ),
    ),
    Rule(
        c.Purge,
        "PURGE INDEXTABLE",
        (
            _TARGET,
            Clause("OLDER THAN", "older_than", _RETENTION),
            Clause("TRANSACTION LOG RETENTION", "log_retention", _RETENTION),
            Flag("DRY RUN", "dry_run"),
        ),
    ),
    Rule(
        c.DropPartitions,
        "DROP IX PARTITIONS FROM",
        (_TARGET, Words("WHERE"), Part("where", PredicateValue())),
    ),
    Rule(
        c.Repair,
        "REPAIR INDEXFILES TRANSACTION LOG",
        (Part("source", _TEXT), Clause("AT LOCATION", "destination", _TEXT)),
    ),
    Rule(
        c.InvalidateLogCache,
        "INVALIDATE IX TRANSACTION LOG CACHE",
        (Clause("FOR", "target", TargetValue()),),
    ),
    Rule(
        c.DescribeTransactionLog,
        f"{_DESCRIBE} TRANSACTION LOG",
        (_TARGET, Flag("INCLUDE ALL", "include_all")),
    ),
    Rule(c.DescribeEnvironment, f"{_DESCRIBE} ENVIRONMENT"),
    Rule(c.DescribeState, f"{_DESCRIBE} STATE", (_TARGET,)),
    Rule(c.DescribeComponentSizes, f"{_DESCRIBE} COMPONENT SIZES", (_TARGET, _WHERE)),
    Rule(c.DescribeHistory, f"{_DESCRIBE} HISTORY", (_TARGET, Clause("LIMIT", "limit", _NUMBER))),
    Rule(c.DescribeDetail, f"{_DESCRIBE} DETAIL", (_TARGET,)),
    Rule(c.DescribeMergeJobs, f"{_DESCRIBE} MERGE JOBS"),
    Rule(c.Checkpoint, "CHECKPOINT IX", (_TARGET,)),
    Rule(c.Compact, "COMPACT IX", (_TARGET,)),
    Rule(c.TruncateTimeTravel, "TRUNCATE IX TIME TRAVEL", (_TARGET, Flag("DRY RUN", "dry_run"))),
    Rule(
        c.Restore,
        "RESTORE IX",
        (
            _TARGET,
            Clause("TO VERSION AS OF", "version", _NUMBER),
            Clause("TO TIMESTAMP AS OF", "timestamp", _TEXT),
        ),
    ),
)

_CACHE_RULES = (
    Rule(cache.FlushSearcherCache, "FLUSH IX SEARCHER CACHE"),
    Rule(cache.FlushDiskCache, "FLUSH IX DISK CACHE"),
    Rule(cache.FlushDataSkippingStats, "FLUSH IX DATA SKIPPING STATS"),
    Rule(cache.InvalidateDataSkippingCache, "INVALIDATE IX DATA SKIPPING CACHE"),
    Rule(cache.DescribeDiskCache, f"{_DESCRIBE} DISK CACHE"),
    Rule(cache.DescribeStorageStats, f"{_DESCRIBE} STORAGE STATS"),
    Rule(cache.DescribeDataSkippingStats, f"{_DESCRIBE} DATA SKIPPING STATS"),
    Rule(
        cache.PrewarmCache,
        "PREWARM IX CACHE",
        (
            _TARGET,
            Clause("FOR SEGMENTS", "segments", ListValue(names=True)),
            Clause("ON FIELDS", "fields", ListValue(names=True)),
            Clause("WITH PERWORKER PARALLELISM OF", "parallelism", _NUMBER),
            _WHERE,
            Flag("ASYNC MODE", "asynchronous"),
        ),
    ),
    Rule(cache.DescribePrewarmJobs, f"{_DESCRIBE} PREWARM JOBS"),
    Rule(
        cache.WaitForPrewarmJobs,
        "WAIT FOR IX PREWARM JOBS",
        (
            MaybeTarget("target", TargetValue()),
            Clause("JOB", "job", _TEXT),
            Clause("TIMEOUT", "timeout", _NUMBER),
        ),
    ),
    Rule(cache.EnableProfiler, "ENABLE IX PROFILER"),
    Rule(cache.DisableProfiler, "DISABLE IX PROFILER"),
    Rule(cache.DescribeProfilerCache, f"{_DESCRIBE} PROFILER CACHE"),
    Rule(cache.DescribeProfiler, f"{_DESCRIBE} PROFILER"),
    Rule(cache.ResetProfilerCache, "RESET IX PROFILER CACHE"),
    Rule(cache.ResetProfiler, "RESET IX PROFILER"),
)

_COMPANION_RULES = (
    Rule(
        companion.BuildCompanion,
        "BUILD IX COMPANION FOR",
        (
            Part("source_format", WordValue(("DELTA", "PARQUET", "ICEBERG"))),
            Part("source", _TEXT),
            Clause("SCHEMA SOURCE", "schema_source", _TEXT),
            Clause("CATALOG", "catalog", _TEXT),
            Clause("TYPE", "catalog_type", _TEXT),
            Clause("WAREHOUSE", "warehouse", _TEXT),
            Clause("INCLUDE COLUMNS", "include_columns", _TEXTS),
            Clause("EXCLUDE COLUMNS", "exclude_columns", _TEXTS),
            Clause("INDEXING MODES", "indexing_modes", ListValue(separator=":")),
            Clause(
                "FASTFIELDS MODE",
                "fastfields_mode",
                WordValue(("HYBRID", "DISABLED", "PARQUET_ONLY")),
            ),
            Clause("HASHED FASTFIELDS INCLUDE", "hashed_include", _TEXTS),
            Clause("HASHED FASTFIELDS EXCLUDE", "hashed_exclude", _TEXTS),
            Clause("TARGET INPUT SIZE", "target_input_size", SizeValue("target input size")),
            Clause("WRITER HEAP SIZE", "writer_heap_size", SizeValue("writer heap size")),
            Clause("FROM VERSION", "from_version", _NUMBER),
            Clause("FROM SNAPSHOT", "from_snapshot", _NUMBER),
            _WHERE,
            Flag("INVALIDATE ALL PARTITIONS", "invalidate_all"),
            Clause("TABLE ROOTS", "table_roots", ListValue(separator="=")),
            Words("AT LOCATION"),
            Part("destination", _TEXT),
            Flag("DRY RUN", "dry_run"),
            Clause(
                "WITH STREAMING POLL INTERVAL",
                "poll_interval",
                SpanValue(("SECONDS", "MINUTES")),
            ),
        ),
    ),
    Rule(
        companion.SetTableRoot,
        "SET IX TABLE ROOT",
        (Part("name", _TEXT), Words("="), Part("path", _TEXT), Words("AT"), _TARGET),
    ),
    Rule(
        companion.UnsetTableRoot,
        "UNSET IX TABLE ROOT",
        (Part("name", _TEXT), Words("AT"), _TARGET),
    ),
    Rule(companion.DescribeTableRoots, f"{_DESCRIBE} TABLE ROOTS AT", (_TARGET,)),
)

# a rule stands before the ones whose words it begins with: the longest is tried first
RULES: tuple[Rule, ...] = (*_TABLE_RULES, *_CACHE_RULES, *_COMPANION_RULES)
BY_COMMAND = {rule.command: rule for rule in RULES}


def usage(rule: Rule) -> str:
    """The rule as one line for people."""
    shown = [shown_words(rule.start)]
    for part in rule.parts:
        if isinstance(part, Words):
            shown.append(shown_words(part.text))
        elif isinstance(part, Part):
            shown.append(part.value.usage)
        elif isinstance(part, MaybeTarget):
            shown.append(f"[{part.value.usage}]")
        elif isinstance(part, Clause):
            shown.append(f"[{shown_words(part.text)} {part.value.usage}]")
        else:
            shown.append(f"[{shown_words(part.text)}]")
    return " ".join(shown)
