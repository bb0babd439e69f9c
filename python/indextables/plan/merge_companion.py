"""Merge splits of a companion: which runs are left out, and how hidden documents move. Pure.

A run all of whose rows are hidden belongs to a file that the source no longer has: it is left out.
Single hidden rows stay, because a source that is restored has them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from indextables.log.actions import AddFile, CompanionRun
from indextables.model import kernels as pc


def mergeable(files: pa.Table) -> pa.Table:
    """The splits that may be merged: not those of an incomplete sync, which hide all rows.

    Hidden rows stay in the merged split, so they are not a reason to rewrite a split.
    """
    vectors = files.column("deletionVector")
    hidden = pc.fill_null(pc.struct_field(vectors, "cardinality"), 0)
    kept = files.filter(pc.less(hidden, pc.fill_null(files.column("numRecords"), 1)))
    at = kept.schema.get_field_index("deletionVector")
    return kept.set_column(at, kept.schema.field(at), pa.nulls(kept.num_rows, vectors.type))


def gone_documents(runs: Sequence[CompanionRun], hidden: BitMap) -> BitMap:
    """The documents of runs that are hidden as a whole."""
    gone = BitMap()
    for first, run in _placed(runs):
        if run.rows and hidden.range_cardinality(first, first + run.rows) == run.rows:
            gone.add_range(first, first + run.rows)
    return gone


def moved_documents(parts: Sequence[tuple[Sequence[CompanionRun], BitMap]]) -> BitMap:
    """The documents of the merged split that stay hidden; parts are the splits in their order."""
    moved = BitMap()
    base = 0
    for runs, hidden in parts:
        gone = gone_documents(runs, hidden)
        for first, run in _placed(runs):
            if first in gone and run.rows:
                continue
            inside = hidden & BitMap(range(first, first + run.rows))
            if inside:
                shifted = np.asarray(inside.to_array(), dtype=np.int64) + (base - first)
                moved |= BitMap(shifted)
            base += run.rows
    return moved


def _placed(runs: Sequence[CompanionRun]) -> Iterator[tuple[int, CompanionRun]]:
    """Each run with its first document."""
    first = 0
    for run in runs:
        yield first, run
        first += run.rows


def with_runs(
    add: AddFile, sources: Sequence[AddFile], merged: Sequence[Mapping[str, Any]]
) -> AddFile:
    """The merged split in the form of the log; `merged` are the runs that the engine reports."""
    totals = {
        ((source.companion_source_files or ())[run.file], run.size, run.stamp): run.file_rows
        for source in sources
        for run in source.companion_runs or ()
    }
    paths = list(dict.fromkeys(run["path"] for run in merged))
    places = {path: place for place, path in enumerate(paths)}
    runs = tuple(
        CompanionRun(
            file=places[run["path"]],
            row=run["row"],
            rows=run["rows"],
            file_rows=totals[run["path"], run["size"], run["stamp"]],
            size=run["size"],
            stamp=run["stamp"],
        )
        for run in merged
    )
    return replace(
        add,
        companion_source_files=tuple(paths),
        companion_runs=runs,
        companion_delta_version=sources[-1].companion_delta_version,
        companion_fast_field_mode=sources[-1].companion_fast_field_mode,
    )
