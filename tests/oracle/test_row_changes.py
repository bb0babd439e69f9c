"""Between deletes, updates and merges, every answer equals that of a plain table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from tests.oracle.paths import check, make_views
from tests.oracle.queries import PREDICATES, statements
from tests.oracle.rows import write_parquet

LAYOUTS = {"plain": [], "by_word": ["word"]}
VALUES = {"i64": "7L", "word": "'ab'", "text": "'payment reset'"}
CHANGES = st.lists(
    st.tuples(st.sampled_from(["delete", "update", "merge"]), PREDICATES), min_size=1, max_size=3
)


@pytest.fixture(scope="module")
def rows(spark: Any, tmp_path_factory: Any) -> Any:
    """The initial rows of every table."""
    path: Path = tmp_path_factory.mktemp("row-changes") / "pq"
    write_parquet(path, rows=300, seed=5)
    spark.conf.set("spark.sql.parquet.filterPushdown", "false")
    return spark.read.parquet(str(path)).localCheckpoint()


def change(spark: Any, table: str, model: Any, kind: str, where: str) -> Any:
    """Apply one change to the table; return the changed model."""
    sets = ", ".join(f"{name} = {text}" for name, text in VALUES.items())
    hit = f"(({where}) <=> true)"
    if kind == "delete":
        spark.sql(f"DELETE FROM {table} WHERE {where}")
        return model.where(f"NOT {hit}")
    if kind == "update":
        spark.sql(f"UPDATE {table} SET {sets} WHERE {where}")
    else:
        chosen = model.where(hit).select("id")
        chosen.createOrReplaceTempView("chosen_rows")
        spark.sql(
            f"MERGE INTO {table} t USING chosen_rows s ON t.id = s.id "
            f"WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET {sets}"
        )
        model = model.where(f"NOT ({hit} AND id % 2 = 0)")
    return model.selectExpr(
        *(
            f"CASE WHEN {hit} THEN {VALUES[name]} ELSE {name} END AS {name}"
            if name in VALUES
            else name
            for name in model.columns
        )
    )


def change_and_check(
    spark: Any, rows: Any, folder: Path, case: tuple[str, list[Any], list[str]]
) -> None:
    layout, changes, queries = case
    path = str(folder / f"table-{len(list(folder.iterdir()))}")
    writer = rows.write.format("indextables").option("indexing.typemap.text", "text")
    writer.partitionBy(*LAYOUTS[layout]).save(path)
    model = rows
    for kind, where in changes:
        note(f"{kind}: {where}")
        model = change(spark, f"indextables.`{path}`", model, kind, where).localCheckpoint()
        views = make_views(spark, model, path, "changed")
        for query in ["SELECT * FROM {t}", "SELECT count(*) AS a0 FROM {t}", *queries]:
            check(spark, views, query)


COMMON = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
}


def cases(queries: int) -> Any:
    """A layout, changes, and the queries after each of them."""
    queried = st.lists(statements(), min_size=queries, max_size=queries)
    return st.tuples(st.sampled_from(list(LAYOUTS)), CHANGES, queried)


@pytest.mark.spark
@settings(max_examples=5, derandomize=True, **COMMON)
@given(case=cases(3))
def test_answers_equal_a_plain_table_when_rows_changed(
    spark: Any, rows: Any, tmp_path: Path, case: Any
):
    change_and_check(spark, rows, tmp_path, case)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.spark
@settings(max_examples=200, **COMMON)
@given(case=cases(5))
def test_answers_equal_a_plain_table_for_long(spark: Any, rows: Any, tmp_path: Path, case: Any):
    change_and_check(spark, rows, tmp_path, case)
