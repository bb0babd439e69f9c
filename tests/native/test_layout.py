"""The layout of a table's splits is chosen once and kept by everything that writes splits."""

from __future__ import annotations

import pyarrow as pa
import pytest

import indextables
from indextables.engine.split import Split
from indextables.log import open_log
from indextables.log.protocol import LEAN_SPLITS
from indextables.runtime.handles import native_store
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext
from indextables.storage import open_store

KEY = "spark.indextables.indexing.layout"


def rows(first: int) -> pa.Table:
    return pa.table({"id": list(range(first, first + 10))})


def layouts(path: str) -> list[str]:
    """The layouts of all live splits; checks that the protocol requires them of readers."""
    store = open_store(path)
    table = open_log(store).snapshot()
    paths = table.files().column("path").to_pylist()
    native = native_store(*store.native())
    found = sorted(Split(native, each).describe()["layout"] for each in paths)
    assert LEAN_SPLITS in table.protocol.reader_features or "lean" not in found
    return found


def write(path: str, mode: str = "append", layout: str | None = None) -> None:
    options = {} if layout is None else {"indexing.layout": layout}
    indextables.write(rows(0), path, mode=mode, options=options)


def test_appends_and_merges_keep_the_layout_the_table_was_made_with(table_path):
    write(table_path, layout="lean")
    write(table_path)
    assert layouts(table_path) == ["lean", "lean"]
    execute(f"MERGE SPLITS '{table_path}'", LocalContext())
    assert layouts(table_path) == ["lean"]


def test_an_append_that_says_otherwise_is_for_itself(table_path):
    write(table_path)
    write(table_path, layout="lean")
    write(table_path)
    assert layouts(table_path) == ["compatible", "compatible", "lean"]


@pytest.mark.parametrize(("first", "then"), [("lean", "compatible"), ("compatible", "lean")])
def test_an_overwrite_that_says_otherwise_is_remembered(table_path, first, then):
    write(table_path, layout=first)
    write(table_path, "overwrite", then)
    write(table_path)
    assert layouts(table_path) == [then, then]
    assert indextables.open(table_path).properties[KEY] == then


def test_a_merge_that_makes_lean_splits_raises_the_protocol(table_path):
    write(table_path)
    more = pa.table({"id": [1], "name": ["one"]})
    indextables.write(more, table_path, options={"mergeSchema": "true"})
    # splits with different columns are rewritten in the layout of the merge
    execute(f"MERGE SPLITS '{table_path}'", LocalContext({KEY: "lean"}))
    assert layouts(table_path) == ["lean"]
