"""`indextables.open`: columns with names that mean something elsewhere."""

from __future__ import annotations

import pyarrow as pa
import pytest

import indextables
from indextables.errors import IndexTablesError


@pytest.mark.parametrize("name", ["_metadata", "_snippet", "_split", "tick`ed", "a b", "x DESC"])
@pytest.mark.parametrize("partitioned", [True, False])
def test_rows_are_read_and_put_in_order(table_path, name, partitioned):
    rows = pa.table({"id": [1, 2, 3], name: ["b", "c", "a"]})
    indextables.write(rows, table_path, partition_by=[name] if partitioned else [])
    table = indextables.open(table_path)
    quoted = "`" + name.replace("`", "``") + "`"
    found = table.scan(order_by=[quoted])
    assert found.to_pydict() == {"id": [3, 1, 2], name: ["a", "b", "c"]}
    assert table.scan(["id"], order_by=[f"{quoted} DESC"], limit=1)["id"].to_pylist() == [2]
    assert table.count(f"{quoted} > 'a'") == 2


@pytest.mark.parametrize("name", ["_change_type", "_Commit_Version"])
def test_names_of_the_change_feed_are_taken(table_path, name):
    table = indextables.write(pa.table({name: [1]}), table_path)
    with pytest.raises(IndexTablesError, match=f"CHANGES_COLUMN.*{name}"):
        table.changes(0)
