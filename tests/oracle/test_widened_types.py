"""After columns are widened, old and new splits together answer like a plain table."""

from __future__ import annotations

from typing import Any

import pytest
from tests.oracle.paths import check, make_views

# the type of a column before and after, and its values before and after
COLUMNS = {
    "bs": ("byte", "short", ["-128", "-1", "7"], ["300", "7"]),
    "bl": ("byte", "bigint", ["-128", "0", "7"], ["5000000000", "7"]),
    "il": ("int", "bigint", ["-2147483648", "0", "7"], ["5000000000", "7"]),
    "sf": ("short", "float", ["-300", "0", "7"], ["0.5", "7"]),
    "id": ("int", "double", ["-2147483648", "0", "7"], ["0.25", "'NaN'", "7"]),
    "fd": ("float", "double", ["0.1", "0.7", "'NaN'", "-0.0"], ["0.1", "0.7", "0.0"]),
    "ic": ("int", "decimal(12,2)", ["-2147483648", "0", "7"], ["0.25", "7"]),
    "lc": ("bigint", "decimal(24,2)", ["-9223372036854775808", "7"], ["0.25", "7"]),
    "cc": ("decimal(5,2)", "decimal(12,4)", ["-999.99", "0", "7.25"], ["0.0001", "7.25"]),
    "cw": ("decimal(10,2)", "decimal(30,6)", ["-1.5", "0", "7.25"], ["0.000001", "7.25"]),
    "dt": (
        "date",
        "timestamp_ntz",
        ["'1969-12-31'", "'2024-02-29'", "'1970-01-02'"],
        ["'2024-02-29 00:00:00'", "'2024-02-29 12:30:00'"],
    ),
}
NESTED = {
    "st": (
        "struct<n:int,d:date>",
        "struct<n:bigint,d:timestamp_ntz,more:string>",
        ["named_struct('n', 7, 'd', date'2024-02-29')", "named_struct('n', -1, 'd', null)"],
        ["named_struct('n', 5000000000, 'd', timestamp_ntz'2024-02-29 12:00:00', 'more', 'x')"],
    ),
    "ar": (
        "array<struct<v:float>>",
        "array<struct<v:double>>",
        ["array(named_struct('v', 0.1))", "array()"],
        ["array(named_struct('v', 0.1), null)"],
    ),
    "mp": (
        "map<int,decimal(5,2)>",
        "map<int,decimal(12,4)>",
        ["map(7, 1.25)", "map()"],
        ["map(7, 0.0001)"],
    ),
}
LAYOUTS = {
    "compatible": {},
    "lean": {"indexing.layout": "lean"},
    "slow": {"indexing.nonfastfields": ",".join(COLUMNS)},
}


def rows(spark: Any, at: int, first: int, count: int) -> Any:
    """Rows before (0) or after (1) the types are widened."""
    every = COLUMNS | NESTED
    lines = []
    for row in range(count):
        cells = [str(first + row)]
        for facts in every.values():
            values = [*facts[2 + at], "null"]
            cells.append(f"cast({values[row % len(values)]} AS {facts[at]})")
        lines.append(f"SELECT {', '.join(cells)}")
    names = ["key", *every]
    return spark.sql(" UNION ALL ".join(lines)).toDF(*names).coalesce(1)


@pytest.fixture(scope="module", params=list(LAYOUTS))
def table(request: Any, spark: Any, tmp_path_factory: Any) -> Any:
    """A table with widened columns, and its rows."""
    path = str(tmp_path_factory.mktemp("widened") / "table")
    old, new = rows(spark, 0, 0, 12), rows(spark, 1, 100, 12)
    writer = old.write.format("indextables").options(**LAYOUTS[request.param])
    writer.save(path)
    new.write.format("indextables").mode("append").option("mergeSchema", "true").save(path)
    wide = [f"cast({name} AS {facts[1]}) AS {name}" for name, facts in COLUMNS.items()]
    members = "'n', cast(st.n AS bigint), 'd', cast(st.d AS timestamp_ntz), 'more', string(null)"
    nested = [
        f"CASE WHEN st IS NOT NULL THEN named_struct({members}) END AS st",
        "cast(ar AS array<struct<v:double>>) AS ar",
        "cast(mp AS map<int,decimal(12,4)>) AS mp",
    ]
    truth = old.selectExpr("key", *wide, *nested).union(new).localCheckpoint()
    return path, truth


def statements() -> list[str]:
    """Queries of every column."""
    queries = ["SELECT * FROM {t}", "SELECT count(*) AS a0 FROM {t}"]
    for name, (_, wide, before, after) in COLUMNS.items():
        one, other = (f"cast({value} AS {wide})" for value in (before[-1], after[0]))
        queries += [
            f"SELECT key FROM {{t}} WHERE {name} = {one}",
            f"SELECT key FROM {{t}} WHERE {name} < {other} OR {name} IS NULL",
            f"SELECT key FROM {{t}} WHERE {name} BETWEEN {one} AND {other} OR {name} > {one}",
            f"SELECT key FROM {{t}} WHERE NOT ({name} IN ({one}, {other}))",
            f"SELECT {name}, count(*) AS a0, min(key) AS a1 FROM {{t}} GROUP BY {name}",
            f"SELECT min({name}) AS a0, max({name}) AS a1, count({name}) AS a2 FROM {{t}}",
            f"SELECT {name} FROM {{t}} ORDER BY {name} DESC NULLS LAST LIMIT 5",
        ]
        # sums of fractions depend on the order of rows
        if name not in ("dt", "fd"):
            queries.append(f"SELECT sum({name}) AS a0, avg({name}) AS a1 FROM {{t}} WHERE key > 2")
            queries.append(f"SELECT key % 3 AS k, sum({name}) AS a0 FROM {{t}} GROUP BY key % 3")
    queries += [
        "SELECT key FROM {t} WHERE st.n = 7 OR st.n > 4000000000",
        "SELECT key FROM {t} WHERE st.d = timestamp_ntz'2024-02-29 00:00:00'",
        "SELECT key FROM {t} WHERE st.d > timestamp_ntz'2024-02-29 00:00:00' OR st.more = 'x'",
        "SELECT key FROM {t} WHERE st.d IS NULL",
    ]
    return queries


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_answers_equal_a_plain_table_before_and_after_merging_splits(spark: Any, table: Any):
    path, truth = table
    views = make_views(spark, truth, path, "widened")
    for statement in statements():
        check(spark, views, statement)
    spark.sql(f"DELETE FROM indextables.`{path}` WHERE ic = 0 OR dt = timestamp_ntz'2024-02-29'")
    left = truth.where("NOT (ic <=> 0) AND NOT (dt <=> timestamp_ntz'2024-02-29')")
    done = spark.sql(f"MERGE SPLITS '{path}'").collect()
    assert spark.sql(f"DESCRIBE INDEXTABLES DETAIL '{path}'").first().num_files == 1, done
    views = make_views(spark, left.localCheckpoint(), path, "merged")
    for statement in statements():
        check(spark, views, statement)
    feed = spark.read.format("indextables").option("readChangeFeed", "true")
    came = feed.option("startingVersion", "1").load(path).where("_change_type = 'insert'")
    assert came.count() == truth.count()
    then = spark.read.format("indextables").option("versionAsOf", "1").load(path)
    assert then.schema["il"].dataType.simpleString() == "int"
    assert sorted(r.il or 0 for r in then.collect()) == sorted(
        r.il or 0 for r in truth.where("key < 100").collect()
    )
