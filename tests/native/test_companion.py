"""Companion splits index rows of Parquet files without copying them."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap

from indextables.config.settings import resolve
from indextables.engine.merge import MergeInput, merge_splits
from indextables.engine.query import Query
from indextables.engine.source import (
    Address,
    SourceFile,
    SourceSpec,
    open_source,
    read_source,
    source_facts,
)
from indextables.engine.split import Split
from indextables.engine.store import open_store
from indextables.errors import IndexTablesError
from indextables.model.types import parse_schema
from indextables.read.rows import count_rows, read_table
from indextables.read.spec import ReadSpec, Source
from indextables.save.source_feed import feed_files
from indextables.save.splits import WriteSpec

SPARK = {
    "type": "struct",
    "fields": [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in [("id", "long"), ("level", "string"), ("message", "string")]
    ],
}
SCHEMA = pa.schema([("id", pa.int64()), ("level", pa.string()), ("message", pa.string())])
FIELDS = ({"name": "id"}, {"name": "level"}, {"name": "message", "role": "text"})
TIMEOUT = {"type": "token_term", "field": "message", "text": "timeout"}


def some(start: int, count: int) -> pa.Table:
    numbers = range(start, start + count)
    return pa.table(
        {
            "id": list(numbers),
            "level": [None if n % 11 == 0 else f"level {n % 4}" for n in numbers],
            "message": [f"timeout {n}" if n % 5 == 0 else f"message {n}" for n in numbers],
        },
        schema=SCHEMA,
    )


class World:
    """A source of three files, and splits that index some of them."""

    def __init__(self, folder, columns=(), **settings):
        self.source_folder, self.index = folder / "source", folder / "index"
        self.source_folder.mkdir()
        self.spec = SourceSpec((str(self.source_folder), ""), columns)
        self.write = WriteSpec(
            str(self.index), "", json.dumps(SPARK), (), FIELDS, resolve(settings)
        )
        self.tables: dict[str, pa.Table] = {}

    def add(self, name: str, rows: pa.Table) -> SourceFile:
        path = self.source_folder / name
        pq.write_table(rows, path)
        self.tables[name] = rows
        return SourceFile(name, path.stat().st_size, rows=rows.num_rows)

    def read(self, **members: Any) -> ReadSpec:
        given: dict[str, Any] = {"output": SCHEMA, "queries": (Query({"type": "all"}),)}
        given |= {"source": self.spec, "source_fields": FIELDS} | members
        settings = self.write.settings
        return ReadSpec((str(self.index), ""), settings, json.dumps(SPARK), (), **given)


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def hidden(rows: list[int]) -> str:
    return b64encode(BitMap(rows).serialize()).decode()


def source(split, **more: Any) -> Source:
    return Source(split.path, (split.footer_start, split.footer_end), {}, None, 0, **more)


def pending(file: SourceFile, **more: Any) -> Source:
    return Source(file.path, None, {}, None, 0, size=file.size, pending=file.stamp or "", **more)


def by_id(table: pa.Table) -> list[dict[str, Any]]:
    return table.sort_by("id").to_pylist()


def test_files_are_fed_in_order_and_cut_where_a_split_is_full(tmp_path):
    world = World(tmp_path, **{"write.optimizeWrite.maxSplitSize": "40k"})
    files = [world.add(f"f{n}", some(n * 20_000, 20_000)) for n in range(3)]
    fed = feed_files(world.write, world.spec, files, {})
    runs = [run for split in fed for run in split.runs]
    assert len(fed) > 3
    assert [(run.path, run.row) for run in runs] == sorted((run.path, run.row) for run in runs)
    for file in files:
        mine = [run for run in runs if run.path == file.path]
        assert [run.row for run in mine[1:]] == [run.row + run.rows for run in mine[:-1]]
        assert sum(run.rows for run in mine) == 20_000
    assert [split.num_records for split in fed] == [sum(r.rows for r in s.runs) for s in fed]
    found = read_table(world.read(), [source(split) for split in fed])
    assert found.equals(pa.concat_tables(world.tables.values()))
    assert fed[0].to_add().companion_source_files == tuple(
        dict.fromkeys(r.path for r in fed[0].runs)
    )
    assert type(fed[0]).from_json(json.loads(json.dumps(fed[0].to_json()))) == fed[0]


def test_a_split_holds_no_rows(world):
    files = [world.add("a", some(0, 50_000))]
    (split,) = feed_files(world.write, world.spec, files, {})
    found = Split(open_store(str(world.index)), split.path)
    described = found.describe()
    sizes = {c["component_type"]: c["size_bytes"] for c in found.components()}
    assert described["layout"] == "companion"
    assert sizes["store"] < 100
    assert described["source"]["runs"][0]["rows"] == 50_000
    assert (split.min_values["id"], split.max_values["id"]) == ("0", "49999")


@pytest.mark.parametrize("query", [{"type": "all"}, TIMEOUT], ids=["all", "search"])
def test_covered_and_pending_files_answer_alike(world, query):
    a, b, c = (world.add(name, some(n * 1000, 1000)) for n, name in enumerate("abc"))
    (split,) = feed_files(world.write, world.spec, [a, b], {})
    gone = [3, 5, 1010, 1015]
    sources = [source(split, hidden=hidden(gone)), pending(c, hidden=hidden([0, 10, 999]))]
    live = pa.concat_tables(world.tables.values())
    keep = [n not in {*gone, 2000, 2010, 2999} for n in range(3000)]
    live = live.filter(pa.array(keep))
    if query == TIMEOUT:
        live = live.filter(pc.starts_with(live["message"], "timeout"))
    spec = world.read(queries=(Query(query),))
    assert count_rows(spec, sources) == len(live)
    assert by_id(read_table(spec, sources)) == by_id(live)
    order = [{"field": "id", "ascending": False, "nulls_first": False}]
    first = read_table(world.read(queries=(Query(query),), order=order, limit=7), sources)
    assert set(live["id"].to_pylist()[-7:]) <= set(first["id"].to_pylist())


def test_a_pending_file_is_indexed_once(world, monkeypatch):
    file = world.add("a", some(0, 500))
    spec = world.read(queries=(Query(TIMEOUT),))
    assert count_rows(spec, [pending(file)]) == 100
    monkeypatch.setattr("indextables.read.pending.read_source", None)
    assert count_rows(spec, [pending(file)]) == 100


def test_a_column_keeps_its_values_when_the_source_renames_it(world, tmp_path):
    rows = some(0, 300).rename_columns(["c-1", "c-2", "c-3"])
    addresses = [Address(n, (f"c-{at}",)) for at, n in enumerate(SCHEMA.names, 1)]
    world.spec = SourceSpec(world.spec.place, tuple(addresses))
    file = world.add("a", rows)
    (split,) = feed_files(world.write, world.spec, [file], {})
    # `level` was renamed to `message`, and the old `message` was dropped for another column
    now = (Address("id", ("c-1",)), Address("message", ("c-2",)), Address("level", ("c-9",)))
    native = open_source(SourceSpec(world.spec.place, now))
    footer = (split.footer_start, split.footer_end)
    opened = Split(open_store(str(world.index)), split.path, footer, None, SCHEMA, source=native)
    found = opened.table(None, SCHEMA)
    assert found["message"].to_pylist() == rows["c-2"].to_pylist()
    assert found["level"].null_count == 300
    assert opened.count({"type": "term", "field": "message", "value": "level 1"}) == sum(
        value == "level 1" for value in rows["c-2"].to_pylist()
    )
    assert opened.count({"type": "exists", "field": "message"}) == 300 - rows["c-2"].null_count
    assert opened.count({"type": "exists", "field": "level"}) == 0


def test_merging_concatenates_runs_and_leaves_out_whole_ones(world):
    files = [world.add(name, some(n * 100, 100)) for n, name in enumerate("abcd")]
    fed = [feed_files(world.write, world.spec, files[at : at + 2], {})[0] for at in (0, 2)]
    store, native = open_store(str(world.index)), open_source(world.spec)
    gone = BitMap(range(100, 200))
    inputs = [
        MergeInput(split.path, None, gone.serialize() if split is fed[0] else None) for split in fed
    ]
    merged = merge_splits(inputs, store, "m.split", source=native).split
    assert [(run.path, run.rows) for run in merged.runs] == [("a", 100), ("c", 100), ("d", 100)]
    split = Split(store, "m.split", None, None, SCHEMA, source=native)
    kept = pa.concat_tables([world.tables[name] for name in "acd"])
    assert split.table(None, SCHEMA).equals(kept)
    assert split.count(TIMEOUT) == 60
    inputs = [MergeInput(fed[0].path, None, BitMap([1]).serialize()), MergeInput(fed[1].path)]
    with pytest.raises(IndexTablesError, match="whole runs"):
        merge_splits(inputs, store, "n.split", source=native)


def test_companions_that_are_indexed_differently_are_written_again(world):
    files = [world.add(name, some(n * 100, 100)) for n, name in enumerate("ab")]
    fed = feed_files(world.write, world.spec, files[:1], {})
    world.write = WriteSpec(
        str(world.index), "", json.dumps(SPARK), (), ({"name": "message"},), resolve()
    )
    fed += feed_files(world.write, world.spec, files[1:], {})
    store, native = open_store(str(world.index)), open_source(world.spec)
    merged = merge_splits(
        [MergeInput(split.path) for split in fed],
        store,
        "m.split",
        schema=SCHEMA,
        fields=FIELDS,
        options={"layout": "companion"},
        source=native,
    ).split
    assert [(run.path, run.rows) for run in merged.runs] == [("a", 100), ("b", 100)]
    split = Split(store, "m.split", None, None, SCHEMA, source=native)
    assert split.table(None, SCHEMA).equals(pa.concat_tables(world.tables.values()))
    assert split.count(TIMEOUT) == 40


def damage(world: World, name: str, kind: str) -> None:
    path = world.source_folder / name
    if kind == "missing":
        path.unlink()
    elif kind == "truncated":
        path.write_bytes(path.read_bytes()[:-10])
    elif kind == "replaced":
        pq.write_table(some(7, 1000), path)
    elif kind == "same size":
        size = path.stat().st_size
        pq.write_table(some(1_000_000, 1000), path)
        path.write_bytes(path.read_bytes()[-size:].rjust(size, b"\0"))
    else:
        path.write_bytes(b"\0" * path.stat().st_size)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("missing", "COMPANION_FILE_MISSING"),
        ("truncated", "COMPANION_FILE_CHANGED"),
        ("replaced", "COMPANION_FILE_CHANGED"),
        ("same size", "COMPANION_FILE_CHANGED"),
        ("zeros", "FILE_CORRUPT"),
    ],
)
@pytest.mark.parametrize("covered", [True, False])
def test_a_file_that_is_not_what_was_indexed_is_named(world, kind, code, covered):
    file = world.add("a", some(0, 1000))
    place = source(feed_files(world.write, world.spec, [file], {})[0]) if covered else pending(file)
    damage(world, "a", kind)
    if kind == "same size" and not covered:
        return  # the earlier file is never read
    with pytest.raises(IndexTablesError, match="`a`") as raised:
        read_table(world.read(queries=(Query(TIMEOUT),)), [place])
    assert raised.value.code == code


def one(folder, array: pa.Array, wanted: pa.DataType, **options: Any) -> list[Any]:
    pq.write_table(pa.table({"c": array}), folder / "f", **options)
    native = open_source(SourceSpec((str(folder), "")))
    file = SourceFile("f", (folder / "f").stat().st_size)
    batches = read_source(native, file, pa.schema([("c", wanted)]))
    return pa.Table.from_batches(batches)["c"].to_pylist()


@pytest.mark.parametrize(
    ("array", "wanted"),
    [
        (pa.array([1, None, -5], pa.int32()), pa.int64()),
        (pa.array([1, None, 255], pa.uint8()), pa.int16()),
        (pa.array([1, 2**32 - 1], pa.uint32()), pa.int64()),
        (pa.array([2**64 - 1], pa.uint64()), pa.decimal128(20)),
        (pa.array([1.5, None], pa.float32()), pa.float64()),
        (pa.array([7, None], pa.int32()), pa.float64()),
        (pa.array(["1.50", None]).cast(pa.decimal128(5, 2)), pa.decimal128(9, 4)),
        (pa.array([19_000, None], pa.date32()), pa.timestamp("us")),
        (pa.array([1_700_000_000_123], pa.timestamp("ms", "UTC")), pa.timestamp("us", "UTC")),
        (pa.array([b"a\xff", None]), pa.binary()),
        (
            pa.array([[{"a": 1}], None, []]),
            pa.list_(pa.struct([("b", pa.int8()), ("a", pa.int64())])),
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, pa.DataType) else str(value.type),
)
def test_values_are_widened_to_the_type_of_the_table(tmp_path, array, wanted):
    if pa.types.is_list(wanted):
        expected: list[Any] = [[{"b": None, "a": 1}], None, []]
    else:
        expected = array.cast(wanted).to_pylist()
    assert one(tmp_path, array, wanted) == expected


def test_timestamps_of_96_bits_are_instants(tmp_path):
    array = pa.array([0, 1_700_000_000_123_456, -62_135_596_800_000_000], pa.timestamp("us"))
    found = one(
        tmp_path,
        array,
        pa.timestamp("us", "UTC"),
        use_deprecated_int96_timestamps=True,
        store_schema=False,
    )
    assert found == array.cast(pa.timestamp("us", "UTC")).to_pylist()


def test_strings_that_are_not_utf8_come_as_they_are(tmp_path):
    values = [b"a", b"\x80\xff", None]
    text = pa.Array.from_buffers(pa.string(), 3, pa.array(values, pa.binary()).buffers())
    pq.write_table(pa.table({"c": text}), tmp_path / "f", store_schema=False)
    native = open_source(SourceSpec((str(tmp_path), "")))
    file = SourceFile("f", (tmp_path / "f").stat().st_size)
    assert source_facts(native, file).schema.field("c").type == pa.string()
    (batch,) = read_source(native, file, pa.schema([("c", pa.string())]))
    assert batch.column(0).cast(pa.binary()).to_pylist() == values


@pytest.mark.parametrize(
    ("array", "wanted"),
    [
        (pa.array([1], pa.int64()), pa.int32()),
        (pa.array([1], pa.uint64()), pa.int64()),
        (pa.array([1.5]), pa.float32()),
        (pa.array(["a"]), pa.int64()),
        (pa.array([1], pa.timestamp("ns")), pa.timestamp("us")),
        (pa.array([1], pa.timestamp("us", "UTC")), pa.timestamp("us")),
        (pa.array([1], pa.time64("us")), pa.int64()),
        (pa.array(["1.50"]).cast(pa.decimal128(5, 2)), pa.decimal128(5, 3)),
        (pa.array([[1]]), pa.int64()),
    ],
    ids=lambda value: str(value) if isinstance(value, pa.DataType) else str(value.type),
)
def test_types_that_do_not_hold_every_value_are_refused(tmp_path, array, wanted):
    with pytest.raises(IndexTablesError, match="`f`") as raised:
        one(tmp_path, array, wanted, version="2.6")
    assert raised.value.code == "COMPANION_TYPE"


@pytest.mark.parametrize(
    ("array", "old"),
    [
        (pa.array([-141_428], pa.date32()), True),
        (pa.array([-141_427], pa.date32()), False),
        (pa.array([-2_208_988_800_000_001], pa.timestamp("us", "UTC")), True),
        (pa.array([0], pa.timestamp("us", "UTC")), False),
    ],
)
def test_old_dates_of_old_writers_are_refused(tmp_path, array, old):
    table = pa.table({"c": array})
    marks = {"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyDateTime": ""}
    pq.write_table(table.replace_schema_metadata(marks), tmp_path / "f")
    file = SourceFile("f", (tmp_path / "f").stat().st_size)
    place = (str(tmp_path), "")
    corrected = open_source(SourceSpec(place, calendar="corrected"))
    assert next(read_source(corrected, file, table.schema)).column(0).equals(array)
    if not old:
        next(read_source(open_source(SourceSpec(place)), file, table.schema))
        return
    with pytest.raises(IndexTablesError) as raised:
        next(read_source(open_source(SourceSpec(place)), file, table.schema))
    assert raised.value.code == "COMPANION_CALENDAR"


def test_the_schema_of_the_table_is_that_of_the_splits(world):
    assert world.read().split_schema.equals(SCHEMA)
    assert parse_schema(json.dumps(SPARK)).to_arrow_schema().names == SCHEMA.names
