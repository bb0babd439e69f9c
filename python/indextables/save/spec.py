"""What the tasks of a write need to know about the table, for all entry points."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING

from indextables.config import indexing
from indextables.log.protocol import check_changeable
from indextables.model.types import render_schema
from indextables.plan.fields import check_some_field, plan_fields, without_effect
from indextables.plan.keys import check_same_key, plan_key
from indextables.plan.layout import rows_per_split
from indextables.save.splits import WriteSpec

if TYPE_CHECKING:
    from indextables.config.settings import Settings
    from indextables.log import Log, Snapshot
    from indextables.model.types import Struct

_log = logging.getLogger("indextables.write")


def spec_of_write(
    log: Log,
    table: Snapshot | None,
    schema: Struct,
    partition_columns: tuple[str, ...],
    settings: Settings,
    *,
    overwrite: str = "none",
    fits: bool = False,
) -> WriteSpec:
    """The spec of a write after which the table has this schema and partitioning.

    `fits` says that one split holds all rows: then the splits of the table are not read.
    """
    _warn_without_effect(schema, settings)
    defined = table is not None and overwrite != "table"
    configuration = table.metadata.configuration if table is not None and defined else {}
    if table is not None:
        check_changeable(table.protocol, table.metadata, table.path)
    if defined:
        check_same_key(settings, configuration)
    fields = plan_fields(schema, settings, partition_columns, configuration)
    check_some_field(fields, partition_columns)
    url, options = log.store.native()
    # an overwrite of everything assigns keys to buckets again
    replaces_all = table is None or overwrite in ("all", "table")
    return WriteSpec(
        url=url,
        store_options=options,
        schema_json=render_schema(schema),
        partition_columns=partition_columns,
        fields=tuple(fields),
        settings=settings,
        key=plan_key(schema, partition_columns, settings),
        indexes=() if table is None or replaces_all else table.hash_indexes,
        split_rows=None
        if table is None or fits
        else rows_per_split(table.num_records, table.size_bytes, settings),
    )


def _warn_without_effect(schema: Struct, settings: Settings) -> None:
    for column in without_effect(schema, settings):
        _warn_once(column)


@cache
def _warn_once(column: str) -> None:
    _log.warning(
        "`%s` has no effect on `%s`: text and binary columns have no columnar copy; index a "
        "string column as `string` to sort and aggregate by it",
        indexing.FAST.full_key,
        column,
    )
