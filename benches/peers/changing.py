"""Changing rows without Spark, next to other tools: add or replace rows, then find them."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    # adds or replaces the rows, and counts the rows that have the word
    Change = Callable[[pa.Table, str], int]

APPEND = "append 1,000 rows and find them"
UPSERT = "upsert 5,000 keys and find them"
_ROWS = {APPEND: 1_000, UPSERT: 5_000}
_TURNS = 9
# one row in this many is replaced: keys are spread over the table
_STEP = 17


def measure(
    what: str, rows: pa.Table, peers: Mapping[str, Mapping[str, Change]]
) -> dict[str, float]:
    """Median CPU milliseconds by peer; a row that is not found ends the run."""
    able = {name: changes[what] for name, changes in peers.items() if what in changes}
    taken: dict[str, list[float]] = {name: [] for name in able}
    for turn in range(_TURNS):
        word = f"round{turn}"
        given = _changed(rows, what, turn, word)
        for name, change in able.items():
            start = time.process_time()
            found = change(given, word)
            if turn:  # the first turn warms up
                taken[name].append((time.process_time() - start) * 1000)
            if found != given.num_rows:
                raise AssertionError(f"{what}: {name} finds {found} of {given.num_rows} rows")
    return {name: statistics.median(values) for name, values in taken.items()}


def _changed(rows: pa.Table, what: str, turn: int, word: str) -> pa.Table:
    """Make rows with a new word: rows with new ids, or replacements for existing ids."""
    size = _ROWS[what]
    positions = pa.array([(turn + at * _STEP) % rows.num_rows for at in range(size)])
    found = rows.take(positions)
    if what == APPEND:
        ids = pa.array(range(rows.num_rows + turn * size, rows.num_rows + (turn + 1) * size))
        found = _with(found, "id", ids.cast(rows.schema.field("id").type))
    return _with(found, "message", pc.binary_join_element_wise(found["message"], word, " "))


def _with(rows: pa.Table, name: str, values: pa.Array) -> pa.Table:
    at = rows.schema.get_field_index(name)
    return rows.set_column(at, rows.schema.field(at), values)
