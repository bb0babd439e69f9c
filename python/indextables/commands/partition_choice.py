"""Which splits the WHERE clause of a command chooses: by their partition values, exactly."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import error
from indextables.expr.binding import bind
from indextables.expr.evaluate import evaluate
from indextables.expr.predicate import Column
from indextables.plan.partitions import partition_arrays

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indextables.expr.predicate import Predicate
    from indextables.log import Snapshot
    from indextables.runtime.context import Context


def parse_choice(where: str, snapshot: Snapshot, context: Context) -> Predicate:
    """The predicate of a WHERE clause, which may speak of partition columns only."""
    if not snapshot.partition_columns:
        raise _problem("WHERE clause not supported for non-partitioned tables.")
    predicate = context.predicate(where, snapshot.schema)
    named = {path[0] for path in columns_in(predicate)}
    allowed = ", ".join(snapshot.partition_columns)
    if strange := sorted(named - set(snapshot.partition_columns)):
        shown = ", ".join(strange)
        raise _problem(
            f"WHERE clause references non-partition columns: {shown}. "
            f"Only partition columns are allowed: {allowed}"
        )
    if not named:
        raise _problem("WHERE clause must reference at least one partition column.")
    return predicate


def choose(files: pa.Table, predicate: Predicate, snapshot: Snapshot, where: str) -> pa.Table:
    """The splits for whose partition the predicate is true."""
    values = partition_arrays(files, snapshot.schema, snapshot.partition_columns)
    truth = evaluate(bind(predicate, snapshot.schema), values, files.num_rows)
    if truth is None:
        raise _problem(f"Invalid partition predicate: {where}")
    return files.filter(pc.fill_null(truth, False))  # noqa: FBT003


def columns_in(node: Any) -> Iterator[tuple[str, ...]]:
    """The columns a predicate names, wherever they stand in it."""
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
