"""The query language in statements: timestamps relative to now, and free text."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from indextables import IndexTable


@pytest.fixture(scope="module")
def path(spark, tmp_path_factory) -> str:
    folder = str(tmp_path_factory.mktemp("language") / "table")
    frame = spark.sql("""SELECT * FROM VALUES
        (1, 'disk full: node-7', current_timestamp() - INTERVAL 1 MINUTE),
        (2, 'C++ build (failed)', current_timestamp() - INTERVAL 2 HOURS),
        (3, 'disk slow', current_timestamp() - INTERVAL 3 DAYS) AS t (id, message, ts)""")
    frame.write.format("indextables").option("indexing.typemap.message", "text").save(folder)
    spark.read.format("indextables").load(folder).createOrReplaceTempView("typed")
    return folder


def ids(spark, condition: str) -> list[int]:
    return sorted(row.id for row in spark.sql(f"SELECT id FROM typed WHERE {condition}").collect())


@pytest.mark.parametrize("more", ["", " OR rand() < -1"], ids=["pushed", "matched"])
def test_now_is_the_time_of_the_statement(spark, path, more):
    assert ids(spark, f"message indexquery 'ts:[now-1h TO now]'{more}") == [1]
    assert ids(spark, f"message indexquery 'disk AND ts:>now-1w'{more}") == [1, 3]
    assert ids(spark, f"message indexquery 'ts:<now-1d'{more}") == [3]


@pytest.mark.parametrize("more", ["", " OR rand() < -1"], ids=["pushed", "matched"])
def test_textsearch_takes_what_a_person_types(spark, path, more):
    assert ids(spark, f"message TEXTSEARCH 'disk: (full'{more}") == [1]
    assert ids(spark, f"message TEXTSEARCH 'C++ (failed) -node'{more}") == [2]
    assert ids(spark, f"message TEXTSEARCH 'disk AND NOT slow'{more}") == [1]
    with pytest.raises(PySparkException, match="QUERY_SYNTAX"):
        ids(spark, f"message indexquery 'disk: (full'{more}")


def test_a_table_searches_what_a_person_types(spark, path):
    table = IndexTable.forPath(spark, path)
    found = table.search('disk: ("full', ["id"], mode="simple")
    assert [row.id for row in found.collect()] == [1]
    weighted = table.search("disk", ["id"], fields={"message": 3})
    assert sorted(row.id for row in weighted.collect()) == [1, 3]
    assert [token.text for token in table.analyze("C++ Build", "message")] == ["c", "build"]
    assert table.suggest("di", "message")["word"].to_pylist() == ["disk"]
