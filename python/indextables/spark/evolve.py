"""Schema evolution for the hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from indextables.config import write as keys
from indextables.errors import SchemaMismatchError, UnsupportedError
from indextables.save.evolve import evolve_table, evolved_schema
from indextables.spark.tables import load
from indextables.spark.warm import open_table

if TYPE_CHECKING:
    from indextables.spark.request import Request


def evolve(request: Request) -> dict[str, Any]:
    """Evolve the table to the schema of the data if `mergeSchema` is set; return the table."""
    table = open_table(request)
    if table.settings.get(keys.MERGE_SCHEMA):
        evolve_table(table.log, table.snapshot, request.schema("data_schema"), table.settings)
    return load(request)


def can_evolve(request: Request) -> dict[str, Any]:
    """Whether the schema can evolve without loss, and would change."""
    table = open_table(request)
    try:
        schema = evolved_schema(table.snapshot, request.schema("data_schema"), table.settings)
    except (SchemaMismatchError, UnsupportedError):
        return {"ok": False}
    return {"ok": schema != table.snapshot.schema}
