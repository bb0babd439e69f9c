"""REPAIR: rebuild a transaction log, from a damaged one or from the splits alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from indextables.commands.grammar import Clause, Command, Part, Rule, TextKind, columns
from indextables.commands.rebuild import find_splits, plan_rebuild
from indextables.errors import IndexTablesError, StorageError, error
from indextables.log import codec, entries, names
from indextables.log.checkpoints import kept_actions
from indextables.log.protocol import check_writable
from indextables.log.transaction import Operation, Transaction

if TYPE_CHECKING:
    from indextables.log import Snapshot
    from indextables.log.actions import AddFile
    from indextables.read.table import Row
    from indextables.runtime.context import Context
    from indextables.storage import Store
_OUTPUT = columns(
    "source_path string, target_path string, source_version bigint, total_splits int, "
    "valid_splits int, missing_splits int, status string"
)


@dataclass(frozen=True)
class Repair(Command):
    """Rebuild a transaction log at a new location, or from the splits if it is lost.

    With AT LOCATION, both paths are `_transaction_log` folders; live splits that still exist are
    written to a new log there. Without it, a table whose log is lost gets a new log from its
    splits. It contains every readable split, including splits that were removed but not yet
    purged. A companion follows its source again; the next BUILD completes it.
    """

    source: str
    destination: str | None = None


@dataclass(frozen=True)
class _Counts:
    version: int = -1
    total: int = 0
    valid: int = 0


def run_repair(source: str, destination: str | None, context: Context) -> list[Row]:
    """Repair a log; report a failure as a result, without changing anything."""
    target = destination if destination is not None else source
    try:
        counts = (
            _rebuild(source, context)
            if destination is None
            else _copy(source, destination, context)
        )
        status = "SUCCESS"
    except IndexTablesError as problem:
        counts, status = _Counts(), f"ERROR: {problem.message}"
    return [
        {
            "source_path": source,
            "target_path": target,
            "source_version": counts.version,
            "total_splits": counts.total,
            "valid_splits": counts.valid,
            "missing_splits": counts.total - counts.valid,
            "status": status,
        }
    ]


def _root(path: str) -> str:
    """Return the table of a `_transaction_log` folder."""
    trimmed = path.rstrip("/")
    if not trimmed.endswith(f"/{names.FOLDER}"):
        raise error("REPAIR_PATH", path=path, folder=names.FOLDER)
    return trimmed.removesuffix(f"/{names.FOLDER}")


def _copy(source: str, destination: str, context: Context) -> _Counts:
    """Write the existing live splits of one log as the first versions of another."""
    log = context.log(_root(source))
    place = context.log(_root(destination)).store
    if next(iter(place.list(names.FOLDER)), None) is not None:
        raise error("REPAIR_NOT_EMPTY", path=destination)
    snapshot = log.snapshot()
    check_writable(snapshot.protocol, snapshot.path)
    files = entries.to_adds(snapshot.files())
    valid = [add for add in files if log.store.head(add.path) is not None]
    _write_versions(place, snapshot, valid)
    return _Counts(snapshot.version, len(files), len(valid))


def _write_versions(place: Store, snapshot: Snapshot, files: list[AddFile]) -> None:
    """Render plain text, so that a person can read the repaired log."""
    metadata = replace(
        snapshot.metadata,
        configuration={
            **snapshot.metadata.configuration,
            **{f"docMappingSchema.{key}": text for key, text in snapshot.registry.items()},
        },
    )
    _put(place, 0, codec.encode_actions([snapshot.protocol, metadata]))
    # a version without actions would count as damaged
    if actions := [*files, *kept_actions(snapshot)[1:]]:
        _put(place, 1, codec.encode_actions(actions))


def _put(place: Store, version: int, data: bytes) -> None:
    """Write a version; if the outcome is unknown, read it back to decide."""
    path, lost = names.version_file(version), None
    try:
        if place.put(path, data, if_absent=True):
            return
    except StorageError as failure:
        lost = failure
    found = place.find(path)
    if found is None:
        detail = f"it is unknown whether version {version} was written"
        raise error("COMMIT_UNKNOWN", operation="REPAIR", path=place.url, detail=detail) from lost
    if found != data:
        raise error("REPAIR_NOT_EMPTY", path=place.url)


def _rebuild(path: str, context: Context) -> _Counts:
    """Create a log for the splits of a table that has none or only an unreadable one."""
    trimmed = path.rstrip("/")
    log = context.log(trimmed.removesuffix(f"/{names.FOLDER}"))
    if log.reader.listing().latest is not None:
        raise error("REPAIR_LOG_EXISTS", path=path)
    # drop what was cached of the lost log
    log.invalidate()
    splits = find_splits(log.store)
    if not splits:
        raise error("REPAIR_NO_SPLITS", path=path)
    plan = plan_rebuild(log.store, splits, context.settings({}))
    # it would point readers and writers of the new log to versions of the lost one
    log.store.delete([names.POINTER])
    created = log.create(plan.schema, plan.partition_columns, plan.configuration, plan.features)
    done = log.commit(
        Transaction(
            Operation.REPAIR,
            created.version,
            plan.adds,
            metrics={"splits": len(plan.adds), "unreadable": len(splits) - len(plan.adds)},
            on_companion=plan.companion,
        )
    )
    return _Counts(done.version, len(splits), len(plan.adds))


def run(command: Repair, context: Context) -> list[Row]:
    """Rebuild a log."""
    return run_repair(command.source, command.destination, context)


RULES = (
    Rule(
        Repair,
        "REPAIR INDEXFILES TRANSACTION LOG",
        (Part("source", TextKind()), Clause("AT LOCATION", "destination", TextKind())),
        _OUTPUT,
        run,
    ),
)
