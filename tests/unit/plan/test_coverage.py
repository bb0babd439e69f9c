"""Covered splits and pending files have each row of a version exactly once, after any history."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from indextables.log import entries
from indextables.log.actions import AddFile, CompanionRun
from indextables.plan.coverage import cover, nothing_covered
from indextables.sources.table import FILES


@dataclass(frozen=True)
class File:
    path: str
    size: int
    rows: int
    stamp: str | None = None
    deleted: frozenset[int] = frozenset()

    @property
    def identity(self):
        return self.path, self.size, self.stamp

    def live(self):
        return [(self.identity, row) for row in range(self.rows) if row not in self.deleted]


@dataclass
class Piece:
    """A run of rows of a file that a split indexes."""

    file: File
    row: int
    rows: int


@dataclass
class World:
    versions: list[list[File]] = field(default_factory=lambda: [[]])
    splits: list[list[Piece]] = field(default_factory=list)
    made: int = 0


def files_table(files, *, rows_known):
    return pa.Table.from_pylist(
        [
            {
                "path": f.path, "size": f.size, "stamp": f.stamp,
                "rows": f.rows if rows_known else None,
            }
            for f in files
        ],
        FILES,
    )  # fmt: skip


def splits_table(splits):
    adds = []
    for number, pieces in enumerate(splits):
        paths = list(dict.fromkeys(piece.file.path for piece in pieces))
        runs = tuple(
            CompanionRun(
                paths.index(p.file.path), p.row, p.rows, p.file.rows, p.file.size, p.file.stamp
            )
            for p in pieces
        )
        adds.append(
            AddFile(
                f"{number}.split", {}, 1, 1, num_records=sum(p.rows for p in pieces),
                companion_source_files=tuple(paths), companion_runs=runs,
            )
        )  # fmt: skip
    return entries.from_adds(adds)


def rows_of(world, files, *, rows_known):
    """The rows that a read finds: visible documents and all live rows of pending files."""
    table = files_table(files, rows_known=rows_known)
    deleted = {f.path: BitMap(f.deleted) for f in files if f.deleted}
    covered = cover(splits_table(world.splits), table, deleted)
    found = []
    for split, hidden in zip(covered.splits, covered.hidden, strict=True):
        docs = [
            (piece.file.identity, piece.row + i)
            for piece in world.splits[split]
            for i in range(piece.rows)
        ]
        assert len(hidden) == 0 or max(hidden) < len(docs)
        found += [row for doc, row in enumerate(docs) if doc not in hidden]
    for at in covered.pending:
        found += files[at].live()
    assert sorted(covered.splits + covered.dead) == list(range(len(world.splits)))
    return found, covered


@st.composite
def worlds(draw):
    world = World()
    stamped = draw(st.booleans())

    def new_file(path=None):
        world.made += 1
        name = path or f"f{world.made}"
        stamp = str(world.made) if stamped else None
        return File(
            name, draw(st.integers(1, 3)) * 100 + world.made, draw(st.integers(0, 9)), stamp
        )

    for _ in range(draw(st.integers(1, 12))):
        now = list(world.versions[-1])
        step = draw(
            st.sampled_from(
                ["add", "add", "delete", "replace", "restore", "compact", "index", "index", "merge",
                 "drop", "again"]
            )
        )  # fmt: skip
        if step == "add":
            world.versions.append([*now, *(new_file() for _ in range(draw(st.integers(1, 3))))])
        elif step == "restore":
            world.versions.append(list(draw(st.sampled_from(world.versions))))
        elif step == "compact" and now:
            world.versions.append([*now[1:], new_file()])
        elif step in ("delete", "replace") and now:
            at = draw(st.integers(0, len(now) - 1))
            old = now[at]
            if step == "delete":
                gone = draw(st.frozensets(st.integers(0, 8)))
                gone = frozenset(row for row in gone if row < old.rows)
                now[at] = File(old.path, old.size, old.rows, old.stamp, gone)
            elif stamped:  # the same path with different content
                now[at] = new_file(old.path)
            world.versions.append(now)
        elif step in ("index", "again"):
            version = draw(st.sampled_from(world.versions))
            known = {p.file.identity for pieces in world.splits for p in pieces}
            chosen = [
                f for f in version
                if draw(st.booleans()) and (step == "again" or f.identity not in known)
            ]  # fmt: skip
            index(world, draw, chosen)
        elif step == "merge" and len(world.splits) > 1:
            one = world.splits.pop(draw(st.integers(0, len(world.splits) - 1)))
            other = world.splits.pop(draw(st.integers(0, len(world.splits) - 1)))
            world.splits.append(one + other)
        elif step == "drop" and world.splits:
            world.splits.pop(draw(st.integers(0, len(world.splits) - 1)))
    return world


def index(world, draw, files):
    pieces = []
    for file in files:
        cut = draw(st.integers(0, file.rows))
        parts = [(0, cut), (cut, file.rows - cut)] if 0 < cut < file.rows else [(0, file.rows)]
        for row, rows in parts:
            pieces.append(Piece(file, row, rows))
            if draw(st.booleans()):
                world.splits.append(pieces)
                pieces = []
    if pieces:
        world.splits.append(pieces)


@settings(max_examples=400, deadline=None)
@given(worlds(), st.data())
def test_every_row_of_a_version_is_found_once(world, data):
    files = data.draw(st.sampled_from(world.versions))
    expected = sorted(row for file in files for row in file.live())
    for rows_known in (True, False):
        found, _ = rows_of(world, files, rows_known=rows_known)
        assert sorted(found) == expected


@settings(max_examples=100, deadline=None)
@given(worlds(), st.data())
def test_a_version_that_is_wholly_indexed_has_nothing_pending(world, data):
    files = data.draw(st.sampled_from(world.versions))
    index(world, data.draw, files)
    _, covered = rows_of(world, files, rows_known=False)
    assert covered.pending == ()
    again, _ = rows_of(world, files, rows_known=True)
    assert sorted(again) == sorted(row for file in files for row in file.live())


def test_a_file_of_which_a_piece_is_missing_is_pending():
    file = File("a", 10, 8)
    world = World(splits=[[Piece(file, 0, 5)]])
    for known in (True, False):
        found, covered = rows_of(world, [file], rows_known=known)
        assert covered.pending == (0,)
        assert covered.dead == (0,)
        assert sorted(found) == file.live()


def test_a_vector_shifts_with_the_run():
    one, two = File("a", 10, 4), File("b", 11, 4, deleted=frozenset({1, 3}))
    world = World(splits=[[Piece(one, 0, 4), Piece(two, 0, 4)]])
    _, covered = rows_of(world, [one, two], rows_known=True)
    assert covered.hidden == (BitMap([5, 7]),)


def test_a_file_that_left_hides_its_run_and_is_counted():
    one, two = File("a", 10, 4), File("b", 11, 4)
    world = World(splits=[[Piece(one, 0, 4), Piece(two, 0, 4)]])
    _, covered = rows_of(world, [two], rows_known=True)
    assert (covered.hidden, covered.gone) == ((BitMap(range(4)),), 1)


def test_another_size_or_stamp_is_another_file():
    old = File("a", 10, 4, "1")
    world = World(splits=[[Piece(old, 0, 4)]])
    for new in (File("a", 11, 4, "1"), File("a", 10, 4, "2")):
        _, covered = rows_of(world, [new], rows_known=True)
        assert covered.pending == (0,)


def test_splits_that_do_not_fit_cover_nothing():
    file = File("a", 10, 4)
    world = World(splits=[[Piece(file, 0, 4)]])
    covered = nothing_covered(splits_table(world.splits), files_table([file], rows_known=True))
    assert (covered.splits, covered.dead, covered.pending) == ((), (0,), (0,))
