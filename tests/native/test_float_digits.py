"""Short doubles are stored as integers and read back unchanged."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap
from tests.data.make_companion import FIELDS, rows

from indextables.engine.merge import MergeInput, merge_splits
from indextables.engine.source import Run, SourceFile, SourceSpec, open_source, read_source
from indextables.engine.source import source_facts as facts_of
from indextables.engine.split import Split
from indextables.engine.store import open_store
from indextables.engine.writer import SplitWriter

LAYOUT = {"layout": "companion", "any_value": True}
FLOATS = pa.schema([("id", pa.int64()), ("value", pa.float64())])
SPECIAL = [-0.0, 0.0, math.nan, math.inf, -math.inf, 5e-324, 1 / 3, 0.1 + 0.7, 2.0**53, 1e300]


class Companion:
    """Splits of Parquet files in a folder."""

    def __init__(self, folder: Path, fields: list[dict[str, Any]] | None = None) -> None:
        (folder / "source").mkdir(exist_ok=True, parents=True)
        self.folder, self.fields = folder, fields or []
        self.source = open_source(SourceSpec((str(folder / "source"), "")))
        self.store = open_store(str(folder / "index"), "")

    def add(self, name: str, table: pa.Table) -> str:
        path = self.folder / "source" / f"{name}.parquet"
        pq.write_table(table, path)
        file = SourceFile(path.name, path.stat().st_size)
        facts = facts_of(self.source, file)
        writer = SplitWriter(table.schema, self.fields, LAYOUT)
        for batch in read_source(self.source, file, table.schema, batch_rows=100):
            writer.write(batch)
        run = Run(file.path, 0, facts.rows, file.size, None, facts.footer)
        writer.finish(self.store, f"{name}.split", [run])
        return f"{name}.split"

    def merge(self, schema: pa.Schema, *paths: str) -> str:
        inputs = [MergeInput(path) for path in paths]
        given: dict[str, Any] = {"schema": schema, "fields": self.fields, "options": LAYOUT}
        outcome = merge_splits(inputs, self.store, "merged.split", source=self.source, **given)
        assert not outcome.skipped
        return "merged.split"

    def open(self, path: str, schema: pa.Schema) -> Split:
        return Split(self.store, path, None, None, schema, source=self.source)


class Lean:
    """Splits in the lean layout."""

    layout = "lean"

    def __init__(self, folder: Path, fields: list[dict[str, Any]] | None = None) -> None:
        self.store, self.fields = open_store(str(folder / "index"), ""), fields or []

    def add(self, name: str, table: pa.Table) -> str:
        writer = SplitWriter(table.schema, self.fields, {"layout": self.layout})
        for batch in table.to_batches(max_chunksize=100):
            writer.write(batch)
        writer.finish(self.store, f"{name}.split")
        return f"{name}.split"

    def merge(self, schema: pa.Schema, *paths: str, deleted: BitMap | None = None) -> str:
        gone = None if deleted is None else deleted.serialize()
        inputs = [MergeInput(path, deleted=gone) for path in paths]
        given: dict[str, Any] = {"schema": schema, "fields": self.fields}
        options = {"layout": self.layout}
        outcome = merge_splits(inputs, self.store, "merged.split", options=options, **given)
        assert not outcome.skipped
        return "merged.split"

    def open(self, path: str, schema: pa.Schema, deleted: BitMap | None = None) -> Split:
        gone = None if deleted is None else deleted.serialize()
        return Split(self.store, path, None, gone, schema)


class Compatible(Lean):
    """Splits in the compatible layout."""

    layout = "compatible"


Kind = type[Companion] | type[Lean]
narrow_kinds = pytest.mark.parametrize("kind", [Companion, Lean])


def encodings(split: Split) -> dict[str, str]:
    return {column["name"]: column["encoding"] for column in split.describe()["columns"]}


def numbers(values: list[float | None]) -> pa.Table:
    return pa.table({"id": range(len(values)), "value": values}, schema=FLOATS)


def bits(array: pa.ChunkedArray) -> list[int | None]:
    """The bits of doubles: zeros and NaNs differ."""
    return array.combine_chunks().view(pa.int64()).to_pylist()


def check(split: Split, table: pa.Table) -> None:
    """Check that every kind of query returns the values of the table."""
    found = split.table(None, FLOATS)
    assert bits(found["value"]) == bits(table["value"])
    values = table["value"].combine_chunks()
    ends = [*pc.unique(values.drop_null()).to_pylist()[:6], 0.0, 12.5, -3.25]
    for end in ends:
        for lower, upper in (
            ((end, True), None),
            (None, (end, False)),
            ((end, False), (50.0, True)),
        ):
            query = {
                "type": "range",
                "field": "value",
                "lower": bound(lower),
                "upper": bound(upper),
            }
            expected = [i for i, v in enumerate(values.to_pylist()) if inside(v, lower, upper)]
            assert split.table(query, FLOATS)["id"].to_pylist() == expected, query
    order = [{"field": "value", "ascending": False, "nulls_first": False}]
    best = split.table(None, FLOATS, limit=3, order=order)["value"].to_pylist()
    ranked = sorted((v for v in values.to_pylist() if v is not None), key=rank, reverse=True)[:3]
    expected = [*map(rank, ranked), *[None] * 3]
    assert [None if v is None else rank(v) for v in best] == expected[: min(3, len(values))]


def bound(end: tuple[float, bool] | None) -> dict[str, Any] | None:
    if end is None:
        return None
    value = end[0]
    shown = value if math.isfinite(value) else str(value).replace("inf", "Infinity")
    return {"value": "NaN" if math.isnan(value) else shown, "inclusive": end[1]}


def rank(value: float) -> tuple[bool, float]:
    """A sort key in Spark's order: NaN is the greatest."""
    return math.isnan(value), 0.0 if math.isnan(value) else value


def inside(
    value: float | None, lower: tuple[float, bool] | None, upper: tuple[float, bool] | None
) -> bool:
    if value is None:
        return False
    at = rank(value)
    above = lower is None or at > rank(lower[0]) or (lower[1] and at == rank(lower[0]))
    below = upper is None or at < rank(upper[0]) or (upper[1] and at == rank(upper[0]))
    return above and below


@narrow_kinds
def test_columns_are_narrow_where_that_is_exact(tmp_path, kind):
    index = kind(tmp_path, FIELDS)
    table = rows(0)
    split = index.open(index.add("a", table), table.schema)
    found = encodings(split)
    assert (found["latency"], found["ratio"], found["noise"]) == ("f64_decimal", "f64", "f64")
    assert split.table(None, table.schema).equals(table)


def test_other_readers_find_doubles(tmp_path):
    index, table = Compatible(tmp_path), numbers([n / 100 for n in range(300)])
    split = index.open(index.add("a", table), FLOATS)
    assert encodings(split)["value"] == "f64"
    merged = index.open(index.merge(FLOATS, "a.split"), FLOATS)
    assert encodings(merged)["value"] == "f64"


@narrow_kinds
@pytest.mark.parametrize("special", SPECIAL)
def test_a_value_that_no_decimal_gives_keeps_its_column_wide(tmp_path, kind, special):
    index, table = kind(tmp_path), numbers([*(n / 100 for n in range(300)), special, None])
    split = index.open(index.add("a", table), FLOATS)
    short = special == 0.0 and math.copysign(1, special) > 0
    assert encodings(split)["value"] == ("f64_decimal" if short else "f64")
    check(split, table)


@narrow_kinds
def test_splits_of_other_digits_merge(tmp_path, kind):
    index = kind(tmp_path)
    tables = [
        numbers([n / 10 for n in range(200)]),
        numbers([None if n % 7 == 0 else n / 1000 for n in range(200)]),
        numbers([n / 3 for n in range(50)]),
    ]
    paths = [index.add(str(n), table) for n, table in enumerate(tables)]
    merged = index.open(index.merge(FLOATS, *paths[:2]), FLOATS)
    assert encodings(merged)["value"] == "f64_decimal"
    both = pa.concat_tables(tables[:2])
    assert bits(merged.table(None, FLOATS)["value"]) == bits(both["value"])
    shutil.move(tmp_path / "index" / "merged.split", tmp_path / "index" / "first.split")
    wide = index.open(index.merge(FLOATS, "first.split", paths[2]), FLOATS)
    assert encodings(wide)["value"] == "f64"
    assert bits(wide.table(None, FLOATS)["value"]) == bits(pa.concat_tables(tables)["value"])


def test_splits_of_the_layout_before_are_read_and_merge(tmp_path, fixtures):
    shutil.copytree(fixtures / "companion-f64", tmp_path, dirs_exist_ok=True)
    index, table = Companion(tmp_path, FIELDS), pa.concat_tables([rows(0), rows(300)])
    paths = ["0.split", "1.split"]
    for number, path in enumerate(paths):
        split = index.open(path, table.schema)
        assert encodings(split)["latency"] == "f64"
        assert split.table(None, table.schema).equals(rows(300 * number))
    merged = index.open(index.merge(table.schema, *paths), table.schema)
    assert encodings(merged)["latency"] == "f64_decimal"
    assert merged.table(None, table.schema).equals(table)


decimals = st.builds(lambda n, d: n / 10**d, st.integers(-(10**7), 10**7), st.integers(0, 4))
columns = st.lists(st.none() | decimals, max_size=80) | st.lists(
    st.none() | st.floats() | decimals, max_size=40
)


@narrow_kinds
@settings(max_examples=60)
@given(first=columns, second=columns)
def test_values_come_back_bit_by_bit(tmp_path_factory, kind, first, second):
    index = kind(tmp_path_factory.mktemp("digits"))
    tables = [numbers(first), numbers(second)]
    paths = [index.add(str(n), table) for n, table in enumerate(tables) if table.num_rows]
    for path, table in zip(paths, [t for t in tables if t.num_rows], strict=True):
        check(index.open(path, FLOATS), table)
    if len(paths) == 2:
        merged = index.open(index.merge(FLOATS, *paths), FLOATS)
        assert bits(merged.table(None, FLOATS)["value"]) == bits(pa.concat_tables(tables)["value"])


def totals(split: Split, keys: list[str]) -> list[str]:
    """Aggregates of the values, sorted."""
    operations = ["sum", "min", "max", "count"]
    functions = [{"op": op, "field": "value"} for op in operations]
    types = [pa.float64(), pa.float64(), pa.float64(), pa.int64()]
    schema = pa.schema(
        [*((key, pa.float64()) for key in keys), *zip(operations, types, strict=True)]
    )
    request = {"group_by": [{"field": key} for key in keys], "functions": functions}
    return sorted(map(str, split.aggregate(None, request, schema).to_pylist()))


@settings(max_examples=40)
@given(first=columns, second=columns, gone=st.sets(st.integers(0, 79), max_size=30))
def test_both_layouts_answer_alike(tmp_path_factory, first, second, gone):
    """Compare live rows and totals of each split and of their merge."""
    size = min(len(first), len(second))
    tables = [numbers(first), numbers(second)]
    deleted = BitMap(row for row in gone if row < size)
    answers = []
    for kind in (Compatible, Lean):
        index = kind(tmp_path_factory.mktemp("layouts"))
        paths = [index.add(str(n), table) for n, table in enumerate(tables)]
        splits = [index.open(path, FLOATS, deleted) for path in paths]
        splits.append(index.open(index.merge(FLOATS, *paths, deleted=deleted), FLOATS))
        found = [bits(split.table(None, FLOATS)["value"]) for split in splits]
        answers.append(
            (found, [totals(split, keys) for split in splits for keys in ([], ["value"])])
        )
    assert answers[0] == answers[1]
    kept = [
        value
        for table in tables
        for row, value in enumerate(bits(table["value"]))
        if row not in deleted
    ]
    assert answers[0][0][2] == kept
