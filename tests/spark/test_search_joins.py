"""Joins and EXISTS that search the rows of one side with queries of the other."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.spark

LOGS = [
    (1, "a", "timeout of payment"),
    (2, "a", "cart opened"),
    (2, "a", "cart opened"),
    (3, "b", "payment reset by peer"),
    (4, "b", None),
    (5, None, "timeout again"),
]
WATCH = [
    (10, "a", "timeout OR cart"),
    (11, "b", "NOT timeout"),
    (12, "a", "payment"),
    (12, "a", "payment"),
    (13, "b", None),
    (14, None, "*"),
]


@pytest.fixture(scope="module")
def path(spark, tmp_path_factory) -> str:
    path = str(tmp_path_factory.mktemp("joins") / "logs")
    logs = spark.createDataFrame(LOGS, "id int, level string, message string").repartition(2)
    logs.write.format("indextables").option("indexing.typemap.message", "text").save(path)
    spark.read.format("indextables").load(path).createOrReplaceTempView("joined_logs")
    watch = spark.createDataFrame(WATCH, "n int, level string, q string")
    watch.createOrReplaceTempView("watch")
    return path


@pytest.fixture(scope="module")
def hits(spark, path) -> set[tuple[int, int]]:
    """The pairs of row and query that match, answered by the index, query by query."""
    found = set()
    for n, _, query in WATCH:
        if query is not None:
            search = f"SELECT id FROM joined_logs WHERE message indexquery '{query}'"
            found |= {(row.id, n) for row in spark.sql(search).collect()}
    assert {n for _, n in found} == {10, 11, 12, 14}
    return found


def _answer(spark, statement: str) -> list[tuple]:
    return sorted((tuple(row) for row in spark.sql(statement).collect()), key=str)


@pytest.mark.parametrize("same_level", [False, True])
@pytest.mark.parametrize("local", ["true", "false"])
def test_rows_are_kept_and_paired_as_the_index_finds_them(spark, hits, same_level, local):
    spark.conf.set("spark.indextables.read.local.enabled", local)
    pairs = [
        (log[0], watch[0])
        for log in LOGS
        for watch in WATCH
        if (log[0], watch[0]) in hits and (not same_level or log[1] == watch[1] is not None)
    ]
    matched, named = {i for i, _ in pairs}, {n for _, n in pairs}
    kept = sorted(log[0] for log in LOGS if log[0] in matched)
    left = sorted(log[0] for log in LOGS if log[0] not in matched)
    unnamed = [(None, watch[0]) for watch in WATCH if watch[0] not in named]
    on = "message indexquery q" + (" AND l.level = w.level" if same_level else "")
    tables = "joined_logs l {} JOIN watch w ON " + on
    exists = f"EXISTS (SELECT 1 FROM watch w WHERE {on})"
    for statement, want in (
        (f"SELECT id, n FROM {tables.format('')}", pairs),
        (f"SELECT id, n FROM {tables.format('LEFT')}", [*pairs, *((i, None) for i in left)]),
        (f"SELECT id, n FROM {tables.format('RIGHT')}", [*pairs, *unnamed]),
        (
            f"SELECT id, n FROM {tables.format('FULL')}",
            [*pairs, *((i, None) for i in left), *unnamed],
        ),
        (f"SELECT id FROM {tables.format('LEFT SEMI')}", [(i,) for i in kept]),
        (f"SELECT id FROM {tables.format('LEFT ANTI')}", [(i,) for i in left]),
        (f"SELECT id FROM joined_logs l WHERE {exists} AND id > 1", [(i,) for i in kept if i > 1]),
        (f"SELECT id FROM joined_logs l WHERE NOT {exists}", [(i,) for i in left]),
        (
            f"SELECT id, {exists} FROM joined_logs l",
            [*((i, True) for i in kept), *((i, False) for i in left)],
        ),
        (
            f"SELECT id FROM joined_logs l WHERE {exists} OR id IN (4, 5)",
            [(log[0],) for log in LOGS if log[0] in matched | {4, 5}],
        ),
        (
            f"SELECT id FROM joined_logs l WHERE 12 IN (SELECT n FROM watch w WHERE {on})",
            [(log[0],) for log in LOGS if (log[0], 12) in pairs],
        ),
        (
            f"SELECT n FROM watch w WHERE EXISTS (SELECT 1 FROM joined_logs l WHERE {on})",
            [(watch[0],) for watch in WATCH if watch[0] in named],
        ),
    ):
        assert _answer(spark, statement) == sorted(want, key=str), statement
    spark.conf.unset("spark.indextables.read.local.enabled")


def test_columns_of_rows_without_a_match_are_null(spark, path):
    statement = (
        "SELECT l.*, w.* FROM joined_logs l LEFT JOIN watch w "
        "ON n = 12 AND message indexquery q WHERE id <> 1"
    )
    want = [(*log, None, None, None) for log in LOGS if log[0] not in (1, 3)]
    assert _answer(spark, statement) == sorted([*want, *2 * [(*LOGS[3], *WATCH[2])]], key=str)


def test_nothing_is_lost_when_the_other_side_is_empty(spark, path):
    none = "(SELECT * FROM watch WHERE n < 0) w ON message indexquery q"
    assert len(_answer(spark, f"SELECT * FROM joined_logs LEFT JOIN {none}")) == len(LOGS)
    assert len(_answer(spark, f"SELECT * FROM joined_logs LEFT ANTI JOIN {none}")) == len(LOGS)
    assert _answer(spark, f"SELECT * FROM joined_logs LEFT SEMI JOIN {none}") == []
    assert len(_answer(spark, f"SELECT * FROM joined_logs FULL JOIN {none}")) == len(LOGS)
    right = "FROM joined_logs RIGHT JOIN watch ON message indexquery q AND id < 0"
    assert _answer(spark, f"SELECT id, n {right}") == sorted((None, row[0]) for row in WATCH)


@pytest.fixture
def copied(spark, path, table_path) -> str:
    writer = spark.table("joined_logs").write.format("indextables")
    writer.option("indexing.typemap.message", "text").save(table_path)
    return f"indextables.`{table_path}`"


def test_rows_that_a_query_finds_are_deleted(spark, copied):
    spark.sql(
        f"DELETE FROM {copied} l WHERE EXISTS "
        "(SELECT 1 FROM watch w WHERE l.message indexquery w.q AND n = 10)"
    )
    assert sorted(row.id for row in spark.table(copied).collect()) == [3, 4]


def test_rows_are_merged_with_the_queries_that_find_them(spark, copied):
    spark.sql(
        f"MERGE INTO {copied} l USING (SELECT * FROM watch WHERE n IN (10, 13)) w "
        "ON l.message indexquery w.q WHEN MATCHED THEN UPDATE SET level = concat(w.level, n) "
        "WHEN NOT MATCHED THEN INSERT (id, level, message) VALUES (n, w.level, 'new') "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET level = 'unseen'"
    )
    assert _answer(spark, f"SELECT id, level FROM {copied}") == [
        (1, "a10"), (13, "b"), (2, "a10"), (2, "a10"), (3, "unseen"), (4, "unseen"), (5, "a10")
    ]  # fmt: skip
