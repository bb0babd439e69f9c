"""A search means the same anywhere in a statement: pushed down, or matched row by row."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

pytestmark = pytest.mark.spark

QUERIES = "(SELECT * FROM VALUES ('timeout'), ('opened'), ('nothing') AS v(q))"


@pytest.fixture(scope="module")
def views(spark, tmp_path_factory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("expression")
    frame = spark.range(0, 200, 1, 2).selectExpr(
        "id",
        "CASE WHEN id % 3 = 0 THEN 'timeout of payment' ELSE 'cart opened' END AS message",
        "concat('host', id % 5) AS host",
        "date_add(DATE'2026-01-01', int(id % 2)) AS day",
    )
    path = str(folder / "table")
    frame.write.format("indextables").option("indexing.typemap.message", "text").save(path)
    spark.read.format("indextables").load(path).createOrReplaceTempView("searched")
    frame.createOrReplaceTempView("unindexed")
    return "searched", "unindexed"


@pytest.mark.parametrize(
    ("statement", "want"),
    [
        ("SELECT sum(int(message indexquery 'timeout')) FROM {}", [(67,)]),
        ("SELECT sum(CASE WHEN message indexquery 'timeout' THEN 1 END) FROM {}", [(67,)]),
        ("SELECT count(*) FILTER (WHERE message indexquery 'cart') FROM {}", [(133,)]),
        (("SELECT count(*) FROM (SELECT max(message) AS m FROM {} GROUP BY host HAVING "
         "m indexquery 'timeout')"), [(5,)]),
        ("SELECT count(*) FROM {} WHERE message indexquery 'timeout' OR rand() > 2", [(67,)]),
        ("SELECT count(*) FROM {} WHERE NOT message indexquery 'timeout' OR rand() > 2", [(133,)]),
        ("SELECT count(*) FROM {} WHERE message indexquery 'host:host1 AND timeout' OR rand() > 2",
         [(13,)]),
        ((f"SELECT q, count(*) FROM {{}} t JOIN {QUERIES} ON t.message indexquery q GROUP BY q "
         "ORDER BY q"), [("opened", 133), ("timeout", 67)]),
        ("SELECT count(*) FROM {} WHERE message indexquery 'timeout'", [(67,)]),
    ],
)  # fmt: skip
def test_rows_of_a_table_and_other_rows_match_alike(spark, views, statement, want):
    for view in views:
        assert [tuple(row) for row in spark.sql(statement.format(view)).collect()] == want, view


@pytest.mark.parametrize(
    ("condition", "want"),
    [
        ("p indexquery 'a'", [1]),
        ("NOT p fieldmatch 'a'", [2, 3]),
        ("p indexquery 'a' AND m indexquery 'disk'", [1]),
        ("p indexquery '\"b c\"' OR m indexquery 'disk'", [1, 2]),
        ("p indexquery 'a' OR id = 3", [1, 3]),
    ],
)
def test_partition_columns_are_matched(spark, table_path, condition, want):
    rows = "VALUES (1, 'disk full', 'a'), (2, 'peer reset', 'b c'), (3, null, null) AS v(id, m, p)"
    writer = spark.sql(f"SELECT * FROM {rows}").write.format("indextables").partitionBy("p")
    writer.option("indexing.typemap.m", "text").save(table_path)
    found = spark.sql(f"SELECT id FROM indextables.`{table_path}` WHERE {condition}").collect()
    assert sorted(row.id for row in found) == want


@pytest.fixture(scope="module")
def nested(spark, tmp_path_factory) -> str:
    """A table with members of all kinds."""
    rows = """VALUES
        (1, named_struct('user', 'Ann Lee', 'n', 5), map('app', 'web server', 'env', 'prod'),
            array('a', 'b c'), array(named_struct('k', 'x'), null), '{"user": "ann"}', 'timeout'),
        (2, named_struct('user', 'Bob', 'n', 6), map('app', 'db'), array('b'),
            array(named_struct('k', 'y')), '{"user": "bob"}', 'ok'),
        (3, null, null, null, null, null, null)
        AS v(id, s, labels, tags, items, payload, message)"""
    path = str(tmp_path_factory.mktemp("nested") / "table")
    writer = spark.sql(f"SELECT * FROM {rows}").write.format("indextables")
    writer = writer.option("indexing.typemap.message", "text")
    writer.option("indexing.typemap.payload", "json").save(path)
    return f"indextables.`{path}`"


@pytest.mark.parametrize(
    ("condition", "want"),
    [
        ("tags indexquery 'b'", [2]),
        ("tags indexquery 'tags:*'", [1, 2]),
        ("NOT tags indexquery 'b'", [1, 3]),
        ("message indexquery 'tags:a'", [1]),
        ("message indexquery 'NOT tags:a'", [2, 3]),
        ("message indexquery 'ok OR s.n:[5 TO 5]'", [1, 2]),
        ("message indexquery 'labels.app:db'", [2]),
        ("message indexquery 'items.k:x OR items.k:y'", [1, 2]),
        ("s.user indexquery 'Bob'", [2]),
        ("s.user indexquery 'ann'", []),
        ("s.user indexquery '\"Ann Lee\"'", [1]),
        ("s.user fieldmatch 'Bob'", [2]),
        ("s['user'] indexquery 'B*'", [2]),
        ("s.n indexquery '>5'", [2]),
        ("labels['app'] indexquery 'db'", [2]),
        ("labels.app indexquery 'web'", []),
        ("labels['app'] indexquery '\"web server\" OR db'", [1, 2]),
        ("element_at(labels, 'app') indexquery 'db'", [2]),
        ("labels['none'] indexquery 'db'", []),
        ("tags[0] indexquery 'b'", [2]),
        ("items[0].k indexquery 'x'", [1]),
        ("items.k indexquery 'x'", [1]),
        ("upper(message) indexquery 'OK'", [2]),
        ("(message || ' yes') indexquery 'yes AND ok'", [2]),
    ],
)
def test_members_are_matched_as_the_index_finds_them(spark, nested, condition, want):
    where = f"SELECT id FROM {nested} WHERE {condition}"
    listed = (
        f"SELECT id FROM (SELECT id, {condition} AS hit FROM {nested}) WHERE rand() < 2 AND hit"
    )
    for statement in (where, where + " OR rand() > 2", listed):
        found = spark.sql(statement).collect()
        assert sorted(row.id for row in found) == want, statement


def test_members_of_other_rows_are_text(spark):
    rows = "VALUES (1, map('app', 'web server')), (2, map('app', 'db')) AS v(id, labels)"
    found = spark.sql(f"SELECT id FROM {rows} WHERE labels['app'] indexquery 'server'").collect()
    assert [row.id for row in found] == [1]


def test_paths_into_json_need_an_index(spark, nested):
    condition = "message indexquery 'payload.user:bob'"
    found = spark.sql(f"SELECT id FROM {nested} WHERE {condition}").collect()
    assert [row.id for row in found] == [2]
    with pytest.raises(PySparkException, match="SEARCH_NOT_PUSHED") as caught:
        spark.sql(f"SELECT count_if({condition}) FROM {nested}").collect()
    assert "Traceback" not in str(caught.value)


def test_cached_rows_are_matched(spark, views):
    kept = spark.table("searched").cache()
    try:
        assert kept.where("message indexquery 'timeout'").count() == 67
        assert kept.where("day indexquery '2026-01-02'").count() == 100
        # found before any task starts
        for wrong in ("message indexquery '(timeout'", "day indexquery 'timeout'"):
            with pytest.raises(PySparkException, match="QUERY_SYNTAX") as caught:
                kept.where(wrong).count()
            assert "Traceback" not in str(caught.value)
    finally:
        spark.catalog.clearCache()


def test_the_plan_says_who_answers(spark, views):
    explain = "EXPLAIN SELECT id FROM searched WHERE message indexquery 'timeout'"
    pushed = spark.sql(explain).first()[0]
    assert "pushed filters: [message indexquery 'timeout']" in pushed
    assert "on rows" not in pushed
    matched = spark.sql(explain + " OR rand() > 2").first()[0]
    assert "indexquery on rows" in matched


def test_scores_of_a_pushed_search_are_those_of_the_table(spark, views):
    statement = "SELECT id, _score FROM searched WHERE message indexquery 'timeout' ORDER BY "
    found = spark.sql(statement + "_score DESC, id LIMIT 3").collect()
    assert [row.id for row in found] == [0, 3, 6]
    assert len({row._score for row in found}) == 1
    assert found[0]._score > 0


@pytest.fixture(scope="module")
def many(spark, tmp_path_factory) -> str:
    """A view of a table with more columns than an unqualified search covers."""
    columns = ", ".join(f"'c' AS c{i}" for i in range(11))
    frame = spark.sql(
        f"SELECT id, m, word, tags, {columns} FROM VALUES "
        "(1, 'timeout', 'a b', array('slow')), (2, 'timeout', 'b', array('b')), "
        "(3, 'opened', 'b', array('b', 'slow')) AS v(id, m, word, tags)"
    )
    path = str(tmp_path_factory.mktemp("many") / "table")
    frame.coalesce(1).write.format("indextables").option("indexing.typemap.m", "text").save(path)
    spark.read.format("indextables").load(path).createOrReplaceTempView("many")
    return "many"


ALL = "WITH a AS (SELECT * FROM many) SELECT id FROM "
WORD = "m indexquery 'word:b'"


@pytest.mark.parametrize(
    ("statement", "want"),
    [
        (f"{ALL} a WHERE {WORD}", [2, 3]),
        (f"{ALL} (SELECT m AS x, * FROM a) WHERE x indexquery 'word:b AND timeout'", [2]),
        (f"{ALL} many WHERE id IN (SELECT id FROM a WHERE {WORD})", [2, 3]),
        (
            f"WITH a AS (SELECT id FROM many WHERE {WORD}) SELECT id FROM a JOIN a USING (id)",
            [2, 3],
        ),
    ],
)
def test_common_table_expressions_are_searched_by_the_index(spark, many, statement, want):
    assert sorted(row.id for row in spark.sql(statement).collect()) == want
    assert "on rows" not in spark.sql(f"EXPLAIN {statement}").first()[0]


@pytest.mark.parametrize(
    ("statement", "want"),
    [
        (f"{ALL} a WHERE ({WORD}) = (id > 0)", [2, 3]),
        (f"{ALL} many WHERE id IN (SELECT id FROM a WHERE ({WORD}) = (id > 0))", [2, 3]),
        (f"SELECT id FROM (SELECT * FROM many LIMIT 9) WHERE {WORD}", [2, 3]),
        (f"{ALL} (SELECT * FROM a ORDER BY id DESC LIMIT 2 OFFSET 1) WHERE {WORD}", [2]),
        ("SELECT id FROM many WHERE tags[0] indexquery 'slow'", [1]),
        ("SELECT id FROM many WHERE upper(m) indexquery 'opened'", [3]),
    ],
)
def test_rows_of_a_table_keep_its_analyzers(spark, many, statement, want):
    assert sorted(row.id for row in spark.sql(statement).collect()) == want


def test_phrases_without_positions_fail_alike(spark, table_path):
    frame = spark.sql(
        "SELECT * FROM VALUES (1, 'full disk', 'x'), (2, 'disk is full', 'full disk')"
    )
    writer = frame.toDF("id", "bare", "kept").write.format("indextables")
    writer = writer.options(
        **{"indexing.typemap.bare": "text", "indexing.indexrecordoption.bare": "basic"}
    )
    writer.option("indexing.typemap.kept", "text").save(table_path)
    where = f"SELECT id FROM indextables.`{table_path}` WHERE "
    for more in ("", " OR rand() > 2"):
        found = spark.sql(f"{where} * indexquery '\"full disk\"'{more}").collect()
        assert [row.id for row in found] == [2]
        assert spark.sql(f"{where} bare indexquery 'full disk'{more}").count() == 2
        with pytest.raises(PySparkException, match="field `bare` keeps no positions"):
            spark.sql(f"{where} bare indexquery '\"full disk\"'{more}").collect()
