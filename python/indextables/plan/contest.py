"""Decide which of several rows of one key stays. Pure; whole columns at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from indextables.model import kernels as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# columns besides those of the table
ID, ARRIVAL, DELETES = "__id", "__arrival", "__deletes"


@dataclass(frozen=True)
class Outcome:
    """`dead` marks the rows that are deleted.

    `updated` are old rows that a new one replaces, and the new ones that replace them. `parts` are
    the rows that are merged into one new row per key, in order; `starts` are the positions in
    `parts` where a key begins.
    """

    dead: NDArray[np.bool_]
    updated: NDArray[np.bool_]
    parts: NDArray[np.int64]
    starts: NDArray[np.int64]


def contest(rows: pa.Table, sequence: Sequence[str], engine: str) -> Outcome:
    """Decide for rows with their key, arrival, whether they delete it, and sequence columns.

    Rows that are in the table already have arrived at -1. The largest sequence wins, then the last
    to arrive; with `first-row` the first one.
    """
    codes = rows.column(ID).combine_chunks().dictionary_encode().indices
    order = _in_order(rows, codes, () if engine == "first-row" else sequence)
    code = codes.to_numpy()[order]
    changes = code[1:] != code[:-1]
    deletes = rows.column(DELETES).to_numpy()[order]
    starts = np.flatnonzero(np.append(True, changes))
    is_old = rows.column(ARRIVAL).to_numpy()[order] < 0
    if engine == "partial-update":
        return _fold(order, starts, deletes, is_old)
    wins = np.append(True, changes) if engine == "first-row" else np.append(changes, True)
    dead = np.ones(len(order), dtype=bool)
    dead[order[wins & ~deletes]] = False
    updated = np.zeros(len(order), dtype=bool)
    updated[order] = _replaced(starts, is_old, ~dead[order])
    return Outcome(dead, updated, np.empty(0, np.int64), np.empty(0, np.int64))


def _in_order(rows: pa.Table, codes: pa.Array, sequence: Sequence[str]) -> NDArray[np.int64]:
    """Rows sorted by key and precedence; a missing sequence is the smallest."""
    arrays: dict[str, pa.Array | pa.ChunkedArray] = {"key": codes}
    for number, name in enumerate(sequence):
        arrays[f"{number} present"] = pc.is_valid(rows.column(name)).cast(pa.int8())
        arrays[f"{number} value"] = rows.column(name)
    arrays["arrival"] = rows.column(ARRIVAL)
    keys = [(name, "ascending") for name in arrays]
    found: NDArray[np.int64] = pc.sort_indices(pa.table(arrays), keys).to_numpy()
    return found


def _fold(
    order: NDArray[np.int64],
    starts: NDArray[np.int64],
    deletes: NDArray[np.bool_],
    is_old: NDArray[np.bool_],
) -> Outcome:
    """Keys with several rows after their last delete get a new row; others keep theirs."""
    sizes = np.diff(np.append(starts, len(order)))
    places = np.arange(len(order))
    last_delete = np.maximum.reduceat(np.where(deletes, places, -1), starts)
    alive = places > np.repeat(last_delete, sizes)
    left = np.add.reduceat(alive.astype(np.int64), starts)
    folded = alive & np.repeat(left > 1, sizes)
    dead = np.ones(len(order), dtype=bool)
    dead[order[alive & ~folded]] = False
    counts = left[left > 1]
    updated = np.zeros(len(order), dtype=bool)
    updated[order] = _replaced(starts, is_old, ~dead[order], folded)
    return Outcome(dead, updated, order[folded], np.cumsum(counts) - counts)


def _replaced(
    starts: NDArray[np.int64],
    is_old: NDArray[np.bool_],
    lives: NDArray[np.bool_],
    folded: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Among rows sorted by key: old rows that are replaced, and the new ones that replace them."""
    sizes = np.diff(np.append(starts, len(is_old)))
    comes = lives & ~is_old
    # a merged row is new too, although none of its parts stays
    new = np.logical_or.reduceat(comes if folded is None else comes | folded, starts)
    goes = is_old & ~lives
    old = np.logical_or.reduceat(goes, starts)
    found: NDArray[np.bool_] = (goes & np.repeat(new, sizes)) | (comes & np.repeat(old, sizes))
    return found


def fold_rows(rows: pa.Table, starts: NDArray[np.int64]) -> pa.Table:
    """One row per key, with the last value of each column that is not null."""
    sizes = np.diff(np.append(starts, rows.num_rows))
    ends = starts + sizes - 1
    places = np.arange(rows.num_rows)
    columns = []
    for column in rows.columns:
        valid = pc.is_valid(column).to_numpy()
        last = np.maximum.reduceat(np.where(valid, places, -1), starts)
        # a key without a value keeps the null of its last row
        columns.append(column.take(pa.array(np.where(last < 0, ends, last))))
    return pa.Table.from_arrays(columns, schema=rows.schema)
