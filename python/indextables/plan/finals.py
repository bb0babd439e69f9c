"""Final results of aggregations that the planner answers itself.

Does what Spark does after a partial aggregation: merges partial rows, divides averages, counts
distinct values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.expr.aggregation import Aggregation, Function
from indextables.expr.values import FLOATING, INTEGRAL_BITS, kind_of
from indextables.model import kernels as pc
from indextables.model.arrays import small_scalar
from indextables.plan.aggregates import (
    DOUBLE,
    LONG,
    WIDE,
    AggregatePlan,
    Output,
    argument_of,
    plan_aggregation,
)
from indextables.plan.partials import merge_partials

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.plan.aggregates import Conditions
    from indextables.plan.columns import Columns


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
    """A partial plan, and how its results are finished.

    `keys` counts the real group keys; the partial plan has one more when values are distinct.
    """

    partial: AggregatePlan
    keys: int
    finals: tuple[Final, ...]
    ansi: bool = False

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of the answer."""
        return pa.schema(
            [*list(self.partial.schema)[: self.keys], *(final.field for final in self.finals)]
        )


def plan_complete(
    aggregation: Aggregation,
    columns: Columns,
    *,
    ansi: bool = False,
    time_zone: str = "",
    conditions: Conditions | None = None,
) -> CompletePlan | None:
    """The plan for a whole aggregation, with averages and distinct values of one column."""
    keys, functions = aggregation.group_by, aggregation.functions
    if not all(function.name for function in functions):
        return None  # a function that the hooks do not know
    if any(function.distinct and function.condition is not None for function in functions):
        return None
    distinct = [f.args for f in functions if f.distinct and f.name not in _IDEMPOTENT]
    if any(args != distinct[0] for args in distinct) or any(len(args) != 1 for args in distinct):
        return None
    inner: list[Function] = []
    specs = [_expand(function, inner) for function in functions]
    partial = plan_aggregation(
        Aggregation((*keys, *(distinct[0] if distinct else ())), tuple(inner)),
        columns,
        ansi=ansi,
        time_zone=time_zone,
        conditions=conditions,
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


def _expand(function: Function, inner: list[Function]) -> tuple[str, tuple[int, ...]]:
    """How a function is finished, and the positions of the inner functions it needs."""
    op = function.name
    if function.distinct and op not in _IDEMPOTENT:
        return f"{op.lower()}_distinct", ()
    if op == "AVG":
        needed = [replace(function, name=part) for part in ("SUM", "COUNT")]
        return "divide", tuple(_position(part, inner) for part in needed)
    return "keep", (_position(replace(function, distinct=False), inner),)


def _position(function: Function, inner: list[Function]) -> int:
    if function not in inner:
        inner.append(function)
    return inner.index(function)


def _final_type(
    function: Function,
    how: str,
    parts: Sequence[int],
    partial: AggregatePlan,
    columns: Columns,
) -> pa.DataType | None:
    if how == "keep":
        return partial.schema.field(partial.keys + parts[0]).type
    if how == "count_distinct":
        return LONG
    found = argument_of(function, columns)
    kind = kind_of(found[2]) if found else ""
    if kind not in (*INTEGRAL_BITS, *FLOATING):
        return None
    return LONG if how == "sum_distinct" and kind in INTEGRAL_BITS else DOUBLE


def finish(partials: pa.Table, plan: CompletePlan, *, merged: bool = False) -> pa.Table:
    """The answer from partial results, which are merged unless they have each group only once."""
    if not merged:
        partials = merge_partials(partials, plan.partial, ansi=plan.ansi)
    if plan.keys == plan.partial.keys:
        arrays = [*partials.columns[: plan.keys], *(_final(partials, f) for f in plan.finals)]
        return pa.Table.from_arrays(arrays, schema=plan.schema)
    return _finish_distinct(partials, plan)


def _final(merged: pa.Table, final: Final) -> pa.ChunkedArray:
    if final.how == "keep":
        return merged.column(final.parts[0])
    total, count = (merged.column(part) for part in final.parts)
    return _mean(total, count)


def _finish_distinct(merged: pa.Table, plan: CompletePlan) -> pa.Table:
    """Fold the groups of distinct values into the real groups."""
    value = merged.column(plan.keys)
    outputs = list(plan.partial.outputs)
    distinct = outputs.pop(plan.keys)
    arrays = [merged.column(output.field.name) for output in outputs]
    merges = list(plan.partial.merges)

    def add(name: str, array: pa.ChunkedArray, merge: str) -> None:
        outputs.append(Output(pa.field(name, array.type), "engine", column=distinct.column))
        arrays.append(array)
        merges.append(merge)

    add("count_distinct", pc.is_valid(value).cast(LONG), "count")
    for how in {final.how for final in plan.finals} & {"sum_distinct", "avg_distinct"}:
        add(how, _summed(value, how), "sum")
    outer = AggregatePlan({}, pa.schema([]), tuple(outputs), plan.keys, tuple(merges))
    table = pa.Table.from_arrays(arrays, schema=outer.schema)
    folded = merge_partials(table, outer, ansi=plan.ansi)
    columns = folded.columns[: plan.keys]
    for final in plan.finals:
        shifted = Final(final.field, final.how, tuple(part - 1 for part in final.parts))
        columns.append(_folded(folded, shifted))
    return pa.Table.from_arrays(columns, schema=plan.schema)


def _summed(value: pa.ChunkedArray, how: str) -> pa.ChunkedArray:
    """Distinct values as they are summed: whole numbers exactly, and beyond a long for averages."""
    if not pa.types.is_integer(value.type):
        return value.cast(DOUBLE)
    whole = value.cast(LONG)
    return whole if how == "sum_distinct" else whole.cast(WIDE)


def _folded(folded: pa.Table, final: Final) -> pa.ChunkedArray:
    if final.how in ("count_distinct", "sum_distinct"):
        return folded.column(final.how)
    if final.how == "avg_distinct":
        return _mean(folded.column(final.how), folded.column("count_distinct"))
    return _final(folded, final)


def _mean(total: pa.ChunkedArray, count: pa.ChunkedArray) -> pa.ChunkedArray:
    """Null where there is nothing to divide."""
    none = pc.equal(count, small_scalar(0, count.type))
    quotient = pc.divide(total.cast(DOUBLE), count.cast(DOUBLE))
    return pc.if_else(none, small_scalar(None, DOUBLE), quotient)
