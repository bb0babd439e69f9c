"""The capabilities of a table's columns, computed once per version."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from indextables.config import read as keys
from indextables.engine.query import parse_query
from indextables.engine.split import Split
from indextables.log.actions import INDEXING_KEY
from indextables.plan.columns import Columns, describe_columns, file_mappings, read_mapping
from indextables.plan.filters import FilterPlan, plan_filters
from indextables.plan.prune import trusted_columns
from indextables.plan.split_bounds import SplitBounds
from indextables.runtime.cache import Cache
from indextables.runtime.handles import native_store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from indextables.expr.predicate import Predicate
    from indextables.log import Snapshot
    from indextables.read.table import OpenTable
    from indextables.storage import Store

# the time tells a table from another at the same location, whose writer chose the same id
_known: Cache[tuple[str, str, int, int, str], Columns] = Cache(64)
# larger: a value per split and column
_bounds: Cache[tuple[str, str, int, int], SplitBounds] = Cache(16)


def columns_of(store: Store, snapshot: Snapshot) -> Columns:
    """The columns of the table in a store; the same for every call on this version.

    A companion has the columns of its source's version, whatever its own is.
    """
    metadata = snapshot.metadata
    key = (store.url, *_identity(snapshot), metadata.schema_string)
    return _known.get_or(key, lambda: _describe(store, snapshot))


def _identity(snapshot: Snapshot) -> tuple[str, int, int]:
    return snapshot.metadata.id, snapshot.version, snapshot.timestamp_ms


def _describe(store: Store, snapshot: Snapshot) -> Columns:
    return describe_columns(
        snapshot.schema,
        snapshot.partition_columns,
        snapshot.metadata.configuration,
        _mappings(store, snapshot),
    )


def _mappings(store: Store, snapshot: Snapshot) -> list[str]:
    """The document mappings of a table, then those of its entries, then that of one of its splits.

    Tables of other writers may have any of them; all splits of a table are indexed alike.
    """
    found = [*snapshot.registry.values()]
    if INDEXING_KEY in snapshot.metadata.configuration or _cover(found, snapshot):
        return found
    files = snapshot.files()
    found += file_mappings(files)
    if _cover(found, snapshot) or not files.num_rows:
        return found
    split = Split(native_store(*store.native()), files.column("path")[0].as_py())
    return [*found, json.dumps(split.describe()["doc_mapping"])]


def _cover(mappings: Sequence[str], snapshot: Snapshot) -> bool:
    """Whether document mappings describe all columns."""
    known = {field["name"] for text in mappings for field in read_mapping(text)}
    return {*snapshot.schema.names} <= known | {*snapshot.partition_columns}


def bounds_of(table: OpenTable, files: pa.Table) -> SplitBounds:
    """The values of all live splits of a table, kept for later queries.

    They are in the order of the splits, and a checkpoint lists the splits of a version in another.
    """
    snapshot = table.snapshot
    key = (table.store.url, *_identity(snapshot))
    found = _bounds.get(key)
    if found is None or not same_splits(found.files, files):
        found = SplitBounds(files, snapshot.schema, trusted_columns(snapshot.schema, table.columns))
        _bounds.put(key, found)
    return found


def same_splits(known: pa.Table, files: pa.Table) -> bool:
    """Whether two tables of splits list the same ones in the same order."""
    return known is files or known.column("path").equals(files.column("path"))


def query_check(columns: Columns) -> Callable[[str, list[str]], object]:
    """Parses search queries against the columns, so that errors come before any work."""
    return lambda text, defaults: parse_query(text, columns.query_fields, defaults)


def plan_predicates(
    table: OpenTable, predicates: Sequence[Predicate], time_zone: str = "UTC"
) -> FilterPlan:
    """Plan the predicates on a table; raise the error of an invalid search."""
    most = table.settings.get(keys.MAX_UNQUALIFIED_FIELDS)
    columns = table.columns
    return plan_filters(predicates, columns, most, query_check(columns), time_zone)
