"""The commits of a sync: hidden splits one by one, and one commit that makes all visible.

Until a sync is complete, its splits hide all of their rows, so that readers of the last complete
version do not see them. Readers of the source's newest version ignore the deletion vectors of the
log: coverage determines what to hide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyroaring import BitMap

from indextables.index.vectors import load_deletions
from indextables.log import entries
from indextables.log.conflicts import conflict
from indextables.log.operations import removal
from indextables.log.protocol import COMPANION
from indextables.log.snapshot import without_paths
from indextables.log.transaction import Operation, Transaction
from indextables.model import kernels as pc
from indextables.model.types import render_schema
from indextables.plan.companion import SOURCE_VERSION, with_metadata
from indextables.plan.coverage import cover
from indextables.plan.fields import remember_fields
from indextables.rows.change_rows import put_vectors

if TYPE_CHECKING:
    from indextables.log import AddFile, Snapshot
    from indextables.log.actions import Action
    from indextables.plan.companion import Companion
    from indextables.read.table import OpenTable
    from indextables.sources.table import SourceSnapshot


@dataclass(frozen=True)
class Completion:
    """What a sync indexed, ready to become the index of a source version.

    `fresh` are splits that are not in the log yet, `replaced` splits that are removed although they
    hold rows, `empty` files without rows. A rebuild removes all splits but the fresh ones.
    """

    source: SourceSnapshot
    companion: Companion
    fields: Sequence[Mapping[str, Any]]
    fresh: Sequence[AddFile] = ()
    replaced: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()
    rebuilt: bool = False


def commit_splits(
    table: OpenTable,
    source: SourceSnapshot,
    adds: Sequence[AddFile],
    replaced: frozenset[str] = frozenset(),
) -> list[AddFile]:
    """Add splits of an unfinished sync; drop those whose files others have indexed.

    `replaced` are splits that are removed when the sync completes: their files are indexed again.
    """
    if not adds:
        return []
    kept: list[AddFile] = []

    def rebuild(now: Snapshot) -> tuple[Action, ...]:
        kept[:] = _missing(without_paths(now.files(), replaced), source, adds)
        vectors = put_vectors(
            table.log,
            {add.path: BitMap(range(add.num_records or 0)) for add in kept if add.num_records},
            table.settings,
        )
        return tuple(
            replace(add, data_change=False, deletion_vector=vectors.get(add.path)) for add in kept
        )

    table.log.commit(
        Transaction(
            Operation.SYNC,
            table.snapshot.version,
            rebuild=rebuild,
            features=frozenset({COMPANION}),
            parameters={"sourceVersion": source.version, "complete": "false"},
            metrics={"splits": len(adds)},
            on_companion=True,
        )
    )
    wanted = {add.path for add in kept}
    table.store.delete([add.path for add in adds if add.path not in wanted])
    return kept


def _missing(splits: pa.Table, source: SourceSnapshot, adds: Sequence[AddFile]) -> list[AddFile]:
    """The new splits with a file that none of these splits holds."""
    pending = cover(splits, source.files, {}).pending
    names = set(source.files["path"].take(pa.array(pending, pa.int64())).to_pylist())
    return [add for add in adds if names & {*(add.companion_source_files or ())}]


def complete(table: OpenTable, done: Completion) -> int | None:
    """Commit a source version: its deletion vectors and schema, without dead splits.

    Returns the number of removed splits; None if there was nothing to do. Raises a ConflictError
    if another sync completed in the meantime, or splits were removed.
    """
    before = table.snapshot.metadata.configuration.get(SOURCE_VERSION)
    built: dict[int, tuple[tuple[Action, ...], int]] = {}

    def rebuild(now: Snapshot) -> tuple[Action, ...]:
        if now.metadata.configuration.get(SOURCE_VERSION) != before:
            raise conflict(Operation.SYNC, None, now.version, "another sync was completed")
        if now.version not in built:
            built[now.version] = _completed(table, done, now)
        return built[now.version][0]

    newest = table.log.snapshot()
    if not rebuild(newest):
        return None
    committed = table.log.commit(
        Transaction(
            Operation.SYNC,
            newest.version,
            rebuild=rebuild,
            features=frozenset({COMPANION}),
            parameters={"sourceVersion": done.source.version, "complete": "true"},
            on_companion=True,
        )
    )
    return built[committed.version - 1][1]


def _completed(table: OpenTable, done: Completion, now: Snapshot) -> tuple[tuple[Action, ...], int]:
    """The actions of the commit that completes a sync, and the number of splits it removes."""
    source, fresh = done.source, {add.path for add in done.fresh}
    old = now.files().slice(0, 0) if done.rebuilt else without_paths(now.files(), done.replaced)
    files = entries.concat([old, entries.from_adds(done.fresh)])
    covered = cover(files, source.files, source.deleted)
    if {source.files["path"][row].as_py() for row in covered.pending} - done.empty:
        raise conflict(Operation.SYNC, None, now.version, "splits were removed")
    kept = files.take(pa.array(covered.splits, pa.int64()))
    changed = _with_vectors(table, kept, covered.hidden, fresh)
    gone = entries.to_adds(without_paths(now.files(), set(kept["path"].to_pylist())))
    metadata = replace(
        with_metadata(now.metadata, done.companion, remember_fields(done.fields)),
        schema_string=render_schema(source.schema),
        partition_columns=source.partition_columns,
    )
    if not gone and not changed and metadata == now.metadata:
        return (), 0
    replaced = [removal(add) for add in changed if add.path not in fresh]
    removed = (replace(removal(add), data_change=False) for add in (*gone,))
    return (metadata, *removed, *replaced, *changed), len(gone)


def _with_vectors(
    table: OpenTable, splits: pa.Table, hidden: Sequence[BitMap], fresh: set[str]
) -> list[AddFile]:
    """The splits that hide other documents than before, and the fresh ones."""
    vectors = pc.is_valid(splits["deletionVector"]).to_pylist()
    paths = splits["path"].to_pylist()
    touched = [
        row
        for row, (path, gone) in enumerate(zip(paths, hidden, strict=True))
        if gone or vectors[row] or path in fresh
    ]
    changed = {}
    for row, add in zip(
        touched, entries.to_adds(splits.take(pa.array(touched, pa.int64()))), strict=True
    ):
        if add.path in fresh or not _hides(table, add, hidden[row]):
            changed[add.path] = (add, hidden[row])
    written = put_vectors(
        table.log, {path: gone for path, (_, gone) in changed.items() if gone}, table.settings
    )
    return [
        replace(add, deletion_vector=written.get(path), data_change=True)
        for path, (add, _) in changed.items()
    ]


def _hides(table: OpenTable, add: AddFile, hidden: BitMap) -> bool:
    """Whether a split already hides exactly these documents."""
    vector = add.deletion_vector
    if vector is None:
        return not hidden
    return vector.cardinality == len(hidden) and load_deletions(table.store, vector) == hidden
