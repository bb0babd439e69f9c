"""The history of a table, and the differences between two versions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.log.actions import AddFile, Metadata, Protocol, RemoveFile
from indextables.page.answers.facts import table_facts
from indextables.page.answers.values import cells
from indextables.read.changes import COLUMNS as CHANGE_COLUMNS
from indextables.read.changes import changes_of, plan_changes, read_changes
from indextables.read.request import ScanRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indextables.log.actions import Action
    from indextables.log.history import HistoryEntry
    from indextables.page.answers.facts import TableFacts
    from indextables.read.table import OpenTable

MOST_VERSIONS = 60
MOST_ROWS = 40
MOST_SOURCES = 20
MOST_COMMITS = 200
CHANGE_TYPE, CHANGE_VERSION = "_change_type", "_commit_version"


@dataclass(frozen=True)
class Sums:
    """Numbers of splits, rows and bytes, and of rows hidden by deletion vectors."""

    splits: int = 0
    rows: int = 0
    size: int = 0


@dataclass(frozen=True)
class VersionFacts:
    """One commit: what it added, removed and deleted."""

    version: int
    timestamp_ms: int
    operation: str
    engine: str
    parameters: Mapping[str, object]
    added: Sums
    removed: Sums
    deleted_rows: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """What changed from one version to another."""

    before: TableFacts
    after: TableFacts
    added: Sums
    removed: Sums
    newly_deleted: int
    columns: tuple[tuple[str, str, str], ...]
    properties: tuple[tuple[str, str, str], ...]
    rows: tuple[dict[str, str | None], ...]
    row_columns: tuple[str, ...]
    note: str


def history(table: OpenTable) -> list[VersionFacts]:
    """The newest versions, newest first."""
    return [_version(table, entry) for entry in table.log.history(MOST_VERSIONS)]


def difference(before: OpenTable, after: OpenTable) -> Difference:
    """Compare two versions: splits, columns, properties, and some of the rows."""
    old, new = table_facts(before), table_facts(after)
    was, now = ({split.path: split for split in facts.splits} for facts in (old, new))
    added = [split for path, split in now.items() if path not in was]
    removed = [split for path, split in was.items() if path not in now]
    deleted = sum(now[path].deleted - was[path].deleted for path in now.keys() & was.keys())
    rows, note = _rows(after, old.version + 1, new.version)
    names = tuple(rows.column_names) if rows is not None else ()
    texts = {} if rows is None else {name: cells(rows.column(name)) for name in names}
    count = 0 if rows is None else rows.num_rows
    return Difference(
        old,
        new,
        Sums(len(added), sum(s.rows or 0 for s in added), sum(s.size for s in added)),
        Sums(len(removed), sum(s.rows or 0 for s in removed), sum(s.size for s in removed)),
        deleted,
        _compared(
            {c.name: f"{c.type}, {c.index}" for c in old.columns},
            {c.name: f"{c.type}, {c.index}" for c in new.columns},
        ),
        _compared(dict(old.properties), dict(new.properties)),
        tuple({name: texts[name][at] for name in names} for at in range(count)),
        names,
        note,
    )


def _version(table: OpenTable, entry: HistoryEntry) -> VersionFacts:
    commit = table.log.reader.commit(entry.version)
    actions = () if commit is None else commit.actions
    facts = () if commit is None else commit.facts
    adds = [a for a in actions if isinstance(a, AddFile)]
    removes = [a for a in actions if isinstance(a, RemoveFile)]
    # a split that is removed and added again has only changed its deletion vector
    again = {a.path for a in adds} & {r.path for r in removes}
    fresh = [a for a in adds if a.path not in again]
    gone = [r for r in removes if r.path not in again]
    deleted = entry.metrics.get("deletedRows") or 0
    return VersionFacts(
        entry.version,
        entry.timestamp_ms,
        entry.operation or "UNKNOWN",
        entry.engine_info or "",
        dict(entry.parameters),
        Sums(len(fresh), sum(a.num_records or 0 for a in fresh), sum(a.size for a in fresh)),
        Sums(len(gone), 0, sum(r.size or 0 for r in gone)),
        int(str(deleted)) if str(deleted).isdigit() else 0,
        _notes(facts, len(again), entry.version),
    )


def _notes(actions: tuple[Action, ...], again: int, version: int) -> tuple[str, ...]:
    found = []
    if again:
        found.append(f"deletions changed in {again} split{'' if again == 1 else 's'}")
    if version and any(isinstance(a, Metadata) for a in actions):
        found.append("schema or properties changed")
    if version and any(isinstance(a, Protocol) for a in actions):
        found.append("protocol changed")
    return tuple(found)


def _compared(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[tuple[str, str, str], ...]:
    names = [*old, *(name for name in new if name not in old)]
    pairs = ((name, old.get(name, ""), new.get(name, "")) for name in names)
    return tuple(each for each in pairs if each[1] != each[2])


def _rows(table: OpenTable, first: int, last: int) -> tuple[pa.Table | None, str]:
    """Some of the inserted and deleted rows; the number of versions is bounded."""
    if first > last:
        return None, "The versions are the same."
    if last - first >= MOST_COMMITS:
        return None, f"Rows are shown for at most {MOST_COMMITS} versions at a time."
    changed = list(islice(changes_of(table, first, last), MOST_SOURCES))
    marks = [pa.field(name, CHANGE_COLUMNS[name]) for name in (CHANGE_TYPE, CHANGE_VERSION)]
    schema = table.snapshot.schema.to_arrow_schema()
    wanted = pa.schema([*marks, *schema])
    scan = plan_changes(table, ScanRequest(wanted, here=True), changed)
    batches: list[pa.RecordBatch] = []
    left = MOST_ROWS
    for batch in read_changes(scan.spec, scan.sources):
        batches.append(batch.slice(0, left))
        left -= batches[-1].num_rows
        if left <= 0:
            break
    rows = pa.Table.from_batches(batches, schema=wanted)
    return rows, f"The first {MOST_ROWS} changed rows." if left <= 0 else ""
