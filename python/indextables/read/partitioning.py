"""The partitioning of a scan as Spark's planner uses it: joins and groups without a shuffle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.config.read import REPORT_PARTITIONING
from indextables.expr.values import is_plain_string, kind_of
from indextables.model.kinds import KINDS
from indextables.plan.partitions import parse_value, typed_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.model.types import DataType, Struct
    from indextables.read.scan import Scan, ScanTask
    from indextables.read.spec import Source


def reported_columns(scan: Scan) -> tuple[str, ...]:
    """The partition columns whose values are reported to Spark per task; none if not enabled.

    The answer is the same before and after a runtime filter, as Spark requires.
    """
    table, plan = scan.table, scan.plan
    # pending files of a companion have no values
    told = table.companion is None and table.settings.get(REPORT_PARTITIONING)
    if not told or plan.aggregate is not None or plan.limit is not None:
        return ()
    snapshot = table.snapshot
    columns = [name for name in snapshot.partition_columns if name in plan.schema.names]
    kinds = [_type_of(snapshot.schema, name) for name in columns]
    return tuple(columns) if all(map(_is_exact, kinds)) else ()


def split_keys(
    schema: Struct, sources: Sequence[Source], columns: Sequence[str]
) -> list[tuple[Any, ...]]:
    """The values of these partition columns, split by split; empty without columns."""
    if not columns:
        return []
    return list(zip(*(_values(schema, sources, name) for name in columns), strict=True))


def task_keys(scan: Scan, tasks: Sequence[ScanTask], columns: Sequence[str]) -> pa.Table:
    """The values of these partition columns, one row per task, as its rows have them."""
    schema = scan.table.snapshot.schema
    firsts = [task.sources[0] for task in tasks]
    arrays = [
        typed_array(_values(schema, firsts, name), _type_of(schema, name)) for name in columns
    ]
    return pa.table(arrays, names=list(columns))


def _values(schema: Struct, sources: Sequence[Source], name: str) -> list[Any]:
    texts = [source.partition_values.get(name) for source in sources]
    kind = _type_of(schema, name)
    # few distinct values, however many splits
    known = {text: parse_value(text, kind, name) for text in set(texts)}
    return [known[text] for text in texts]


def _type_of(schema: Struct, name: str) -> DataType:
    field = schema.get(name)
    assert field is not None, name
    return field.type


def _is_exact(kind: DataType) -> bool:
    """Whether equal values are one partition: not 0.0 and -0.0, nor strings with a collation."""
    name = kind_of(kind)
    return KINDS[name].is_key and (name != "string" or is_plain_string(kind))
