"""Arguments of `IndexTable`: their Python types, and errors that name wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from indextables import IndexTable
from indextables.errors import InvalidError, TableExistsError

pytestmark = pytest.mark.spark


def test_paths_and_names_are_what_python_has_for_them(spark, tmp_path):
    path = tmp_path / "table"
    schema = "id long, `day: x` string, m string"
    made = IndexTable.create(spark, path, schema, partition_by="day: x")
    assert made.detail().first().partition_columns == '["day: x"]'
    spark.sql(f"INSERT INTO indextables.`{path}` VALUES (1, 'a', 'disk')")
    found = IndexTable.forPath(spark, Path(path))
    assert IndexTable.isIndexTable(spark, path)
    assert found.search("m:disk", "id").columns == ["id", "_score", "_snippet"]
    with pytest.raises(TableExistsError, match="hint: use mode"):
        IndexTable.create(spark, path, "id long")


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda spark, _: IndexTable.forPath(spark, 5), "path"),
        (lambda spark, _: IndexTable.isIndexTable(spark, None), "path"),
        (lambda _, table: table.update("id = 1"), "set"),
        (lambda _, table: table.update("id = 1", {}), "set"),
        (lambda _, table: table.search("disk", [1]), "columns"),
    ],
)
def test_an_error_names_the_argument(spark, table_path, call, argument):
    spark.range(3).write.format("indextables").save(table_path)
    table = IndexTable.forPath(spark, table_path)
    before = table.history().count()
    with pytest.raises(InvalidError, match=rf"ARGUMENT_INVALID\] `{argument}` is "):
        call(spark, table)
    assert table.history().count() == before
