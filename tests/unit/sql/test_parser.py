from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from tests.unit.sql.strategies import commands

from indextables.commands.grammar import Span
from indextables.commands.registry import BY_COMMAND, RULES
from indextables.commands.target import Target
from indextables.errors import SqlSyntaxError
from indextables.sql.keywords import BORROWED, PREFIXES, is_command
from indextables.sql.parser import parse
from indextables.sql.render import render, usage

# one example of each command
c = SimpleNamespace(**{command.__name__: command for command in BY_COMMAND})
PATH = Target(path="/data/logs")


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("MERGE SPLITS '/data/logs'", c.MergeSplits(PATH)),
        (
            (
                "merge splits db.logs where year = 2024 and msg = 'TARGET SIZE' target size 100M "
                "max dest splits 3 max source splits per merge 20 precommit;;"
            ),
            c.MergeSplits(
                Target(name=("db", "logs")),
                "year = 2024 and msg = 'TARGET SIZE'",
                100 << 20,
                3,
                20,
                precommit=True,
            ),
        ),
        ("MERGE SPLITS t TARGET SIZE '2G'", c.MergeSplits(Target(name=("t",)), None, 2 << 30)),
        ("MERGE SPLITS t TARGET SIZE 1048576", c.MergeSplits(Target(name=("t",)), None, 1 << 20)),
        ("PURGE INDEXTABLE '/data/logs'", c.Purge(PATH)),
        (
            "PURGE INDEXTABLE t OLDER THAN 7 DAYS TRANSACTION LOG RETENTION 36 HOURS DRY RUN",
            c.Purge(Target(name=("t",)), Span(7, "DAYS"), Span(36, "HOURS"), dry_run=True),
        ),
        (
            "DROP TANTIVY4SPARK PARTITIONS FROM `my db`.`t``x` WHERE (a = 1)",
            c.DropPartitions(Target(name=("my db", "t`x")), "(a = 1)"),
        ),
        (
            "REPAIR INDEXFILES TRANSACTION LOG '/a/_transaction_log' AT LOCATION \"/b\"",
            c.Repair("/a/_transaction_log", "/b"),
        ),
        ("REPAIR INDEXFILES TRANSACTION LOG '/a'", c.Repair("/a")),
        ("FLUSH INDEXTABLES SEARCHER CACHE", c.FlushSearcherCache()),
        ("FLUSH INDEXTABLES DISK CACHE", c.FlushDiskCache()),
        ("FLUSH INDEXTABLES DATA SKIPPING STATS", c.FlushDataSkippingStats()),
        ("INVALIDATE INDEXTABLES DATA SKIPPING CACHE", c.InvalidateDataSkippingCache()),
        ("INVALIDATE INDEXTABLES TRANSACTION LOG CACHE", c.InvalidateLogCache()),
        (
            "INVALIDATE INDEXTABLES TRANSACTION LOG CACHE FOR '/data/logs'",
            c.InvalidateLogCache(PATH),
        ),
        (
            "DESCRIBE INDEXTABLES TRANSACTION LOG '/data/logs' INCLUDE ALL",
            c.DescribeTransactionLog(PATH, include_all=True),
        ),
        ("desc indextables environment", c.DescribeEnvironment()),
        ("DESCRIBE INDEXTABLES STATE state", c.DescribeState(Target(name=("state",)))),
        (
            "DESCRIBE INDEXTABLES COMPONENT SIZES '/data/logs' WHERE d > '2024-01-01'",
            c.DescribeComponentSizes(PATH, "d > '2024-01-01'"),
        ),
        ("DESCRIBE INDEXTABLES HISTORY t LIMIT 5", c.DescribeHistory(Target(name=("t",)), 5)),
        ("DESCRIBE INDEXTABLES DETAIL '/data/logs'", c.DescribeDetail(PATH)),
        (
            (
                "PREWARM INDEXTABLES CACHE t FOR SEGMENTS (TERM, doc_store) ON FIELDS (a, `b c`) "
                "WITH PERWORKER PARALLELISM OF 4 WHERE x = 1 ASYNC MODE"
            ),
            c.PrewarmCache(
                Target(name=("t",)),
                ("TERM", "doc_store"),
                ("a", "b c"),
                4,
                "x = 1",
                asynchronous=True,
            ),
        ),
        ("WAIT FOR INDEXTABLES PREWARM JOBS", c.WaitForPrewarmJobs()),
        (
            "WAIT FOR INDEXTABLES PREWARM JOBS JOB 'j1' TIMEOUT 60",
            c.WaitForPrewarmJobs(None, "j1", 60),
        ),
        ("CHECKPOINT INDEXTABLES '/data/logs'", c.Checkpoint(PATH)),
        ("COMPACT INDEXTABLES '/data/logs'", c.Compact(PATH)),
        (
            "TRUNCATE INDEXTABLES TIME TRAVEL t DRY RUN",
            c.TruncateTimeTravel(Target(name=("t",)), dry_run=True),
        ),
        ("RESTORE INDEXTABLES t TO VERSION AS OF 3", c.Restore(Target(name=("t",)), 3)),
        (
            "RESTORE INDEXTABLES t TO TIMESTAMP AS OF '2026-01-01'",
            c.Restore(Target(name=("t",)), None, "2026-01-01"),
        ),
        (
            (
                "BUILD INDEXTABLES COMPANION FOR DELTA 's3://a' CATALOG 'u' TYPE 'rest' "
                "INDEXING MODES ('a':'text', 'b':'ip') FASTFIELDS MODE HYBRID "
                "HASHED FASTFIELDS EXCLUDE ('z') TARGET INPUT SIZE 1G FROM VERSION 7 "
                "WHERE d = 1 INVALIDATE ALL PARTITIONS TABLE ROOTS ('r'='s3://b') "
                "AT LOCATION 's3://c' WITH STREAMING POLL INTERVAL 30 SECONDS"
            ),
            c.BuildCompanion(
                "DELTA",
                "s3://a",
                "s3://c",
                catalog="u",
                catalog_type="rest",
                indexing_modes=(("a", "text"), ("b", "ip")),
                fastfields_mode="HYBRID",
                hashed_exclude=("z",),
                target_input_size=1 << 30,
                from_version=7,
                where="d = 1",
                invalidate_all=True,
                table_roots=(("r", "s3://b"),),
                poll_interval=Span(30, "SECONDS"),
            ),
        ),
        (
            "SET INDEXTABLES TABLE ROOT 'eu' = 's3://x' AT '/data/logs'",
            c.SetTableRoot("eu", "s3://x", PATH),
        ),
        (
            "UNSET INDEXTABLES TABLE ROOT 'eu' AT '/data/logs'",
            c.UnsetTableRoot("eu", PATH),
        ),
        ("DESCRIBE INDEXTABLES PROFILER", c.DescribeProfiler()),
        ("DESCRIBE INDEXTABLES PROFILER CACHE", c.DescribeProfilerCache()),
        ("RESET INDEXTABLES PROFILER", c.ResetProfiler()),
        (
            "-- why\n/* what */ CHECKPOINT /* it */ TANTIVY4SPARK 'it\\'s' -- done",
            c.Checkpoint(Target(path="it's")),
        ),
    ],
)
def test_text_becomes_command(text, command):
    assert parse(text) == command
    assert is_command(text)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("describe history t limit 5", c.DescribeHistory(Target(name=("t",)), 5)),
        ("DESC DETAIL db.t", c.DescribeDetail(Target(name=("db", "t")))),
        ("RESTORE TABLE t TO VERSION AS OF 3", c.Restore(Target(name=("t",)), 3)),
        (
            "RESTORE TABLE t TO TIMESTAMP AS OF '2026-01-01'",
            c.Restore(Target(name=("t",)), None, "2026-01-01"),
        ),
        ("VACUUM '/data/logs'", c.Purge(PATH)),
        (
            "VACUUM t RETAIN 200 HOURS DRY RUN",
            c.Purge(Target(name=("t",)), Span(200, "HOURS"), dry_run=True),
        ),
        ("OPTIMIZE t WHERE day > '2026'", c.MergeSplits(Target(name=("t",)), "day > '2026'")),
    ],
)
def test_words_of_another_format_are_understood_but_not_claimed(text, command):
    assert parse(text) == command
    assert not is_command(text)


@given(commands())
@hypothesis_settings(max_examples=400)
def test_rendered_command_parses_to_itself(command):
    text = render(command)
    assert parse(text) == command
    assert render(parse(text)) == text
    assert is_command(text)


@pytest.mark.parametrize(
    ("text", "problem", "line", "column"),
    [
        ("MERGE", "expected `SPLITS`, found the end", 1, 6),
        ("PURGE INDEXTABLES 't'", "expected `INDEXTABLE`, found `INDEXTABLES`", 1, 7),
        ("PURGE INDEXTABLE", "expected a path in quotes or a table name, found the end", 1, 17),
        ("PURGE INDEXTABLE t OLDER THAN soon", "expected an integer, found `soon`", 1, 31),
        ("PURGE INDEXTABLE t OLDER THAN 3 WEEKS", "expected DAYS or HOURS, found `WEEKS`", 1, 33),
        ("PURGE INDEXTABLE t DRY", "`DRY` is not expected here", 1, 20),
        ("PURGE INDEXTABLE t DRY RUN OLDER THAN 3 DAYS", "`OLDER` is not expected here", 1, 28),
        ("DROP INDEXTABLES PARTITIONS FROM t", "expected `WHERE`, found the end", 1, 35),
        ("DROP INDEXTABLES PARTITIONS FROM t WHERE", "expected a predicate", 1, 41),
        ("MERGE SPLITS t WHERE TARGET SIZE 5M", "expected a predicate, found `TARGET`", 1, 22),
        ("CHECKPOINT INDEXTABLES\n  'open", "this quote or comment has no end", 2, 3),
        ("CHECKPOINT INDEXTABLES ''", "the path is empty", 1, 24),
        ("CHECKPOINT INDEXTABLES a.", "expected a path in quotes or a table name", 1, 26),
        ("DESCRIBE INDEXTABLES", "expected `COMPONENT` or `DATA` or", 1, 21),
        ("REPAIR INDEXFILES TRANSACTION LOG t", "expected a text in quotes, found `t`", 1, 35),
        ("SET INDEXTABLES TABLE ROOT 'a' 'b' AT t", "expected `=`, found `'b'`", 1, 32),
        ("PREWARM INDEXTABLES CACHE t ON FIELDS ()", "expected a name, found `)`", 1, 40),
        ("WAIT FOR INDEXTABLES PREWARM JOBS t JOB x", "expected a text in quotes", 1, 41),
        ("nonsense", "expected `BUILD` or `CHECKPOINT`", 1, 1),
    ],
)
def test_syntax_error_points_at_the_place(text, problem, line, column):
    with pytest.raises(SqlSyntaxError) as caught:
        parse(text)
    assert caught.value.code == "SQL_SYNTAX"
    assert problem in str(caught.value)
    assert f"(line {line}, column {column})" in str(caught.value)


def test_syntax_error_shows_how_the_command_is_written():
    with pytest.raises(SqlSyntaxError, match=re.escape("usage: TRUNCATE INDEXTABLES TIME TRAVEL")):
        parse("TRUNCATE INDEXTABLES TIME TRAVEL t NOW")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("MERGE SPLITS", "MERGE SPLITS requires either a path or table identifier"),
        ("MERGE SPLITS WHERE a = 1", "MERGE SPLITS requires either a path or table identifier"),
        ("MERGE SPLITS a.b.c", "Invalid table identifier: a.b.c"),
        ("MERGE SPLITS t TARGET SIZE 5K", "Invalid target size: 5K"),
        ("MERGE SPLITS t TARGET SIZE '1.5G'", "Invalid target size: 1.5G"),
        ("MERGE SPLITS t TARGET SIZE 1000", "Invalid target size: 1000 is less than 1 MB"),
        ("MERGE SPLITS t MAX DEST SPLITS 0", "MAX DEST SPLITS must be positive, got: 0"),
        ("MERGE SPLITS t MAX SOURCE SPLITS PER MERGE 1", "must be at least 2, got: 1"),
        ("DROP INDEXTABLES PARTITIONS FROM a.b.c WHERE x = 1", "Invalid table identifier: a.b.c"),
        ("PREWARM INDEXTABLES CACHE t FOR SEGMENTS (NOPE)", "unknown segment `NOPE`"),
        ("PREWARM INDEXTABLES CACHE t WITH PERWORKER PARALLELISM OF 0", "must be positive"),
        ("WAIT FOR INDEXTABLES PREWARM JOBS TIMEOUT 0", "TIMEOUT must be positive"),
        ("RESTORE INDEXTABLES t", "RESTORE needs TO VERSION AS OF or TO TIMESTAMP AS OF"),
        ("SET INDEXTABLES TABLE ROOT 'a b' = 'x' AT t", "not a name of a table root"),
        ("SET INDEXTABLES TABLE ROOT 'a' = ' ' AT t", "must not be empty"),
        (
            "BUILD INDEXTABLES COMPANION FOR PARQUET 'a' FROM VERSION 1 AT LOCATION 'b'",
            "FROM VERSION is only for DELTA",
        ),
        (
            (
                "BUILD INDEXTABLES COMPANION FOR DELTA 'a' INCLUDE COLUMNS ('x') "
                "EXCLUDE COLUMNS ('y') AT LOCATION 'b'"
            ),
            "exclude each other",
        ),
        (
            (
                "BUILD INDEXTABLES COMPANION FOR DELTA 'a' INDEXING MODES ('x':'text','X':'ip') "
                "AT LOCATION 'b'"
            ),
            "names a field twice",
        ),
    ],
)
def test_clause_that_means_nothing_is_refused(text, problem):
    with pytest.raises(SqlSyntaxError) as caught:
        parse(text)
    assert caught.value.code == "SQL_CLAUSE"
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE",
        "DESCRIBE indextables",
        "DESCRIBE indextables message",
        "DESCRIBE TABLE EXTENDED t",
        "DROP TABLE indextables",
        "SET spark.x = 1",
        "RESET",
        "REPAIR TABLE t",
        "TRUNCATE TABLE t",
        "'MERGE SPLITS t'",
        "-- MERGE SPLITS t",
        "",
        "/* open",
    ],
)
def test_statements_of_spark_are_left_alone(text):
    assert not is_command(text)


def test_every_command_has_output_columns_and_usage():
    assert all(rule.output.names for rule in RULES)
    for rule in RULES:
        assert usage(rule).startswith(rule.start.split("|")[0].split()[0])
        assert rule.command.__doc__


def test_output_columns_are_those_of_the_existing_implementation():
    log = BY_COMMAND[c.DescribeTransactionLog].output
    assert (len(log.names), log.names[0], log.names[-1]) == (47, "version", "is_checkpoint")
    metrics = BY_COMMAND[c.Purge].output.fields[1].type
    assert [(f.name, f.type.name) for f in metrics.fields][-2:] == [
        ("duration_ms", "long"),
        ("message", "string"),
    ]
    assert BY_COMMAND[c.MergeSplits].output.names == [
        "table_path",
        "metrics",
        "temp_directory_path",
        "heap_size_bytes",
    ]


def test_keyword_table_is_small_and_plain():
    assert len(PREFIXES) < 50
    assert not any(is_command(" ".join(words[0] for words in prefix) + " t") for prefix in BORROWED)
    assert all(word == word.upper() for prefix in PREFIXES for words in prefix for word in words)
