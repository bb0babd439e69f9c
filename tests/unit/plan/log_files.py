"""Entries of splits in a snapshot, made from rows."""

from __future__ import annotations

import math

import pyarrow as pa
from tests.unit.plan.sql_oracle import key

from indextables.expr.literals import render_literal
from indextables.expr.values import kind_of

TEXTS = pa.map_(pa.string(), pa.string())


def statistic(value, kind):
    """A statistic as a string, as this writer and others format it."""
    name = kind_of(kind)
    if name == "boolean":
        return "true" if value else "false"
    if name in ("float", "double"):
        return repr(value).removesuffix(".0")
    if name == "date":
        return render_literal(value, kind)
    return str(value)


def cut(text, length):
    """Truncate a string like other writers: by UTF-16 units, replacing a broken surrogate pair."""
    units = text.encode("utf-16-le", "surrogatepass")[: 2 * length]
    return units.decode("utf-16-le", "replace").replace("\ufffd", "?")


def extremes(rows, schema, partitions, cut_length):
    least, most = [], []
    for field in schema.fields:
        kind = kind_of(field.type)
        if field.name in partitions or kind in ("array", "struct", "map", "binary"):
            continue
        values = [row[field.name] for row in rows if row[field.name] is not None]
        values = [v for v in values if not (isinstance(v, float) and math.isnan(v))]
        finite = [v for v in values if not (isinstance(v, float) and math.isinf(v))]
        if not values or len(finite) < len(values):
            continue
        low, high = (statistic(f(values, key=key), field.type) for f in (min, max))
        if kind == "string":
            low, high = cut(low, cut_length), cut(high, cut_length)
        least.append((field.name, low))
        most.append((field.name, high))
    return least, most


def partition_texts(row, schema, partitions):
    found = []
    for position, name in enumerate(partitions):
        value = render_literal(row[name], schema.get(name).type)
        # null has three spellings
        if value is not None:
            found.append((name, value))
        elif position % 2:
            found.append((name, "__HIVE_DEFAULT_PARTITION__"))
    return found


def files_of(groups, schema, partitions=(), cut_length=32):
    """One split per group of rows; the rows of a group share their partition values."""
    stats = [extremes(rows, schema, partitions, cut_length) for rows in groups]
    return pa.table(
        {
            "path": pa.array([f"splits/{n}.split" for n in range(len(groups))]),
            "partitionValues": pa.array(
                [partition_texts(rows[0], schema, partitions) for rows in groups], TEXTS
            ),
            "size": pa.array([1000 + n for n in range(len(groups))], pa.int64()),
            "numRecords": pa.array([len(rows) for rows in groups], pa.int64()),
            "minValues": pa.array([low for low, _ in stats], TEXTS),
            "maxValues": pa.array([high for _, high in stats], TEXTS),
        }
    )
