"""Generated rows as Arrow tables."""

from __future__ import annotations

import pyarrow as pa

from indextables.expr.values import kind_of
from indextables.model.types import Struct


def arrow(values, kind):
    """Convert values of rows to an Arrow array: there, dates and timestamps are integers."""
    if isinstance(kind, Struct):
        members = [
            arrow([None if v is None else v[f.name] for v in values], f.type) for f in kind.fields
        ]
        fields = [pa.field(f.name, m.type) for f, m in zip(kind.fields, members, strict=True)]
        nulls = pa.array([v is None for v in values], pa.bool_())
        return pa.StructArray.from_arrays(members, fields=fields, mask=nulls)
    name = kind_of(kind)
    if name == "date":
        return pa.array(values, pa.int32()).cast(pa.date32())
    if name.startswith("timestamp"):
        return pa.array(values, pa.int64()).cast(kind.to_arrow())
    return pa.array(values, kind.to_arrow())


def to_table(data, schema):
    columns = {f.name: arrow([row[f.name] for row in data], f.type) for f in schema.fields}
    types = pa.schema([pa.field(name, array.type) for name, array in columns.items()])
    return pa.table(columns, schema=types)
