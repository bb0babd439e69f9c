"""The part of a source's version that a companion's splits hold. Pure.

    a file of the version, wholly in live splits  ->  their documents, minus the rows deleted in it
    a file of the version that is not             ->  pending: searched without the index
    documents of anything else                    ->  hidden

So the covered splits and the pending files together have the rows of the version, each once,
whatever was indexed, merged, dropped or left incomplete before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyroaring import BitMap

from indextables.model import kernels as pc

_Numbers: TypeAlias = NDArray[np.int64]
# separates the members of a file's identity; never part of a path
_SEPARATOR = "\x00"
_NUMBERS = ("file", "row", "rows", "fileRows", "size")


@dataclass(frozen=True)
class Coverage:
    """The splits that hold rows of a version, what to hide in them, and what is missing.

    `splits` are rows of the table of live splits, `hidden` their documents that are not rows of
    the version, `held` the number of documents of files of the version. `dead` are splits without
    any. `pending` are rows of the table of files, `gone` is the number of indexed files that are
    not in the version.
    """

    splits: tuple[int, ...]
    hidden: tuple[BitMap, ...]
    dead: tuple[int, ...]
    pending: tuple[int, ...]
    held: tuple[int, ...] = ()
    gone: int = 0


@dataclass(frozen=True)
class _Runs:
    """The runs of all splits, one entry each: their documents and their file."""

    split: _Numbers
    first: _Numbers
    row: _Numbers
    rows: _Numbers
    total: _Numbers
    # position among the files of the version, -1 for none of them
    file: _Numbers
    key: pa.Array


def cover(splits: pa.Table, files: pa.Table, deleted: Mapping[str, BitMap]) -> Coverage:
    """Compare live splits with the files of a version and the rows deleted in it."""
    runs = _flatten(splits, files)
    chosen = _choose(runs, files)
    live = np.zeros(splits.num_rows, dtype=bool)
    live[runs.split[chosen]] = True
    hidden = _hide(runs, chosen, files, deleted)
    kept = np.flatnonzero(live).tolist()
    held = np.zeros(splits.num_rows, dtype=np.int64)
    np.add.at(held, runs.split[chosen], runs.rows[chosen])
    covered = np.zeros(files.num_rows, dtype=bool)
    covered[runs.file[chosen]] = True
    # a file without rows has nothing to find
    covered |= pc.fill_null(pc.equal(files["rows"], 0), False).to_numpy()  # noqa: FBT003
    foreign = pc.unique(runs.key.filter(pa.array(runs.file < 0)))
    return Coverage(
        splits=tuple(kept),
        hidden=tuple(hidden.get(split, BitMap()) for split in kept),
        dead=tuple(np.flatnonzero(~live).tolist()),
        pending=tuple(np.flatnonzero(~covered).tolist()),
        held=tuple(held[kept].tolist()),
        gone=len(foreign),
    )


def nothing_covered(splits: pa.Table, files: pa.Table) -> Coverage:
    """The coverage of a version if no split can be used."""
    return Coverage((), (), tuple(range(splits.num_rows)), tuple(range(files.num_rows)))


def _flatten(splits: pa.Table, files: pa.Table) -> _Runs:
    lists = splits["companionRuns"].combine_chunks()
    paths = splits["companionSourceFiles"].combine_chunks()
    split = pc.list_parent_indices(lists).to_numpy().astype(np.int64)
    members = lists.flatten()
    numbers = {
        name: pc.struct_field(members, name).to_numpy(zero_copy_only=False).astype(np.int64)
        for name in _NUMBERS
    }
    # the start of each split's paths; lists may be empty
    lengths = pc.fill_null(pc.list_value_length(paths), 0).to_numpy().astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]) if len(lengths) else lengths
    names = paths.flatten().take(pa.array(starts[split] + numbers["file"]))
    key = _identity(names, pa.array(numbers["size"]), pc.struct_field(members, "stamp"))
    known = _identity(*(files[name].combine_chunks() for name in ("path", "size", "stamp")))
    found = pc.fill_null(pc.index_in(key, value_set=known), -1).to_numpy().astype(np.int64)
    return _Runs(
        split, _first_documents(split, numbers["rows"]), numbers["row"], numbers["rows"],
        numbers["fileRows"], found, key,
    )  # fmt: skip


def _identity(path: pa.Array, size: pa.Array, stamp: pa.Array) -> pa.Array:
    text = pa.string()
    return pc.binary_join_element_wise(
        path.cast(text), size.cast(text), pc.fill_null(stamp.cast(text), ""), _SEPARATOR
    )


def _first_documents(split: _Numbers, rows: _Numbers) -> _Numbers:
    """The first document of each run: the number of rows of the runs before it in its split."""
    before = np.cumsum(rows) - rows
    if not len(split):
        return before
    begins = np.flatnonzero(np.concatenate([[True], split[1:] != split[:-1]]))
    lengths = np.diff(np.concatenate([begins, [len(split)]]))
    return before - np.repeat(before[begins], lengths)


def _choose(runs: _Runs, files: pa.Table) -> _Numbers:
    """The positions of the runs that hold the files of the version, each row once."""
    totals = _totals(runs, files)
    mine = np.flatnonzero(runs.file >= 0)
    counts = np.bincount(runs.file[mine], minlength=files.num_rows)
    alone = counts[runs.file[mine]] == 1
    whole = (runs.row[mine] == 0) & (runs.rows[mine] == totals[runs.file[mine]])
    simple = mine[alone & whole]
    several = mine[~alone]
    by_file: dict[int, list[int]] = {}
    for run in several.tolist():
        by_file.setdefault(int(runs.file[run]), []).append(run)
    more = [
        run
        for file, candidates in by_file.items()
        for run in _tile(candidates, runs, int(totals[file]))
    ]
    return np.sort(np.concatenate([simple, np.array(more, dtype=np.int64)]))


def _totals(runs: _Runs, files: pa.Table) -> _Numbers:
    """The number of rows of each file: by its table, or by its runs; -1 if unknown."""
    totals: _Numbers = pc.fill_null(files["rows"], -1).to_numpy().astype(np.int64)
    known = (runs.file >= 0) & ((runs.total > 0) | (runs.rows == 0))
    unknown = known & (totals[runs.file] < 0) if files.num_rows else known
    found: _Numbers = totals.copy()
    found[runs.file[unknown]] = runs.total[unknown]
    return found


def _tile(candidates: Iterable[int], runs: _Runs, total: int) -> list[int]:
    """Runs that cover a file without gaps; none if a row is missing.

    The file may have been indexed twice, and divided differently each time.
    """
    starting: dict[int, list[int]] = {}
    for run in candidates:
        starting.setdefault(int(runs.row[run]), []).append(run)
    ways: dict[int, list[int]] = {0: []}
    open_rows = [0]
    while open_rows:
        row = open_rows.pop()
        for run in starting.get(row, ()):
            if row == 0 and int(runs.rows[run]) == 0 and total == 0:
                return [run]
            end = row + int(runs.rows[run])
            if end not in ways:
                ways[end] = [*ways[row], run]
                open_rows.append(end)
    return ways.get(total, [])


def _hide(
    runs: _Runs, chosen: _Numbers, files: pa.Table, deleted: Mapping[str, BitMap]
) -> dict[int, BitMap]:
    """The documents to hide by split: runs that were not chosen, and deleted rows of the others."""
    hidden: dict[int, BitMap] = {}
    is_chosen = np.zeros(len(runs.split), dtype=bool)
    is_chosen[chosen] = True
    for run in np.flatnonzero(~is_chosen).tolist():
        first = int(runs.first[run])
        _at(hidden, int(runs.split[run])).add_range(first, first + int(runs.rows[run]))
    if not deleted:
        return hidden
    touched = pc.is_in(files["path"], value_set=pa.array(list(deleted), pa.string())).to_numpy()
    paths = files["path"]
    for run in chosen[touched[runs.file[chosen]]].tolist():
        row, rows, first = (int(n[run]) for n in (runs.row, runs.rows, runs.first))
        inside = deleted[paths[int(runs.file[run])].as_py()] & BitMap(range(row, row + rows))
        if inside:
            _at(hidden, int(runs.split[run])).update(_shifted(inside, first - row))
    return hidden


def _shifted(rows: BitMap, by: int) -> BitMap:
    if by == 0:
        return rows
    return BitMap(np.asarray(rows.to_array(), dtype=np.int64) + by)


def _at(hidden: dict[int, BitMap], split: int) -> BitMap:
    return hidden.setdefault(split, BitMap())
