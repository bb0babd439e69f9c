"""A sync of a companion with its source: plan, index what is missing, complete.

    pin a version of the source ──> compare it with the live splits ──> index files (tasks)
        ──> commit each batch, hidden ──> one commit that completes the version

The next sync reuses the splits of one that died. An incomplete sync never changes an answer: the
source's version decides what is read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from indextables.commands.companion_commit import Completion, commit_splits, complete
from indextables.config import companion as keys
from indextables.config import write as write_keys
from indextables.config.registry import OPTIONS
from indextables.errors import from_description
from indextables.log.members import BY_NAME
from indextables.model.types import render_schema
from indextables.plan.companion import source_table
from indextables.plan.sync import SyncPlan, plan_sync
from indextables.runtime.steps import Steps, run_tasks

if TYPE_CHECKING:
    from indextables.engine.source import SourceSpec
    from indextables.log import AddFile
    from indextables.plan.companion import Companion
    from indextables.plan.sync import FileGroup
    from indextables.read.table import OpenTable
    from indextables.sources.table import SourceSnapshot

DEFAULT_TARGET_BYTES = 2 << 30


@dataclass(frozen=True)
class SyncRequest:
    """The definition of a companion, and the version of its source to index.

    `fits` says whether the live splits can stay; if not, everything is rebuilt.
    """

    companion: Companion
    source: SourceSnapshot
    spec: SourceSpec
    fields: Sequence[Mapping[str, Any]]
    target_bytes: int | None = None
    heap_bytes: int | None = None
    fits: bool = True


@dataclass
class Synced:
    """What a sync did."""

    splits: int = 0
    removed: int = 0
    files: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    empty: set[str] = field(default_factory=set)


def plan(table: OpenTable, request: SyncRequest) -> SyncPlan:
    """The plan of a sync from the newest version of the index."""
    return plan_sync(
        table.log.snapshot().files(),
        request.source,
        request.target_bytes or DEFAULT_TARGET_BYTES,
        table.settings.get(keys.REWRITE_BELOW),
        fits=request.fits,
    )


def sync(table: OpenTable, request: SyncRequest) -> Steps[Synced | None]:
    """Index a source version; None if the index already has it."""
    planned = plan(table, request)
    done = Synced()
    fresh: list[AddFile] = []
    for batches in _batches(planned.groups, table):
        groups = [group for batch in batches for group in batch]
        payloads = [_payload(table, request, group) for group in groups]
        results = iter((yield from run_tasks("companion", payloads)))
        for batch in batches:
            outcomes = [next(results) for _ in batch]
            adds = _count(done, batch, outcomes)
            if request.fits:
                kept = commit_splits(table, request.source, adds, planned.replaced)
                done.splits += len(kept)
            else:
                # these columns differ from those in the log until the last commit
                fresh += adds
            _raise_failure(outcomes)
    completion = Completion(
        request.source,
        request.companion,
        request.fields,
        fresh,
        planned.replaced,
        frozenset(done.empty),
        rebuilt=not request.fits,
    )
    removed = complete(table, completion)
    done.splits += len(fresh)
    done.removed = removed or 0
    return None if removed is None and not done.splits else done


def _batches(groups: Sequence[FileGroup], table: OpenTable) -> list[list[Sequence[FileGroup]]]:
    """Batches of groups that are committed together, in rounds that are indexed concurrently."""
    size = table.settings.get(keys.SYNC_BATCH_SIZE) or os.cpu_count() or 1
    at_once = table.settings.get(keys.SYNC_MAX_BATCHES)
    batches = [groups[start : start + size] for start in range(0, len(groups), size)]
    return [batches[start : start + at_once] for start in range(0, len(batches), at_once)]


def _payload(table: OpenTable, request: SyncRequest, group: FileGroup) -> dict[str, Any]:
    """Everything a task needs; it reads neither log."""
    url, options = table.store.native()
    return {
        "write": {
            "url": url,
            "store_options": options,
            "schema_json": render_schema(request.source.schema),
            "partition_columns": list(request.source.partition_columns),
            "fields": list(request.fields),
            "settings": _settings(table, request),
        },
        "source": request.spec.to_json(),
        "files": [
            {"path": f.path, "size": f.size, "stamp": f.stamp, "rows": f.rows} for f in group.files
        ],
        "partition_values": dict(group.partition_values),
        "table": source_table(request.companion, request.source),
    }


def _settings(table: OpenTable, request: SyncRequest) -> dict[str, Any]:
    """The settings for writing a split; credentials are in the options of the stores."""
    plain = {option.key for option in OPTIONS if not option.secret}
    given = {
        key: value
        for key, value in table.settings.values.items()
        if key in plain and isinstance(value, str | int | float)
    }
    heap = request.heap_bytes or table.settings.get(keys.WRITER_HEAP_BYTES)
    return given | {write_keys.HEAP_BYTES.key: heap}


def _count(
    done: Synced, batch: Sequence[FileGroup], outcomes: Sequence[Mapping[str, Any]]
) -> list[AddFile]:
    """The splits of a batch; the next sync retries what failed."""
    adds: list[AddFile] = []
    for group, outcome in zip(batch, outcomes, strict=True):
        if "error" in outcome:
            continue
        made = [BY_NAME["add"].decode(body) for body in outcome["adds"]]
        held = {path for add in made for path in add.companion_source_files or ()}
        done.empty |= {file.path for file in group.files} - held
        done.files += len(group.files)
        done.bytes_read += group.size
        done.bytes_written += sum(add.size for add in made)
        adds += made
    return adds


def _raise_failure(outcomes: Sequence[Mapping[str, Any]]) -> None:
    for outcome in outcomes:
        if "error" in outcome:
            raise from_description(outcome["error"])
