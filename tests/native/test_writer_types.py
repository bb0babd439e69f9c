"""Generated types and values, nested at any depth, are read back exactly."""

from __future__ import annotations

import datetime as dt
import tempfile
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indextables.engine.split import Split
from indextables.engine.store import open_store
from indextables.engine.writer import SplitWriter

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
MICROS = st.integers(-(2**55), 2**55)
ATOMS = [
    (pa.bool_(), st.booleans()),
    (pa.int8(), st.integers(-128, 127)),
    (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.float32(), st.floats(width=32)),
    (pa.float64(), st.floats()),
    (
        pa.decimal128(9, 2),
        st.integers(-(10**9) + 1, 10**9 - 1).map(lambda n: Decimal(n).scaleb(-2)),
    ),
    (
        pa.decimal128(38, 10),
        st.integers(-(10**27), 10**27).map(lambda n: Decimal(n).scaleb(-10)),
    ),
    (pa.string(), TEXT),
    (pa.binary(), st.binary(max_size=9)),
    (pa.date32(), st.dates()),
    (pa.timestamp("us", tz="UTC"), st.datetimes(timezones=st.just(dt.UTC))),
    (pa.timestamp("us"), st.datetimes()),
    (pa.duration("us"), MICROS.map(lambda n: dt.timedelta(microseconds=n))),
]
KEYS = [(kind, values) for kind, values in ATOMS if not pa.types.is_floating(kind)]


def lists(inner):
    kind, values = inner
    return pa.list_(kind), st.lists(st.none() | values, max_size=3)


def structs(members):
    kind = pa.struct([(f"m{at}", kind) for at, (kind, _) in enumerate(members)])
    parts = {f"m{at}": st.none() | values for at, (_, values) in enumerate(members)}
    return kind, st.fixed_dictionaries(parts)


def maps(pair):
    (key, keys), (kind, values) = pair
    entries = st.lists(st.tuples(keys, st.none() | values), max_size=3, unique_by=lambda e: e[0])
    return pa.map_(key, kind), entries


TYPES = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        inner.map(lists),
        st.lists(inner, min_size=1, max_size=3).map(structs),
        st.tuples(st.sampled_from(KEYS), inner).map(maps),
    ),
    max_leaves=6,
)


@st.composite
def tables(draw):
    rows = draw(st.integers(1, 6))
    columns = {}
    for number in range(draw(st.integers(1, 4))):
        kind, values = draw(TYPES)
        column = draw(st.lists(st.none() | values, min_size=rows, max_size=rows))
        columns[f"c{number}"] = pa.array(column, kind)
    return pa.table(columns)


def round_trip(table, layout):
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(folder)
        writer = SplitWriter(table.schema, (), {"layout": layout})
        for batch in table.to_batches():
            writer.write(batch)
        info = writer.finish(store, "a.split")
        split = Split(store, "a.split", schema=table.schema)
        found = split.table(None, table.schema)
        present = [split.count({"type": "exists", "field": name}) for name in table.schema.names]
    assert found.schema == table.schema
    # the text of NaN equals itself
    assert repr(found.to_pylist()) == repr(table.to_pylist())
    assert present == [table.num_rows - column.null_count for column in table.columns]
    counted = [info.columns[name].null_count for name in table.schema.names]
    assert counted == [column.null_count for column in table.columns]


@given(tables(), st.sampled_from(["compatible", "lean"]))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_rows_of_generated_types_come_back_exactly(table, layout):
    round_trip(table, layout)


@pytest.mark.slow
@given(tables(), st.sampled_from(["compatible", "lean"]))
@settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
def test_rows_of_many_generated_types_come_back_exactly(table, layout):
    round_trip(table, layout)
