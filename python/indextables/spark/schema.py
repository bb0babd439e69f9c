"""Convert Arrow schemas to Spark's schema JSON, for results with computed columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from indextables.model.arrow import type_from_arrow
from indextables.model.types import Struct


def to_spark_json(schema: pa.Schema, table: Struct) -> dict[str, Any]:
    """Spark's JSON of a result schema; a column named as in the table has the table's type."""
    fields = []
    for field in schema:
        known = table.get(field.name)
        same = known is not None and known.type.to_arrow() == field.type
        kind = known.type if known is not None and same else type_from_arrow(field.type)
        fields.append(
            {"name": field.name, "type": kind.to_json(), "nullable": True, "metadata": {}}
        )
    return {"type": "struct", "fields": fields}
