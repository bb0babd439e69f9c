"""Arrow schemas as Spark's schema JSON, for results whose columns the plan made up."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from indextables.model.types import Struct

_NAMES = {
    pa.bool_(): "boolean",
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
    pa.timestamp("us", tz="UTC"): "timestamp",
    pa.timestamp("us"): "timestamp_ntz",
    pa.duration("us"): "interval day to second",
}


def to_spark_json(schema: pa.Schema, table: Struct) -> dict[str, Any]:
    """Spark's JSON of a result schema; a column named as in the table has the table's type."""
    fields = []
    for field in schema:
        known = table.get(field.name)
        same = known is not None and known.type.to_arrow() == field.type
        kind = known.type.to_json() if known is not None and same else _type_json(field.type)
        fields.append({"name": field.name, "type": kind, "nullable": True, "metadata": {}})
    return {"type": "struct", "fields": fields}


def _type_json(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return _NAMES[kind]
