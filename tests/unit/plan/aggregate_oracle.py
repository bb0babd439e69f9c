"""Brute-force aggregates: the engine's answer per split, and SQL's answer over all rows."""

from __future__ import annotations

import math

import pyarrow as pa
from tests.unit.plan.sql_oracle import key

from indextables.plan.partitions import typed_array

# not a string, which a string column could hold
NOT_A_NUMBER = ("not a number",)


def group_value(value):
    """A group key: Spark groups all NaNs together, and both zeros."""
    if isinstance(value, float):
        return NOT_A_NUMBER if math.isnan(value) else value + 0.0
    return value


def apply(op, values):
    present = [v for v in values if v is not None]
    if op == "COUNT":
        return len(present)
    if not present:
        return None
    if op in ("MIN", "MAX"):
        return (min if op == "MIN" else max)(present, key=key)
    return math.fsum(present) if isinstance(present[0], float) else sum(present)


def sql(rows, keys, functions):
    """The result rows by group; a function is (op, column, distinct)."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(group_value(row[k]) for k in keys), []).append(row)
    if not keys:
        groups.setdefault((), [])
    answer = {}
    for group, members in groups.items():
        results = []
        for op, column, distinct in functions:
            if op == "COUNT_STAR":
                results.append(len(members))
                continue
            values = [row[column] for row in members]
            if distinct:
                values = list({group_value(v): v for v in values}.values())
            if op == "AVG":
                total, count = apply("SUM", values), apply("COUNT", values)
                results.append(total / count if count else None)
            else:
                results.append(apply(op, values))
        answer[group] = results
    return answer


def engine_batch(rows, plan):
    """The engine's result for the rows of one split."""
    fields = [group["field"] for group in plan.request["group_by"]]
    functions = [
        ("COUNT_STAR", None, False)
        if f["op"] == "count_star"
        else (f["op"].upper(), f["field"], False)
        for f in plan.request["functions"]
    ]
    answer = sql(rows, fields, functions)
    back = {NOT_A_NUMBER: math.nan}
    table = [[*(back.get(k, k) for k in ks), *vs] for ks, vs in answer.items()]
    columns = [[row[i] for row in table] for i in range(len(plan.engine_schema))]
    arrays = [
        to_array(values, field.type)
        for values, field in zip(columns, plan.engine_schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=plan.engine_schema)


def to_array(values, kind):
    if pa.types.is_date32(kind):
        return pa.array(values, pa.int32()).cast(kind)
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(kind)
    return pa.array(values, kind)


def constants(row, schema, partitions):
    return {n: typed_array([row[n]], schema.get(n).type)[0] for n in partitions}


def answer_of(table, keys):
    """Convert an Arrow result to the form of `sql`."""
    columns = [plain_column(c) for c in table.columns]
    rows = list(zip(*columns, strict=True))
    return {tuple(group_value(v) for v in row[:keys]): list(row[keys:]) for row in rows}


def plain_column(column):
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return column.to_pylist()


def alike(left, right):
    if isinstance(left, float) and isinstance(right, float):
        return key(left) == key(right) or math.isclose(left, right, rel_tol=1e-9)
    return left == right
