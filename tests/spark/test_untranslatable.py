"""Spark computes conditions that it fails to translate for sources."""

from __future__ import annotations

import pytest

CONDITIONS = [
    "tiny > 200",
    "tiny IN (200, 300)",
    "small <= 40000",
    "flag = NULL",
    "CAST(tiny AS BOOLEAN)",
]
QUERIES = [
    "SELECT @ AS answer, count(*) FROM # GROUP BY 1",
    "SELECT max(@), count(@), count(DISTINCT @) FROM #",
    "SELECT sum(DISTINCT tiny), count_if(@) FROM #",
    "SELECT count_if(flag = (@)), count(*) FILTER (WHERE @) FROM #",
    "SELECT @ OR flag AS answer, count(*) FROM # GROUP BY 1",
    "SELECT id FROM # ORDER BY NOT (@), id LIMIT 7",
    "SELECT id FROM # WHERE coalesce(@, id < 50)",
    "SELECT id FROM # WHERE NOT (flag <=> (@))",
]


@pytest.fixture(scope="module")
def rows(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("untranslatable")
    frame = spark.sql(
        "SELECT id, if(id % 5 = 0, NULL, CAST(id % 3 AS TINYINT)) AS tiny,"
        " if(id % 4 = 0, NULL, CAST(id AS SMALLINT)) AS small,"
        " if(id % 3 = 0, NULL, id % 2 = 0) AS flag, concat('row ', id % 10) AS message"
        " FROM range(0, 100, 1, 2)"
    )
    frame.write.parquet(str(folder / "parquet"))
    writer = frame.write.format("indextables").option("indexing.typemap.message", "text")
    writer.save(str(folder / "table"))
    spark.read.format("indextables").load(str(folder / "table")).createOrReplaceTempView("indexed")
    spark.read.parquet(str(folder / "parquet")).createOrReplaceTempView("plain")
    return frame


def answer(spark, query: str) -> list[str]:
    return sorted(map(str, spark.sql(query).collect()))


@pytest.mark.parametrize("condition", CONDITIONS)
def test_answers_equal_parquet(spark, rows, condition):
    for query in QUERIES:
        text = query.replace("@", condition)
        assert answer(spark, text.replace("#", "indexed")) == answer(
            spark, text.replace("#", "plain")
        )


@pytest.mark.parametrize("condition", CONDITIONS)
def test_rows_are_changed(spark, rows, tmp_path, condition):
    path = str(tmp_path / "table")
    rows.write.format("indextables").save(path)
    table = f"indextables.`{path}`"
    where = f"NOT (flag <=> ({condition}))"
    spark.sql(f"UPDATE {table} SET message = 'changed' WHERE {where}")
    spark.sql(f"DELETE FROM {table} WHERE coalesce({condition}, id < 50)")
    kept = f"FROM plain WHERE NOT coalesce({condition}, id < 50)"
    assert answer(spark, f"SELECT id, message FROM {table}") == answer(
        spark, f"SELECT id, if({where}, 'changed', message) AS message {kept}"
    )


@pytest.mark.parametrize(
    ("search", "plain"),
    [
        ("(@ AND 1 = 1) OR flag", "(@ AND 1 = 1) OR flag"),
        ("@ OR (flag AND NULL)", "@"),
        ("@ AND current_date() > DATE'2020-01-01' OR id > 90", "@ OR id > 90"),
        ("NOT (@ AND CAST(tiny AS BOOLEAN))", "NOT (@ AND CAST(tiny AS BOOLEAN))"),
    ],
)
def test_searches_beside_constants(spark, rows, search, plain):
    found = search.replace("@", "message indexquery '7'")
    expected = plain.replace("@", "message = 'row 7'")
    assert answer(spark, f"SELECT id FROM indexed WHERE {found}") == answer(
        spark, f"SELECT id FROM plain WHERE {expected}"
    )
