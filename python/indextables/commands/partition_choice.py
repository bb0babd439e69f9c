"""The splits that the WHERE clause of a command selects, by their partition values."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.errors import error
from indextables.expr.binding import bind
from indextables.expr.evaluate import evaluate
from indextables.expr.predicate import Column
from indextables.expr.where import parse_partition_where
from indextables.model import kernels as pc
from indextables.plan.partitions import map_column, partition_arrays
from indextables.runtime.steps import Steps, match

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from indextables.log import Snapshot
    from indextables.runtime.steps import Matches


@dataclass(frozen=True)
class PartitionChoice:
    """The partitions for which a WHERE clause was evaluated, by their strings in the log."""

    columns: tuple[str, ...]
    truths: Mapping[tuple[str | None, ...], bool]

    def files_of(self, files: pa.Table) -> pa.Table | None:
        """The selected splits; None if the partition of one was not evaluated."""
        groups = _group(files, self.columns)
        if any(key not in self.truths for key in groups):
            return None
        rows = [row for key, members in groups.items() if self.truths[key] for row in members]
        return files.take(pa.array(sorted(rows), pa.int64()))


def choose_partitions(where: str, snapshot: Snapshot) -> Steps[PartitionChoice]:
    """The partitions of a snapshot for which a predicate is true."""
    if not snapshot.partition_columns:
        raise _problem("WHERE clause not supported for non-partitioned tables.")
    files = snapshot.files()
    groups = _group(files, snapshot.partition_columns)
    firsts = files.take(pa.array([members[0] for members in groups.values()], pa.int64()))
    arrays = partition_arrays(firsts, snapshot.schema, snapshot.partition_columns)
    values = pa.table({path[0]: array for path, array in arrays.items()})
    truths = yield from match(where, snapshot.schema, values)
    return PartitionChoice(snapshot.partition_columns, dict(zip(groups, truths, strict=True)))


def choose_files(where: str, snapshot: Snapshot) -> Steps[pa.Table]:
    """The splits of a snapshot for whose partition a predicate is true."""
    choice = yield from choose_partitions(where, snapshot)
    return choice.files_of(snapshot.files())


def _group(files: pa.Table, columns: Sequence[str]) -> dict[tuple[str | None, ...], list[int]]:
    """The rows of every partition, by its strings in the log."""
    maps = files.column("partitionValues")
    texts = {f"{i}": map_column(maps, name) for i, name in enumerate(columns)}
    rows = pa.table({**texts, "row": pa.array(range(files.num_rows), pa.int64())})
    grouped = rows.group_by(list(texts), use_threads=False).aggregate([("row", "list")])
    keys = zip(*(grouped.column(name).to_pylist() for name in texts), strict=True)
    return dict(zip(keys, grouped.column("row_list").to_pylist(), strict=True))


def match_partitions(need: Matches) -> list[bool]:
    """The partitions for which the predicate of a command is true, evaluated without Spark."""
    predicate = parse_partition_where(need.where, need.schema)
    check_columns({path[0] for path in columns_in(predicate)}, need)
    arrays: dict[tuple[str, ...], pa.ChunkedArray] = {
        (name,): need.values.column(name) for name in need.values.column_names
    }
    truth = evaluate(bind(predicate, need.schema), arrays, need.values.num_rows)
    if truth is None:
        raise _problem(f"Invalid partition predicate: {need.where}")
    found: list[bool] = pc.fill_null(truth, False).to_pylist()  # noqa: FBT003
    return found


def check_columns(named: set[str], need: Matches) -> None:
    """Reject a predicate that names other columns than those of the partitioning, or none."""
    allowed = need.values.column_names
    if strange := sorted(named - set(allowed)):
        raise _problem(
            f"WHERE clause references non-partition columns: {', '.join(strange)}. "
            f"Only partition columns are allowed: {', '.join(allowed)}"
        )
    if not named:
        raise _problem("WHERE clause must reference at least one partition column.")


def columns_in(node: Any) -> Iterator[tuple[str, ...]]:
    """The columns that a predicate names."""
    if isinstance(node, Column):
        yield node.path
    elif isinstance(node, frozenset | tuple):
        for item in node:
            # an opaque part lists the paths of its columns
            is_path = isinstance(item, tuple) and all(isinstance(part, str) for part in item)
            yield from [item] if is_path and item else columns_in(item)
    elif is_dataclass(node):
        for each in fields(node):
            yield from columns_in(getattr(node, each.name))


def _problem(text: str) -> Exception:
    return error("PARTITION_PREDICATE", problem=text)
