"""A split of another writer is never pruned from a query for a value it holds."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from indextables.config.settings import resolve
from indextables.engine.split import Split
from indextables.engine.store import open_store as open_native
from indextables.expr.predicate import Bound, OneOf, Range
from indextables.expr.values import kind_of
from indextables.log import open_log
from indextables.plan.columns import describe_columns, file_mappings
from indextables.plan.prune import prune_splits
from indextables.storage import open_store

PLAIN = ("boolean", "byte", "short", "integer", "long", "float", "double", "string", "date",
         "timestamp", "timestamp_ntz", "decimal")  # fmt: skip


def tables(fixtures):
    return sorted(p.parent for p in fixtures.glob("indextables-*/*/table/_transaction_log"))


def values_of(column):
    """Some values of a column, in the form of predicates."""
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    distinct = pc.unique(column).drop_null()
    return distinct[: min(len(distinct), 6)].to_pylist()


def test_pruning_keeps_every_split_that_has_the_value(fixtures):
    checked = pruned = 0
    for path in tables(fixtures):
        settings = resolve()
        snapshot = open_log(open_store(str(path), settings), settings).snapshot()
        files = snapshot.files()
        schema, names = snapshot.schema, snapshot.partition_columns
        mappings = [*snapshot.registry.values(), *file_mappings(files)]
        columns = describe_columns(schema, names, snapshot.metadata.configuration, mappings)
        inside = [f for f in schema.fields if kind_of(f.type) in PLAIN and f.name not in names]
        wanted = pa.schema([f.to_arrow() for f in inside])
        for row in files.select(["path"]).to_pylist():
            split = Split(open_native(str(path)), row["path"], schema=schema.to_arrow_schema())
            rows = split.table(None, wanted)
            for field in inside:
                for value in values_of(rows[field.name]):
                    at = (field.name,)
                    bound = Bound(value, inclusive=True)
                    for test in (
                        OneOf(at, field.type, (value,)),
                        Range(at, field.type, bound, None),
                        Range(at, field.type, None, bound),
                    ):
                        kept, counters = prune_splits(files, test, schema, names, columns)
                        assert row["path"] in kept.column("path").to_pylist(), (path, test)
                        checked += 1
                        pruned += counters.pruned_by_stats
    assert checked > 500
    assert pruned > 50
