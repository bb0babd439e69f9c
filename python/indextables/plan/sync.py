"""What a sync of a companion does: which files are indexed together, and which splits go. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from indextables.engine.source import SourceFile
from indextables.expr.literals import render_literal
from indextables.model.types import Struct
from indextables.plan.coverage import Coverage, cover, nothing_covered
from indextables.sources.table import SourceSnapshot


@dataclass(frozen=True)
class FileGroup:
    """Files of one partition that one task indexes."""

    partition_values: Mapping[str, str]
    files: tuple[SourceFile, ...]

    @property
    def size(self) -> int:
        """Bytes of Parquet to read."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True)
class SyncPlan:
    """What a sync has to do: files to index, and splits that go when it is complete.

    `replaced` are splits with few live rows whose files are indexed again.
    """

    groups: tuple[FileGroup, ...]
    coverage: Coverage
    replaced: frozenset[str] = frozenset()

    @property
    def files(self) -> int:
        """How many files are to be indexed."""
        return sum(len(group.files) for group in self.groups)


def plan_sync(
    splits: pa.Table,
    source: SourceSnapshot,
    target_bytes: int,
    rewrite_below: float,
    *,
    fits: bool = True,
) -> SyncPlan:
    """Compare live splits with a version of the source; splits that do not fit cover nothing."""
    if not fits:
        covered = nothing_covered(splits, source.files)
        return SyncPlan(plan_groups(source, covered.pending, target_bytes), covered)
    covered = cover(splits, source.files, source.deleted)
    replaced = _weak(splits, covered, rewrite_below)
    if replaced:
        kept = [row for row, path in enumerate(_paths(splits)) if path not in replaced]
        rest = splits.take(pa.array(kept, pa.int64()))
        again = cover(rest, source.files, source.deleted)
        return SyncPlan(plan_groups(source, again.pending, target_bytes), again, replaced)
    return SyncPlan(plan_groups(source, covered.pending, target_bytes), covered)


def _weak(splits: pa.Table, covered: Coverage, rewrite_below: float) -> frozenset[str]:
    """Splits most of whose documents are of files that left; deleted rows may come back."""
    paths, rows = _paths(splits), splits["numRecords"].to_pylist()
    return frozenset(
        paths[split]
        for split, held in zip(covered.splits, covered.held, strict=True)
        if rows[split] and held / rows[split] < rewrite_below
    )


def _paths(splits: pa.Table) -> list[str]:
    found: list[str] = splits["path"].to_pylist()
    return found


def plan_groups(
    source: SourceSnapshot, pending: Sequence[int], target_bytes: int
) -> tuple[FileGroup, ...]:
    """The pending files by partition, in the order of their paths, up to a size each."""
    files = source_files(source, pending)
    by_partition: dict[tuple[tuple[str, str], ...], list[SourceFile]] = {}
    for values, file in zip(partition_texts(source, pending), files, strict=True):
        by_partition.setdefault(tuple(sorted(values.items())), []).append(file)
    return tuple(
        FileGroup(dict(partition), tuple(together))
        for partition, members in sorted(by_partition.items())
        for together in _cut(sorted(members, key=lambda file: file.path), target_bytes)
    )


def _cut(files: Sequence[SourceFile], target_bytes: int) -> list[list[SourceFile]]:
    cut: list[list[SourceFile]] = []
    size = 0
    for file in files:
        if not cut or size + file.size > target_bytes:
            cut.append([])
            size = 0
        cut[-1].append(file)
        size += file.size
    return cut


def source_files(source: SourceSnapshot, rows: Sequence[int]) -> list[SourceFile]:
    """Files of a version by their place in it."""
    chosen = source.files.take(pa.array(rows, pa.int64()))
    return [SourceFile(**row) for row in chosen.to_pylist()]


def partition_texts(source: SourceSnapshot, rows: Sequence[int]) -> list[dict[str, str]]:
    """The partition values of files as the log spells them; null is left out."""
    chosen = pa.array(rows, pa.int64())
    texts = {
        name: _texts(values.take(chosen), source.schema, name)
        for name, values in source.partitions.items()
    }
    return [
        {name: text for name, column in texts.items() if (text := column[row]) is not None}
        for row in range(len(rows))
    ]


def _texts(values: pa.Array, schema: Struct, name: str) -> list[str | None]:
    field = schema.get(name)
    assert field is not None
    if pa.types.is_date32(values.type):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    return [render_literal(value, field.type) for value in values.to_pylist()]
