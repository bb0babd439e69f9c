"""Expressions on arrays, maps and structs with nulls inside equal those over Parquet."""

from __future__ import annotations

import pytest

NUMBERS = (
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "decimal(10,2)",
    "decimal(30,2)",
)
OTHERS = {
    "boolean": "id % 2 = 0",
    "string": "string(id)",
    "date": "date_add(date'2020-01-01', int(id))",
    "timestamp": "timestamp_seconds(id)",
}
ROWS = ", ".join(
    [
        "id",
        "CASE id % 3 WHEN 0 THEN array(id, NULL, id + 1) WHEN 1 THEN array(NULL, NULL) END AS few",
        "map('a', id, 'b', NULL) AS m",
        "array(named_struct('x', id, 'y', NULL), NULL) AS structs",
        "named_struct('p', if(id % 2 = 0, NULL, id), 'q', array(NULL, id)) AS s",
        *(f"array(NULL, cast(id AS {t})) AS n{i}" for i, t in enumerate(NUMBERS)),
        *(f"array({value}, NULL) AS o_{name}" for name, value in OTHERS.items()),
    ]
)
VALUES = [
    *(f"transform(n{i}, x -> x + 1)" for i in range(len(NUMBERS))),
    *(f"filter(o_{name}, x -> x IS NULL)" for name in OTHERS),
    "transform(few, (x, i) -> x + i)",
    "aggregate(few, 0L, (a, x) -> a + x)",
    "zip_with(few, n5, (a, b) -> a + b)",
    "to_json(transform_values(m, (k, v) -> v + 1))",
    "to_json(map_filter(m, (k, v) -> v > 2))",
    "transform(structs, x -> x.x)",
    "array_sort(few)",
    "hash(few, n3, s)",
    "flatten(array(few, s.q))",
    "s.p + 1",
]
CONDITIONS = [
    *(f"exists(n{i}, x -> x > 2)" for i in range(len(NUMBERS))),
    "forall(few, x -> x > 2)",
    "exists(o_boolean, x -> x)",
    "exists(structs, x -> x.x > 2)",
    "exists(s.q, x -> x > 2)",
    "exists(map_values(m), x -> x > 2)",
]


@pytest.fixture(scope="module")
def places(spark, tmp_path_factory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("nested")
    rows = spark.sql(f"SELECT {ROWS} FROM range(40)").coalesce(1)
    for source in ("indextables", "parquet"):
        rows.write.format(source).save(str(folder / source))
    return {source: str(folder / source) for source in ("indextables", "parquet")}


@pytest.fixture(params=["planner", "executors"])
def ask(request, spark, places):
    """Run a statement over IndexTables and over Parquet."""
    key = "spark.indextables.read.local.enabled"
    spark.conf.set(key, str(request.param == "planner").lower())

    def answers(statement: str) -> list[list]:
        return [
            spark.sql(statement.format(t=f"{source}.`{path}`")).collect()
            for source, path in places.items()
        ]

    yield answers
    spark.conf.unset(key)


def test_values(ask):
    ours, theirs = ask(f"SELECT id, {', '.join(VALUES)} FROM {{t}} ORDER BY id")
    assert len(ours) == 40
    assert ours == theirs


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions(ask, condition):
    ours, theirs = ask(f"SELECT * FROM {{t}} WHERE {condition} ORDER BY id")
    assert 0 < len(theirs) < 40 or condition.startswith("forall")
    assert ours == theirs
