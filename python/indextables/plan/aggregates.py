"""Which aggregations the index answers: the engine's request and the columns that come back.

Results are partial, one set of rows per split; Spark (or the planner) merges them by adding counts
and sums and by taking the least minimum and the greatest maximum. Partition columns are constant
within a split: the engine never sees them, they are added from the log.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from indextables.expr.predicate import Call, Column, Expr
from indextables.expr.values import (
    FLOATING,
    INTEGRAL_BITS,
    UNORDERED,
    is_plain_string,
    kind_of,
)
from indextables.model.types import DataType, Decimal
from indextables.plan.buckets import plan_bucket
from indextables.plan.columns import Columns, field_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from indextables.expr.aggregation import Aggregation, Function
    from indextables.expr.predicate import Predicate
    from indextables.plan.tree import Tree

    Conditions: TypeAlias = Mapping[Predicate, Tree]

LONG, DOUBLE = pa.int64(), pa.float64()
WIDE = pa.decimal128(38, 0)
# a sum has up to ten digits more than its values; beyond this it could overflow
_MAX_SUM_PRECISION = 28
_MAX_SPARK_PRECISION = 38


@dataclass(frozen=True)
class Output:
    """One result column: from the engine (`index` counts its columns), or of a partition column.

    `source` is engine, partition (the value), partition_count or partition_sum; `column` is the
    argument of the function.
    """

    field: pa.Field
    source: str
    index: int = -1
    column: str = ""


@dataclass(frozen=True)
class AggregatePlan:
    """`request` and `engine_schema` go to the engine; `outputs` assemble the result.

    `keys` is the number of group keys; `rows_index` is the position of the row count, if requested.
    """

    request: Mapping[str, Any]
    engine_schema: pa.Schema
    outputs: tuple[Output, ...]
    keys: int
    merges: tuple[str, ...]
    rows_index: int = -1

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of partial results: group keys, then functions."""
        return pa.schema([output.field for output in self.outputs])

    @cached_property
    def from_log(self) -> bool:
        """Whether partition values and row counts in the log suffice."""
        return all(
            output.source != "engine" or output.index == self.rows_index for output in self.outputs
        )


@dataclass
class _Builder:
    """Collects the functions of the engine while outputs are planned."""

    groups: list[dict[str, Any]]
    group_fields: list[pa.Field]
    functions: list[dict[str, Any]]
    function_fields: list[pa.Field]
    # the condition of the function that is planned now
    where: dict[str, Any] = field(default_factory=dict)

    def ask(self, function: dict[str, Any], kind: pa.DataType) -> int:
        """The position of a function among the engine's functions, added once per type."""
        asked = zip(self.functions, self.function_fields, strict=True)
        for position, (known, result) in enumerate(asked):
            if known == function and result.type == kind:
                return position
        self.functions.append(function)
        self.function_fields.append(pa.field(f"f{len(self.functions)}", kind))
        return len(self.functions) - 1


def plan_aggregation(
    aggregation: Aggregation,
    columns: Columns,
    *,
    ansi: bool = False,
    time_zone: str = "",
    spark_merges: bool = False,
    conditions: Conditions | None = None,
) -> AggregatePlan | None:
    """The plan of an aggregation, or None if the index cannot answer some part of it.

    `time_zone` is the session's: buckets of days and longer need to know it. With `spark_merges`
    Spark adds up partial sums, in the type of the argument. `conditions` are the queries of the
    conditions that single functions have.
    """
    if not aggregation.group_by and not aggregation.functions:
        return None
    builder = _Builder([], [], [], [])
    keys: list[Output] = []
    for position, expr in enumerate(aggregation.group_by):
        key = _key(expr, columns, builder, f"group_col_{position}", time_zone)
        if key is None:
            return None
        keys.append(key)
    results: list[Output] = []
    merges: list[str] = []
    for position, function in enumerate(aggregation.functions):
        where = _where(function, conditions or {})
        if where is None:
            return None
        builder.where = where
        planned = _function(function, columns, builder, f"agg_func_{position}")
        narrows = spark_merges and function.name == "SUM" and _narrows(function, columns)
        if planned is None or narrows:
            return None
        output, merge = planned
        results.append(output)
        merges.append(merge)
    return _assemble(builder, keys, results, merges, ansi=ansi)


def _where(function: Function, conditions: Conditions) -> dict[str, Any] | None:
    """The engine's form of a function's condition; None if the index does not answer it."""
    if function.condition is None:
        return {}
    found = conditions.get(function.condition)
    return None if found is None else {"where": found}


def _assemble(
    builder: _Builder,
    keys: Sequence[Output],
    results: Sequence[Output],
    merges: Sequence[str],
    *,
    ansi: bool,
) -> AggregatePlan:
    shift = len(builder.groups)
    needs_rows = any(output.source.startswith("partition") for output in (*keys, *results))
    rows = -1
    if needs_rows or {"op": "count_star"} in builder.functions:
        rows = shift + builder.ask({"op": "count_star"}, LONG)
    moved = [
        Output(output.field, output.source, output.index + shift, output.column)
        if output.source == "engine"
        else output
        for output in results
    ]
    return AggregatePlan(
        request={"group_by": builder.groups, "functions": builder.functions, "ansi": ansi},
        engine_schema=pa.schema([*builder.group_fields, *builder.function_fields]),
        outputs=(*keys, *moved),
        keys=len(keys),
        merges=tuple(merges),
        rows_index=rows,
    )


def _key(
    expr: Expr, columns: Columns, builder: _Builder, name: str, time_zone: str
) -> Output | None:
    if not isinstance(expr, Column):
        bucket = plan_bucket(expr, columns, time_zone)
        if bucket is None:
            return None
        group, kind = bucket
    else:
        info = columns.at(expr.path)
        found = columns.schema.find(expr.path)
        if info is None or found is None:
            return None
        kind = found.type.to_arrow()
        if kind_of(found.type) == "string" and not is_plain_string(found.type):
            return None
        if info.partition:
            return Output(pa.field(name, kind), "partition", column=info.name)
        if not columns.foldable(expr.path):
            return None
        group = {"field": field_name(expr.path)}
    builder.groups.append(group)
    builder.group_fields.append(pa.field(f"k{len(builder.groups)}", kind))
    field = pa.field(name, kind)
    return Output(field, "engine", len(builder.groups) - 1, group.get("field", ""))


def _function(  # noqa: PLR0911
    function: Function, columns: Columns, builder: _Builder, name: str
) -> tuple[Output, str] | None:
    op = function.name
    if op == "COUNT_STAR":
        index = builder.ask({"op": "count_star", **builder.where}, LONG)
        return Output(pa.field(name, LONG), "engine", index), "count"
    if function.distinct or len(function.args) != 1 or op not in _RESULTS:
        return None
    found = argument_of(function, columns)
    if found is None:
        return None
    path, own, wide = found
    info = columns.at(path)
    kind = _RESULTS[op](wide)
    if info is None or kind is None or (own != wide and op not in ("SUM", "COUNT")):
        return None
    result = pa.field(name, kind)
    merge = _MERGES[op]
    if info.partition:
        # the log has row counts, but cannot evaluate conditions
        plain = Output(result, _PARTITION_SOURCES[op], column=info.name), merge
        return None if builder.where else plain
    if not (columns.testable(path) if op == "COUNT" else columns.foldable(path)):
        return None
    # sums of whole numbers are exact, whatever they are cast to
    exact = op == "SUM" and kind == DOUBLE and kind_of(own) in INTEGRAL_BITS
    asked = {"op": op.lower(), "field": field_name(path), **builder.where}
    index = builder.ask(asked, WIDE if exact else kind)
    return Output(result, "engine", index, field_name(path)), merge


def argument_of(
    function: Function, columns: Columns
) -> tuple[tuple[str, ...], DataType, DataType] | None:
    """The column of a function, its type, and the wider type it is first cast to."""
    arg = function.args[0]
    cast = arg if isinstance(arg, Call) and arg.name == "CAST" and len(arg.args) == 1 else None
    column = arg if cast is None else cast.args[0]
    found = columns.schema.find(column.path) if isinstance(column, Column) else None
    if found is None or not isinstance(column, Column):
        return None
    wide = found.type if cast is None or cast.type is None else cast.type
    if wide != found.type and not _widens(found.type, wide):
        return None
    return column.path, found.type, wide


def _widens(own: DataType, wide: DataType) -> bool:
    """Whether no value changes or is lost: sums and counts are those of the column itself."""
    if isinstance(own, Decimal) and isinstance(wide, Decimal):
        return wide.scale == own.scale and wide.precision > own.precision
    if kind_of(own) in INTEGRAL_BITS:
        return kind_of(wide) in ("long", "double")
    return kind_of(own) == "float" and kind_of(wide) == "double"


def _narrows(function: Function, columns: Columns) -> bool:
    """Whether Spark would cast a partial sum to a type that is too small for it."""
    found = argument_of(function, columns)
    if found is None:
        return True
    _, own, wide = found
    return own == wide and kind_of(own) not in ("long", "double")


def _sum_type(kind: DataType) -> pa.DataType | None:
    if kind_of(kind) in INTEGRAL_BITS:
        return LONG
    if kind_of(kind) in FLOATING:
        return DOUBLE
    if isinstance(kind, Decimal) and kind.precision <= _MAX_SUM_PRECISION:
        return pa.decimal128(min(kind.precision + 10, _MAX_SPARK_PRECISION), kind.scale)
    return None


def _extreme_type(kind: DataType) -> pa.DataType | None:
    plain = kind_of(kind) != "string" or is_plain_string(kind)
    return kind.to_arrow() if plain and kind_of(kind) not in UNORDERED else None


_RESULTS = {
    "COUNT": lambda _: LONG,
    "SUM": _sum_type,
    "MIN": _extreme_type,
    "MAX": _extreme_type,
}
_MERGES = {"COUNT": "count", "SUM": "sum", "MIN": "min", "MAX": "max"}
_PARTITION_SOURCES = {
    "COUNT": "partition_count",
    "SUM": "partition_sum",
    "MIN": "partition",
    "MAX": "partition",
}
