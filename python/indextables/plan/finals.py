"""Final results of aggregations, when the planner answers by itself.

What Spark would do after a partial aggregation is done here: partial rows are merged, averages
divided, distinct values counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import error
from indextables.expr.predicate import Column, parse_expression
from indextables.expr.values import FLOATING, INTEGRAL_BITS, kind_of
from indextables.plan.aggregates import DOUBLE, LONG, AggregatePlan, Output, plan_aggregation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from indextables.plan.columns import Columns

_WIDE = pa.decimal128(38, 0)
_LONG_MIN, _LONG_MAX = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True)
class Final:
    """One final column, from columns of the merged partial results.

    `how` is keep, divide (a sum by a count), count_distinct, sum_distinct or avg_distinct.
    """

    field: pa.Field
    how: str
    parts: tuple[int, ...]


@dataclass(frozen=True)
class CompletePlan:
    """A partial plan and what becomes of its results.

    `keys` counts the real group keys; the partial plan has one more when values are distinct.
    """

    partial: AggregatePlan
    keys: int
    finals: tuple[Final, ...]
    ansi: bool = False

    @property
    def schema(self) -> pa.Schema:
        """The schema of the answer."""
        return pa.schema(
            [*list(self.partial.schema)[: self.keys], *(final.field for final in self.finals)]
        )


def plan_complete(
    request: Mapping[str, Any],
    columns: Columns,
    *,
    ansi: bool = False,
    time_zone: str = "",
) -> CompletePlan | None:
    """The plan for a whole aggregation, with averages and distinct values of one column."""
    keys = list(request.get("group_by", []))
    functions = list(request.get("functions", []))
    distinct = [f["args"] for f in functions if f.get("distinct") and f["agg"] not in _IDEMPOTENT]
    if any(args != distinct[0] for args in distinct) or any(len(args) != 1 for args in distinct):
        return None
    inner: list[dict[str, Any]] = []
    specs = [_expand(function, inner) for function in functions]
    partial = plan_aggregation(
        {"group_by": [*keys, *(distinct[0] if distinct else [])], "functions": inner},
        columns,
        ansi=ansi,
        time_zone=time_zone,
    )
    if partial is None:
        return None
    finals: list[Final] = []
    for position, (function, (how, parts)) in enumerate(zip(functions, specs, strict=True)):
        kind = _final_type(function, how, parts, partial, columns)
        if kind is None:
            return None
        places = tuple(partial.keys + part for part in parts)
        finals.append(Final(pa.field(f"agg_func_{position}", kind), how, places))
    return CompletePlan(partial, len(keys), tuple(finals), ansi)


_IDEMPOTENT = ("MIN", "MAX")


def _expand(
    function: Mapping[str, Any], inner: list[dict[str, Any]]
) -> tuple[str, tuple[int, ...]]:
    """How a function is finished, and the positions of the inner functions it needs."""
    op = function["agg"]
    if function.get("distinct") and op not in _IDEMPOTENT:
        return f"{op.lower()}_distinct", ()
    if op == "AVG":
        needed = [{"agg": part, "args": function["args"]} for part in ("SUM", "COUNT")]
        return "divide", tuple(_position(part, inner) for part in needed)
    plain = {key: function[key] for key in ("agg", "args") if key in function}
    return "keep", (_position(plain, inner),)


def _position(function: dict[str, Any], inner: list[dict[str, Any]]) -> int:
    if function not in inner:
        inner.append(function)
    return inner.index(function)


def _final_type(
    function: Mapping[str, Any],
    how: str,
    parts: Sequence[int],
    partial: AggregatePlan,
    columns: Columns,
) -> pa.DataType | None:
    if how == "keep":
        return partial.schema.field(partial.keys + parts[0]).type
    if how == "count_distinct":
        return LONG
    expr = parse_expression(function["args"][0])
    found = columns.schema.find(expr.path) if isinstance(expr, Column) else None
    kind = kind_of(found.type) if found else ""
    if kind not in (*INTEGRAL_BITS, *FLOATING):
        return None
    return LONG if how == "sum_distinct" and kind in INTEGRAL_BITS else DOUBLE


def merge_partials(partials: pa.Table, plan: AggregatePlan, *, ansi: bool = False) -> pa.Table:
    """One row per group from partial results; one row in all when there are no keys."""
    names = plan.schema.names
    keys = names[: plan.keys]
    table = partials.select(names)
    for at, name in enumerate(keys):
        table = table.set_column(at, name, _normal(table.column(at)))
    columns = dict(zip(keys, table.columns[: plan.keys], strict=True))
    specs: list[tuple[str, str, pc.FunctionOptions | None]] = []
    for name, merge in zip(names[plan.keys :], plan.merges, strict=True):
        for part, array, how in _ingredients(name, table.column(name), merge):
            columns[part] = array
            least = 0 if merge == "count" else 1
            specs.append((part, how, pc.ScalarAggregateOptions(min_count=least)))
    grouped = pa.TableGroupBy(pa.table(columns), keys, use_threads=False).aggregate(specs)
    arrays = [grouped.column(name) for name in keys]
    for output, merge in zip(plan.outputs[plan.keys :], plan.merges, strict=True):
        arrays.append(_merged(grouped, output, merge, ansi=ansi))
    return pa.Table.from_arrays(arrays, schema=plan.schema)


def _normal(array: pa.ChunkedArray) -> pa.ChunkedArray:
    """Group keys as Spark groups them: one zero, one NaN."""
    if not pa.types.is_floating(array.type):
        return array
    nan = pa.scalar(float("nan"), array.type)
    return pc.if_else(pc.is_nan(array), nan, pc.add(array, pa.scalar(0.0, array.type)))


def _ingredients(
    name: str, array: pa.ChunkedArray, merge: str
) -> list[tuple[str, pa.ChunkedArray, str]]:
    """The columns to aggregate for one merged column, with their kernels."""
    how = "sum" if merge == "count" else merge
    if merge == "sum" and pa.types.is_int64(array.type):
        return [(name, array.cast(_WIDE), how)]
    if merge in _IDEMPOTENT_MERGES and pa.types.is_floating(array.type):
        nan = pc.is_nan(array)
        number = pc.if_else(nan, pa.scalar(None, array.type), array)
        return [(name, number, how), (f"{name}?", nan.cast(pa.int64()), "max")]
    return [(name, array, how)]


_IDEMPOTENT_MERGES = ("min", "max")


def _merged(grouped: pa.Table, output: Output, merge: str, *, ansi: bool) -> pa.ChunkedArray:
    field = output.field
    how = "sum" if merge == "count" else merge
    array = grouped.column(f"{field.name}_{how}")
    if merge == "sum" and pa.types.is_int64(field.type):
        return _to_long(array, output.column if ansi else None)
    if merge in _IDEMPOTENT_MERGES and pa.types.is_floating(field.type):
        some_nan = pc.fill_null(pc.equal(grouped.column(f"{field.name}?_max"), 1), False)  # noqa: FBT003
        # NaN is the greatest; it is the least only where nothing else is
        wins = some_nan if merge == "max" else pc.and_(some_nan, pc.is_null(array))
        return pc.if_else(wins, pa.scalar(float("nan"), array.type), array).cast(field.type)
    return pc.fill_null(array, 0) if merge == "count" else array.cast(field.type)


def _to_long(array: pa.ChunkedArray, column: str | None) -> pa.ChunkedArray:
    """Sums that left the range of a long fail, naming the column, or wrap where none is given."""
    low, high = (pa.scalar(end, pa.int64()).cast(_WIDE) for end in (_LONG_MIN, _LONG_MAX))
    wide = array.cast(_WIDE)
    outside = pc.or_(pc.less(wide, low), pc.greater(wide, high))
    if not pc.any(outside, min_count=0).as_py():
        return wide.cast(LONG)
    if column is not None:
        raise error("ARITHMETIC_OVERFLOW", column=column)
    values = [None if v is None else int(v) for v in wide.to_pylist()]
    wrapped = [None if v is None else (v - _LONG_MIN) % (1 << 64) + _LONG_MIN for v in values]
    return pa.chunked_array([pa.array(wrapped, LONG)])


def finish(partials: pa.Table, plan: CompletePlan) -> pa.Table:
    """The answer from partial results."""
    merged = merge_partials(partials, plan.partial, ansi=plan.ansi)
    if plan.keys == plan.partial.keys:
        arrays = [*merged.columns[: plan.keys], *(_final(merged, f) for f in plan.finals)]
        return pa.Table.from_arrays(arrays, schema=plan.schema)
    return _finish_distinct(merged, plan)


def _final(merged: pa.Table, final: Final) -> pa.ChunkedArray:
    if final.how == "keep":
        return merged.column(final.parts[0])
    total, count = (merged.column(part) for part in final.parts)
    quotient = pc.divide(total.cast(DOUBLE), count.cast(DOUBLE))
    return pc.if_else(pc.equal(count, 0), pa.scalar(None, DOUBLE), quotient)


def _finish_distinct(merged: pa.Table, plan: CompletePlan) -> pa.Table:
    """Fold the groups of distinct values into the real groups."""
    value = merged.column(plan.keys)
    seen = pc.is_valid(value).cast(LONG)
    names = list(plan.partial.schema.names)
    outer_fields = list(plan.partial.schema)
    fields = [*outer_fields[: plan.keys], *outer_fields[plan.keys + 1 :]]
    merges = list(plan.partial.merges)
    arrays = [merged.column(f.name) for f in fields]
    fields.append(pa.field("distinct_count", LONG))
    arrays.append(seen)
    merges.append("count")
    numeric = pa.types.is_integer(value.type) or pa.types.is_floating(value.type)
    if numeric:
        kind = LONG if pa.types.is_integer(value.type) else DOUBLE
        fields.append(pa.field("distinct_sum", kind))
        arrays.append(value.cast(kind))
        merges.append("sum")
    outer = AggregatePlan({}, pa.schema([]), tuple(Output(f, "engine") for f in fields), plan.keys,
                          tuple(merges))  # fmt: skip
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    folded = merge_partials(table, outer, ansi=plan.ansi)
    columns = [folded.column(name) for name in names[: plan.keys]]
    for final in plan.finals:
        shifted = Final(final.field, final.how, tuple(part - 1 for part in final.parts))
        columns.append(_folded(folded, shifted))
    return pa.Table.from_arrays(columns, schema=plan.schema)


def _folded(folded: pa.Table, final: Final) -> pa.ChunkedArray:
    if final.how == "count_distinct":
        return folded.column("distinct_count")
    if final.how == "sum_distinct":
        return folded.column("distinct_sum").cast(final.field.type)
    if final.how == "avg_distinct":
        count, total = folded.column("distinct_count"), folded.column("distinct_sum")
        quotient = pc.divide(total.cast(DOUBLE), count.cast(DOUBLE))
        return pc.if_else(pc.equal(count, 0), pa.scalar(None, DOUBLE), quotient)
    return _final(folded, final)
