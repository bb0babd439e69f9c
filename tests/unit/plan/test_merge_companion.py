"""Merging companion splits drops runs that are hidden completely; other hidden rows stay hidden."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from indextables.log.actions import AddFile, CompanionRun
from indextables.plan.merge_companion import (
    gone_documents,
    mergeable,
    moved_documents,
    with_runs,
)


@st.composite
def splits(draw):
    """A split's runs, and some of its documents."""
    lengths = draw(st.lists(st.integers(0, 5), max_size=5))
    runs = [CompanionRun(n, 0, rows, rows, 100 + n) for n, rows in enumerate(lengths)]
    total = sum(lengths)
    hidden = draw(st.sets(st.integers(0, max(total - 1, 0)))) if total else set()
    return runs, BitMap(hidden)


@given(st.lists(splits(), max_size=4))
def test_the_rows_that_are_seen_are_those_that_were_seen_before(parts):
    before, after, position = [], [], 0
    moved = moved_documents(parts)
    for number, (runs, hidden) in enumerate(parts):
        gone, first = gone_documents(runs, hidden), 0
        for run in runs:
            documents = range(first, first + run.rows)
            first += run.rows
            before += [(number, run.file, d) for d in documents if d not in hidden]
            if run.rows and all(d in gone for d in documents):
                continue
            assert not any(d in gone for d in documents)
            after += [
                (number, run.file, d)
                for offset, d in enumerate(documents)
                if position + offset not in moved
            ]
            position += run.rows
    assert after == before
    assert not moved or moved.max() < position


def test_splits_of_a_sync_that_is_not_complete_are_left_alone():
    vector = pa.struct([("file", pa.string()), ("cardinality", pa.int64())])
    files = pa.table(
        {
            "path": ["a", "b", "c"],
            "numRecords": [3, 3, 3],
            "deletionVector": pa.array(
                [None, {"file": "x", "cardinality": 3}, {"file": "x", "cardinality": 1}], vector
            ),
        }
    )
    found = mergeable(files)
    assert found["path"].to_pylist() == ["a", "c"]
    assert found["deletionVector"].null_count == 2


def test_runs_keep_what_the_log_knew_of_their_files():
    def add(path, files, runs):
        return AddFile(path, {}, 1, 1, companion_source_files=files, companion_runs=runs)

    one = add("1", ("f", "g"), (CompanionRun(0, 0, 5, 9, 50), CompanionRun(1, 0, 2, 2, 20, "s")))
    two = add("2", ("f",), (CompanionRun(0, 5, 4, 9, 50),))
    merged = [
        {"path": "g", "row": 0, "rows": 2, "size": 20, "stamp": "s", "footer": 1},
        {"path": "f", "row": 5, "rows": 4, "size": 50, "stamp": None, "footer": 2},
    ]
    found = with_runs(add("3", None, None), [one, two], merged)
    assert found.companion_source_files == ("g", "f")
    assert found.companion_runs == (
        CompanionRun(0, 0, 2, 2, 20, "s"),
        CompanionRun(1, 5, 4, 9, 50),
    )
