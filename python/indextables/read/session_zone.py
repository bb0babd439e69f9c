"""Reject reads whose answer depends on the session's time zone."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from indextables.errors import error
from indextables.expr.binding import UTC_NAMES
from indextables.expr.predicate import Column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indextables.read.request import ScanRequest
    from indextables.read.table import OpenTable


def check_zone(table: OpenTable, request: ScanRequest) -> None:
    """Reject timestamps of a companion's partitions in a session that reads them differently."""
    companion, zone = table.companion, request.time_zone
    if companion is None or not companion.zoned or zone in UTC_NAMES:
        return
    used = {*request.output.names, *_named(request)}
    for column in companion.zoned:
        if column in used:
            raise error("COMPANION_TIME_ZONE", column=column, path=table.path, zone=zone)


def _named(value: Any) -> Iterator[str]:
    """The columns that a value's expressions name."""
    if isinstance(value, Column):
        yield value.path[0]
    elif isinstance(value, tuple):
        for each in value:
            yield from _named(each)
    elif is_dataclass(value):
        for each in fields(value):
            yield from _named(getattr(value, each.name))
