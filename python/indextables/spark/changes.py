"""The change feed as a scan: what is pushed down, which tasks read it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from indextables.config import stream as keys
from indextables.errors import error
from indextables.log.history import parse_timestamp
from indextables.read.changes import (
    ChangedRows,
    ChangeSource,
    changes_of,
    check_names,
    first_version,
    last_version,
    plan_changes,
    read_changes,
)
from indextables.spark.compat import acknowledge_at_once, settle
from indextables.spark.filtering import filters_of, scan_request
from indextables.spark.read_task import named, while_wanted
from indextables.spark.shipping import pickled
from indextables.spark.warm import open_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from indextables.model.types import Struct
    from indextables.read.spec import ReadSpec
    from indextables.read.table import OpenTable
    from indextables.spark.planner import Answer
    from indextables.spark.request import Request

_TYPES = {"_change_type": "string", "_commit_version": "long", "_commit_timestamp": "timestamp"}


def is_change_feed(request: Request) -> bool:
    """Whether a call reads changes, not rows."""
    return request.settings.get(keys.READ_CHANGE_FEED)


def schema_json(schema: Struct) -> dict[str, Any]:
    """The columns of the table and of the change feed."""
    check_names(schema)
    more = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in _TYPES.items()
    ]
    columns = schema.to_json()
    return {**columns, "fields": [*columns["fields"], *more]}


def push(request: Request) -> dict[str, Any]:
    """Predicates on columns of the table are answered by the index, others by Spark."""
    return {"pushed": list(filters_of(request, open_table(request)).pushed)}


def plan(request: Request) -> Answer:
    """The tasks that read a range of versions."""
    if not request.body.get("properties", {}).keys() & {"readChangeFeed", "readchangefeed"}:
        raise error("CHANGES_BY_NAME")
    table = open_table(request)
    first, last = _range(table)
    tasks = plan_tasks(request, table, list(changes_of(table, first, last)))
    reply = {
        "local": False,
        "explain": f"IndexTables changes of versions {first} to {last}",
        "runtime_columns": [],
        "metrics": {},
        "hosts": [[]] * (len(tasks) - 1),
    }
    return reply, tasks


def plan_tasks(request: Request, table: OpenTable, rows: Sequence[ChangedRows]) -> list[bytes]:
    """The function that reads changes, and the input of each task."""
    scan = plan_changes(table, scan_request(request, table), rows)
    function = pickled(ChangeTask(scan.spec), request.body["wire"])
    tasks = scan.tasks(request.cores)
    return [function, *(json.dumps([asdict(each) for each in task]).encode() for task in tasks)]


@dataclass(frozen=True)
class ChangeTask:
    """Reads the changed rows that its one input batch names."""

    spec: ReadSpec

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows as batches for Spark's worker."""
        acknowledge_at_once()
        try:
            for batch in batches:
                work, file = named(batch)
                sources = [ChangeSource.from_json(v) for v in json.loads(work)]
                yield from while_wanted(file, read_changes(self.spec, sources))
        finally:
            settle()


def _range(table: OpenTable) -> tuple[int, int]:
    log, settings = table.log, table.settings
    start, end = settings.get(keys.STARTING_TIMESTAMP), settings.get(keys.ENDING_TIMESTAMP)
    first = first_version(
        log, settings.get(keys.STARTING_VERSION), None if start is None else parse_timestamp(start)
    )
    last = last_version(
        log, settings.get(keys.ENDING_VERSION), None if end is None else parse_timestamp(end)
    )
    if first > last:
        raise error("CHANGES_RANGE", detail=f"cannot begin at version {first} and end at {last}")
    return first, last
