"""Work that Spark does not push down: the top rows of each group, and JSON paths as keys.

`SupportsPushDownTopN` applies to the rows of a whole query, and Spark's operator for the first rows
of each window (`WindowGroupLimit`) is not pushed down. Paths into a string (`get_json_object`,
`from_json`) return strings that the index does not store: a list of one value is indexed as that
value. Spark computes the rows; only the columns they need are read.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.oracle.paths import PATHS, check, make_views

ROWS = 120
BEST = (
    "SELECT host, id FROM (SELECT host, id, row_number() OVER (PARTITION BY host ORDER BY n DESC, "
    "id) AS place FROM {t} WHERE n > 3) WHERE place <= 2"
)
JSON_KEYS = [
    "SELECT get_json_object(payload, '$.user.name') AS user, count(*), sum(n) FROM {t} GROUP BY 1",
    "SELECT from_json(payload, 'size double').size, max(n) FROM {t} GROUP BY 1",
    "SELECT sum(cast(get_json_object(payload, '$.size') AS double)), count(n) AS a0 FROM {t}",
]


@pytest.fixture(scope="module")
def views(spark: Any, tmp_path_factory: Any) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("left")
    texts = [
        None
        if i % 13 == 0
        else json.dumps({"user": {"name": f"u{i % 5}"}, "size": [1.50, 10, None][i % 3]})
        for i in range(ROWS)
    ]
    columns = {
        "id": range(ROWS),
        "host": [f"h{i % 7}" for i in range(ROWS)],
        "n": pa.array([i * 37 % 11 for i in range(ROWS)], pa.int32()),
        "payload": texts,
        "message": ["a long text"] * ROWS,
    }
    pq.write_table(pa.table(columns), folder / "rows.parquet")
    rows = spark.read.parquet(str(folder / "rows.parquet"))
    writer = rows.repartition(3).write.format("indextables")
    writer.option("indexing.typemap.payload", "json").save(str(folder / "table"))
    return make_views(spark, rows, str(folder / "table"), "left")


@pytest.mark.parametrize("statement", [BEST, *JSON_KEYS])
def test_answers_equal_those_of_parquet(spark: Any, views: dict[str, str], statement: str) -> None:
    check(spark, views, statement)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("statement", "columns"),
    [(BEST, "id, host, n"), (JSON_KEYS[0], "n, payload"), (JSON_KEYS[1], "n, payload")],
)
def test_only_the_needed_columns_are_read(
    spark: Any, views: dict[str, str], path: str, statement: str, columns: str
) -> None:
    shown = spark.sql("EXPLAIN " + statement.replace("{t}", views[path])).head()[0]
    assert f"columns: [{columns}]" in shown, shown
