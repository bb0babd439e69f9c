"""Every table of other writers, row for row."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indextables
from indextables.engine.split import Split
from indextables.engine.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = {
    # every split file on disk is live in these tables
    "indextables-0.5.3": (
        "all_types",
        "field_options",
        "json_checkpoint",
        "json_field",
        "logs_small",
        "nan_inf",
        "partitioned",
        "type_array",
        "type_map",
        "uncompressed_log",
    ),
    "indextables-0.5.5": ("all_types", "logs_small"),
}
# only the youngest split file is live: the result of merging the others
MERGED = (("indextables-0.5.3", "merged"), ("indextables-0.5.5", "merged"))


def read_split(table: Path, path: Path, schema: pa.Schema) -> pa.Table:
    relative = path.relative_to(table)
    split = Split(open_store(str(table)), str(relative), schema=schema)
    rows = split.table(None, schema)
    assert split.count() == split.num_docs == len(rows)
    for part in relative.parent.parts:
        name, _, value = part.partition("=")
        field = schema.field(name)
        values = pa.array([value] * len(rows)).cast(field.type)
        rows = rows.set_column(schema.get_field_index(name), field, values)
    return rows


def normal(rows: pa.Table) -> list[str]:
    """Rows without order; JSON texts may come back re-serialised."""

    def plain(value: object) -> object:
        return json.loads(value) if isinstance(value, str) and value.startswith("{") else value

    dicts = ({name: plain(value) for name, value in row.items()} for row in rows.to_pylist())
    return sorted(json.dumps(row, default=str, sort_keys=True) for row in dicts)


@pytest.mark.parametrize(("version", "name"), [(v, n) for v, names in WHOLE.items() for n in names])
def test_rows_are_equal_when_another_version_wrote_them(fixtures, version, name):
    expected = pq.read_table(fixtures / version / name / "expected.parquet")
    table = fixtures / version / name / "table"
    splits = sorted(table.rglob("*.split"))
    found = pa.concat_tables(read_split(table, path, expected.schema) for path in splits)
    assert normal(found) == normal(expected)


@pytest.mark.parametrize(("version", "name"), MERGED)
def test_rows_are_equal_when_another_version_merged_them(fixtures, version, name):
    expected = pq.read_table(fixtures / version / name / "expected.parquet")
    table = fixtures / version / name / "table"
    merged = [path for path in table.rglob("*.split") if not path.name.startswith("part-")]
    found = pa.concat_tables(read_split(table, path, expected.schema) for path in merged)
    assert normal(found) == normal(expected)


@pytest.mark.parametrize("name", ["many_versions", "empty_table"])
def test_rows_are_equal_when_only_the_log_knows_which_splits_live(fixtures, name):
    folder = fixtures / "indextables-0.5.3" / name
    expected = pq.read_table(folder / "expected.parquet")
    live = indextables.open(str(folder / "table")).files()["path"].to_pylist()
    on_disk = [str(path.relative_to(folder / "table")) for path in folder.rglob("*.split")]
    assert set(live) <= set(on_disk)
    rows = [read_split(folder / "table", folder / "table" / p, expected.schema) for p in live]
    found = pa.concat_tables([expected.schema.empty_table(), *rows])
    assert normal(found) == normal(expected)
