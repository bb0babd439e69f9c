"""Commit a batch of merges atomically, leaving out groups that are no longer valid."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyroaring import BitMap

from indextables.config import log as keys
from indextables.engine.writer import ColumnStats
from indextables.errors import ConflictError, StorageError
from indextables.expr.values import kind_of
from indextables.index.vectors import load_deletions
from indextables.log import AddFile, SkipFile, entries, operations
from indextables.log.conflicts import conflict
from indextables.log.operations import touched
from indextables.log.transaction import Operation, Transaction
from indextables.model import kernels as pc
from indextables.plan.merge import fold_statistics
from indextables.plan.merge_companion import moved_documents, with_runs
from indextables.plan.orphans import HOUR_MS
from indextables.rows.change_rows import put_vectors
from indextables.save.splits import features_of
from indextables.save.statistics import render_extremes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from indextables.config.settings import Settings
    from indextables.log import Snapshot
    from indextables.log.actions import Action, DeletionVector
    from indextables.model.types import Struct
    from indextables.read.table import OpenTable

_log = logging.getLogger("indextables.merge")
_FEWEST = 2


@dataclass(frozen=True)
class MergedGroup:
    """A group and the result of its task: `info` of the merged split, or an `error`."""

    partition_values: Mapping[str, str]
    paths: tuple[str, ...]
    output: str
    result: Mapping[str, Any]

    @property
    def skipped(self) -> dict[str, str]:
        """Sources that could not be read, and why."""
        return dict(self.result.get("skipped", {}))

    @property
    def merged(self) -> tuple[str, ...]:
        """Sources whose rows are in the merged split."""
        if "info" not in self.result:
            return ()
        gone = self.skipped
        return tuple(path for path in self.paths if path not in gone)


def commit_batch(
    table: OpenTable, before: Snapshot, groups: Sequence[MergedGroup]
) -> dict[str, Any]:
    """Commit a batch, skipping groups whose sources changed since they were read.

    The result has counts, problems, and the splits that a later pass should not retry.
    """
    useful = [group for group in groups if _is_useful(group, before)]
    kept, skips = useful, _skips(table, before, groups)
    # the sources and their order: a concurrent delete uses it to find its rows
    sources: dict[str, list[str]] = {}
    metrics: dict[str, int] = {}
    vectors = _hidden_rows(table, before, useful)

    def rebuild(newest: Snapshot) -> tuple[Action, ...]:
        nonlocal kept
        kept = [group for group in useful if _is_valid(group, before, newest)]
        if not kept and not skips:
            detail = "the splits were changed while they were merged"
            raise conflict(Operation.MERGE_SPLITS, None, newest.version, detail)
        sources.clear()
        sources.update({group.output: list(group.merged) for group in kept})
        merged = [path for paths in sources.values() for path in paths]
        metrics.update(groups=len(kept), sources=len(merged))
        gone = operations.removals(touched(newest, merged), data_change=False)
        come = (
            replace(
                merged_file(group, before, table.now_ms(), table.settings),
                deletion_vector=vectors.get(group.output),
            )
            for group in kept
        )
        return (*gone, *come, *skips)

    if useful or skips:
        transaction = Transaction(
            Operation.MERGE_SPLITS if useful else Operation.SKIP,
            before.version,
            rebuild=rebuild,
            parameters={"sources": sources} if useful else {},
            metrics=metrics if useful else {},
            features=features_of(table.settings) if useful else frozenset(),
            # splits that do not name their rows are those of another implementation
            on_companion=any(group.result.get("info", {}).get("runs") for group in useful),
        )
        try:
            table.log.commit(transaction)
        except ConflictError as overtaken:
            _log.info("merge of `%s`: %s", table.path, overtaken)
            kept = []
    discard_merged(table, [group for group in groups if group not in kept])
    return _outcome(before, groups, kept, len(useful) - len(kept))


def _is_useful(group: MergedGroup, before: Snapshot) -> bool:
    if len(group.merged) >= _FEWEST:
        return True
    vectors = touched(before, list(group.merged))["deletionVector"]
    return bool(len(vectors) > vectors.null_count)


def _is_valid(group: MergedGroup, before: Snapshot, newest: Snapshot) -> bool:
    """Whether every source is still live with the same deleted rows."""
    then = vectors_of(before, group.merged)
    return then == vectors_of(newest, group.merged)


def vectors_of(snapshot: Snapshot, paths: Sequence[str]) -> dict[str, Any]:
    """The deletion vectors of live splits, by path."""
    rows = touched(snapshot, list(paths))
    return dict(zip(rows["path"].to_pylist(), rows["deletionVector"].to_pylist(), strict=True))


def _hidden_rows(
    table: OpenTable, before: Snapshot, groups: Sequence[MergedGroup]
) -> dict[str, DeletionVector]:
    """The rows of merged companion splits that stay hidden."""
    hidden: dict[str, BitMap] = {}
    for group in groups:
        if not group.result["info"]["runs"]:
            continue
        by_path = {add.path: add for add in entries.to_adds(touched(before, list(group.merged)))}
        moved = moved_documents(
            [
                (
                    by_path[path].companion_runs or (),
                    BitMap()
                    if (vector := by_path[path].deletion_vector) is None
                    else load_deletions(table.store, vector),
                )
                for path in group.merged
            ]
        )
        if moved:
            hidden[group.output] = moved
    return put_vectors(table.log, hidden, table.settings) if hidden else {}


def merged_file(group: MergedGroup, before: Snapshot, now: int, settings: Settings) -> AddFile:
    """The entry of a merged split, with the folded statistics of its sources."""
    info = group.result["info"]
    sources = touched(before, list(group.merged))
    low, high = fold_statistics(sources, before.schema, before.schema.names)
    if sources["deletionVector"].null_count < sources.num_rows:
        low, high = _without_deleted(low, high, info["columns"], before.schema, settings)
    tags = entries.to_adds(sources.slice(0, 1))[0].split_tags
    merges = max(value or 0 for value in sources["numMergeOps"].to_pylist()) + 1
    merged = AddFile(
        path=group.output,
        data_change=False,
        partition_values=dict(group.partition_values),
        size=info["size"],
        modification_time=now,
        min_values=low or None,
        max_values=high or None,
        num_records=info["num_records"],
        footer_start_offset=info["footer_start"],
        footer_end_offset=info["footer_end"],
        has_footer_offsets=True,
        delete_opstamp=0,
        split_tags=tags,
        num_merge_ops=merges,
        doc_mapping_json=json.dumps(info["doc_mapping"], separators=(",", ":"), ensure_ascii=False),
        uncompressed_size_bytes=info["uncompressed_size"],
    )
    return with_runs(merged, entries.to_adds(sources), info["runs"]) if info["runs"] else merged


def _without_deleted(
    low: Mapping[str, str],
    high: Mapping[str, str],
    columns: Mapping[str, Mapping[str, Any]],
    schema: Struct,
    settings: Settings,
) -> tuple[dict[str, str], dict[str, str]]:
    """Bounds without strings of rows that were deleted: those of the merged split, or none."""
    strings = {field.name for field in schema.fields if kind_of(field.type) == "string"} & {*low}
    merged = {name: ColumnStats(**columns[name]) for name in strings if name in columns}
    live = render_extremes(merged, schema, settings)
    kept = (
        {name: text for name, text in side.items() if name not in strings} for side in (low, high)
    )
    least, greatest = (old | new for old, new in zip(kept, live, strict=True))
    return least, greatest


def _skips(table: OpenTable, before: Snapshot, groups: Sequence[MergedGroup]) -> list[SkipFile]:
    """Record skips for unreadable sources, which stay live."""
    now = table.now_ms()
    if not table.settings.get(keys.TRACK_SKIPPED):
        return []
    wait = int(table.settings.get(keys.SKIP_COOLDOWN_HOURS) * HOUR_MS)
    found = []
    for group in groups:
        for path, reason in group.skipped.items():
            last = before.change.skips.get(path)
            found.append(
                SkipFile(
                    path=path,
                    skip_timestamp=now,
                    reason=reason,
                    operation="merge",
                    retry_after=now + wait,
                    skip_count=1 + (last.skip_count if last is not None else 0),
                    partition_values=dict(group.partition_values),
                )
            )
    return found


def discard_merged(table: OpenTable, groups: Sequence[MergedGroup]) -> None:
    """Delete merged splits that were not committed; PURGE removes leftovers."""
    for group in groups:
        if "info" in group.result:
            try:
                table.store.delete([group.output])
            except StorageError as failure:
                _log.warning("could not delete `%s`: %s", group.output, failure)


def _outcome(
    before: Snapshot,
    groups: Sequence[MergedGroup],
    kept: Sequence[MergedGroup],
    changed: int,
) -> dict[str, Any]:
    errors = [group.result["error"] for group in groups if "error" in group.result]
    problems = [f"{path}: {why}" for group in groups for path, why in group.skipped.items()]
    if changed:
        problems.append(f"{changed} groups changed while they were merged and were left alone")
    merged = [path for group in kept for path in group.merged]
    # this command does not retry groups that failed or changed
    again = [path for group in groups if group not in kept for path in group.paths]
    again += [path for group in groups for path in group.skipped]
    return {
        "groups": len(kept),
        "files": len(merged),
        "bytes_before": pc.sum(touched(before, merged)["size"]).as_py() or 0,
        "bytes_after": sum(group.result["info"]["size"] for group in kept),
        "problems": errors + problems,
        "errors": errors,
        "left_alone": again,
    }
