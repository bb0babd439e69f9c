"""All rows of all tables of other writers."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indextables
from indextables import storage
from indextables.engine.split import Split
from indextables.engine.store import open_store
from indextables.errors import UnsupportedError
from indextables.log import codec, entries, open_log
from indextables.log.names import version_file

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
# only the newest split file is live: it merges the others
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
    """Rows without their order; JSON strings may be serialized differently."""

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


@pytest.mark.parametrize(
    "mapping", ['[{"name":"title",...}]', '[{"name":"id","type":"i64"}]', None]
)
def test_columns_are_described_by_a_split_when_the_log_has_no_mapping(fixtures, tmp_path, mapping):
    """A log of the first protocol version: no protocol, and only the required members of `add`."""
    folder = fixtures / "indextables-0.5.3" / "field_options"
    shutil.copytree(folder / "table", tmp_path / "t", ignore=shutil.ignore_patterns("_trans*"))
    snapshot = open_log(storage.open_store(str(folder / "table"))).snapshot()
    kept = ("path", "partitionValues", "size", "modificationTime", "dataChange")
    adds = [codec.encode_action(add)["add"] for add in entries.to_adds(snapshot.files())]
    registered = {} if mapping is None else {"docMappingSchema.ab12cd34ef56gh78": mapping}
    metadata = replace(snapshot.metadata, configuration=registered)
    (tmp_path / "t/_transaction_log").mkdir()
    versions = [
        [codec.encode_action(metadata)],
        [{"add": {name: add[name] for name in kept}} for add in adds],
    ]
    for number, actions in enumerate(versions):
        lines = "\n".join(map(json.dumps, actions))
        (tmp_path / "t" / version_file(number)).write_text(lines)
    table = indextables.open(str(tmp_path / "t"))
    rows = pq.read_table(folder / "expected.parquet")
    assert normal(table.scan()) == normal(rows)
    word = rows["body"][0].as_py().split()[0]
    assert table.count(f"body textsearch '{word}'") >= 1
    # the index orders addresses, Spark strings
    with pytest.raises(UnsupportedError, match="CONDITION_NOT_EXACT"):
        table.count("ip <= '10.2.0.126'")
