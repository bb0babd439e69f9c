"""Ranges and sets of numbers over many blocks of a column, alone and inside other predicates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from pyroaring import BitMap

from rows import LAYOUTS, open_rows

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 6000
DOC = pa.schema([("_doc", pa.int64())])


def columns() -> dict[str, np.ndarray[Any, Any]]:
    """Columns in which every row has a value: few bits, many bits, sorted, doubles."""
    random = np.random.default_rng(3)
    return {
        "few": random.choice([200, 201, 404, 500], ROWS),
        "wide": random.integers(-(2**62), 2**62, ROWS),
        "sorted": np.arange(ROWS) * 1_000_003 - 10**9,
        "double": np.round(random.gamma(2.0, 40.0, ROWS), 3),
        "any": random.normal(0, 1e9, ROWS),
    }


@pytest.fixture(scope="module", params=LAYOUTS)
def data(request, tmp_path_factory):
    values = columns()
    texts = ["even" if at % 2 == 0 else "odd" for at in range(ROWS)]
    rows = pa.table({**values, "message": texts, "address": ["::1"] * ROWS})
    gone = BitMap(range(0, ROWS, 7))
    opened = {}
    for name, deleted in (("whole", None), ("less", gone.serialize())):
        folder = tmp_path_factory.mktemp("split")
        opened[name] = open_rows(folder, rows, layout=request.param, deleted=deleted)
    return values, opened, set(gone)


def between(name: str, low: Any, high: Any) -> dict[str, Any]:
    ends = {"lower": low, "upper": high}
    bounds = {key: None if end is None else {"value": end, "inclusive": key == "lower"}
              for key, end in ends.items()}  # fmt: skip
    return {"type": "range", "field": name, **bounds}


def check(data: Any, query: dict[str, Any], holds: Callable[[int], bool]) -> None:
    """Check rows and counts of both splits against `holds`."""
    _, opened, gone = data
    wanted = [row for row in range(ROWS) if holds(row)]
    for name, split in opened.items():
        left = wanted if name == "whole" else [row for row in wanted if row not in gone]
        assert split.table(query, DOC)["_doc"].to_pylist() == left
        assert split.count(query) == len(left)


@pytest.mark.parametrize("name", columns())
def test_ranges_find_the_same_rows_alone_and_inside_other_conditions(data, name):
    values = data[0][name]
    ordered = np.sort(values)
    some = [ordered[at].item() for at in (0, 1, 900, ROWS // 2, -2, -1)]
    ends = [None, some[0] - 1, *some, some[-1] + 1]
    for low in ends:
        for high in ends:
            query = between(name, low, high)
            inside = [(low is None or v >= low) and (high is None or v < high)
                      for v in values.tolist()]  # fmt: skip
            check(data, query, inside.__getitem__)
    low, high = some[2], some[3]
    query = between(name, low, high)
    inside = ((values >= low) & (values < high)).tolist()
    even = {"type": "token_term", "field": "message", "text": "even"}
    rare = {"type": "set", "field": "sorted", "values": data[0]["sorted"][::997].tolist()}
    check(data, {"type": "not", "arg": query}, lambda row: not inside[row])
    check(data, {"type": "and", "args": [even, query]}, lambda row: inside[row] and row % 2 == 0)
    check(data, {"type": "and", "args": [query, rare]}, lambda row: inside[row] and row % 997 == 0)
    check(data, {"type": "or", "args": [query, rare]}, lambda row: inside[row] or row % 997 == 0)
    without = {"type": "and", "args": [even, {"type": "not", "arg": query}]}
    check(data, without, lambda row: row % 2 == 0 and not inside[row])
    other = between("sorted", data[0]["sorted"][1000].item(), data[0]["sorted"][5000].item())
    both = {"type": "and", "args": [query, other]}
    check(data, both, lambda row: inside[row] and 1000 <= row < 5000)


@pytest.mark.parametrize("name", ["few", "wide", "sorted"])
def test_sets_of_many_numbers_find_the_rows_that_have_one(data, name):
    values = data[0][name].tolist()
    for step in (3, 50):
        wanted = sorted({*values[::step], *(value + 1 for value in values[::97])})
        query = {"type": "set", "field": name, "values": wanted * 20}
        known = set(wanted)
        check(data, query, lambda row, known=known: values[row] in known)
