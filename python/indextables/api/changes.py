"""Change rows from plain Python, without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from indextables.api.arguments import Path, values_of
from indextables.api.ask import open_table, plan_exactly, predicates_of
from indextables.read.request import ScanRequest
from indextables.read.spec import ROW_ID
from indextables.rows.delete import delete_rows
from indextables.rows.update import update_rows


def delete(
    path: Path,
    where: str | None = None,
    query: str | None = None,
    options: Mapping[str, str] | None = None,
) -> int:
    """Delete the rows that match a predicate and a query, as one commit; without either, all rows.

    `where` and `query` are those of `Table.scan`. Returns the number of deleted rows. A delete
    follows its rows if another writer moves them in the meantime.
    """
    table = open_table(path, options or {})
    request = ScanRequest(ROW_ID, predicates_of(table, where, query), here=True)
    return delete_rows(plan_exactly(table, request)).rows


def update(
    path: Path,
    values: Mapping[str, Any],
    where: str | None = None,
    query: str | None = None,
    options: Mapping[str, str] | None = None,
) -> int:
    """Set columns to values in the rows that match a predicate and a query, as one commit.

    `values` maps columns to Python values. Matching rows are read into memory. Returns the number
    of updated rows. To compute new values from old ones, use `UPDATE` in Spark, or read, change
    and `write` the rows of a table with a primary key.
    """
    new, table = values_of(values, "values"), open_table(path, options or {})
    return update_rows(table, predicates_of(table, where, query), new).rows
