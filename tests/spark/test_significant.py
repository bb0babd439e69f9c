"""`indextables_significant_terms`: the typical words of a search, in statements."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException

import indextables

pytestmark = pytest.mark.spark
CALL = "indextables_significant_terms"
WORDS = ["disk full on node", "disk slow", "cart opened", "cart closed by user"]


@pytest.fixture(scope="module")
def path(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("significant") / "table")
    rows = spark.range(200).selectExpr(
        "id",
        "if(id % 2 = 0, 'ERROR', 'INFO') AS level",
        f"element_at(split('{'|'.join(WORDS)}', '[|]'), cast(id % 7 % 4 + 1 AS int)) AS message",
    )
    writer = rows.repartition(3).write.format("indextables")
    writer.option("indexing.typemap.message", "text").save(path)
    return path


def ask(spark: Any, *arguments: str) -> list[dict[str, Any]]:
    rows = spark.sql(f"SELECT * FROM {CALL}({', '.join(arguments)})").collect()
    return [row.asDict() for row in rows]


def test_the_words_are_those_of_plain_python(spark: Any, path: str) -> None:
    table = indextables.open(path)
    where, query = "level = 'ERROR'", "message:disk"
    found = ask(spark, f"'{path}'", "'message'", f"'{query}'")
    assert found == table.significant_terms("message", query).to_pylist()
    assert {"disk", "full"} <= {each["word"] for each in found}
    few = ask(spark, f"'{path}'", "'message'", f"'{query}'", "1 + 1")
    assert few == found[:2]
    chosen = ask(spark, f"'{path}'", "'message'", "NULL", "3L", f'"{where}"')
    assert chosen == table.significant_terms("message", where=where, limit=3).to_pylist()


def test_tables_are_named_as_elsewhere(spark: Any, path: str) -> None:
    found = ask(spark, f"'{path}'", "'message'", "'full'")
    assert "node" in {each["word"] for each in found}
    spark.sql(f"CREATE TABLE typical_words USING indextables LOCATION '{path}'")
    reader = spark.read.format("indextables")
    # before the rows were written
    reader.option("versionAsOf", 0).load(path).createOrReplaceTempView("typical_view")
    assert ask(spark, "'typical_view'", "'message'", "'full'") == []
    frame = reader.option("versionAsOf", 1).load(path)
    frame.createOrReplaceTempView("typical_view")
    for name in ("typical_words", "default.typical_words", f"indextables.`{path}`", "typical_view"):
        assert ask(spark, f"'{name}'", "'message'", "'full'") == found
    frame.where("id < 10").createOrReplaceTempView("some_typical")
    with pytest.raises(PySparkException, match=r"SQL_SYNTAX.*some_typical"):
        ask(spark, "'some_typical'", "'message'", "'full'")


def test_the_result_is_a_table_like_others(spark: Any, path: str) -> None:
    statement = (
        f"SELECT t.word, m.n FROM {CALL}(:path, 'message', :query) t JOIN (SELECT 'node' AS word, "
        f"1 AS n) m ON t.word = m.word WHERE t.score > 0"
    )
    rows = spark.sql(statement, {"path": path, "query": "full"}).collect()
    assert [tuple(row) for row in rows] == [("node", 1)]
    assert spark.sql(f"SELECT count(*) FROM {CALL}('{path}', 'message', 'nosuch')").head()[0] == 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("'{path}', 'message'", "SQL_SYNTAX.*2 arguments"),
        ("'{path}', 'message', 'a', 0", "SQL_SYNTAX.*limit of 1"),
        ("'{path}', 'message', 'a', 'b'", "SQL_SYNTAX.*`limit`"),
        ("NULL, 'message', 'a'", "SQL_SYNTAX.*`table`"),
        ("'{path}', 'message', uuid()", "SQL_SYNTAX.*`search`"),
        ("'{path}', 'id', 'a'", "COLUMN_UNKNOWN.*message"),
        ("'{path}', 'message', '('", "QUERY_SYNTAX"),
        ("'{path}', 'message', 'a', 5, 'nope = 1'", "CONDITION_INVALID.*nope"),
        ("'{path}/none', 'message', 'a'", "TABLE_NOT_FOUND"),
    ],
)
def test_wrong_calls_are_refused(spark: Any, path: str, arguments: str, problem: str) -> None:
    with pytest.raises(PySparkException, match=problem):
        ask(spark, arguments.replace("{path}", path))
