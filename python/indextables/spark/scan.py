"""Scans for the hooks: their documents become `ScanRequest`s, plans become documents."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import pyarrow as pa

from indextables.config.read import JOIN_MAX_KEYS
from indextables.errors import IndexTablesError
from indextables.plan.joins import KeySource, judge_join, key_columns, key_limit
from indextables.plan.prune import column_bounds
from indextables.plan.scan import touched_bytes
from indextables.read.partitioning import reported_columns, task_keys
from indextables.read.scan import run_scan, run_small_scan
from indextables.runtime.handles import follow, orders
from indextables.runtime.process_stats import fetched
from indextables.spark import changes
from indextables.spark.explain import describe_scan
from indextables.spark.filtering import filters_of, scan_request
from indextables.spark.plans import planned
from indextables.spark.read_task import shipped_scan
from indextables.spark.request import Request
from indextables.spark.schema import to_spark_json
from indextables.spark.shipping import in_parts, to_stream
from indextables.spark.warm import open_table, state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from indextables.read.scan import Scan
    from indextables.spark.planner import Answer

Rows = TypeVar("Rows", pa.Table, "pa.Table | None")
# metrics and rows
Found: TypeAlias = tuple[dict[str, Any], pa.Table]

# a plan includes its rows if that reads less than this; EXPLAIN pays for it too
_CARRIED_BYTES = 64 << 20
_CARRIED_BYTES_REMOTE = 8 << 20
# one task handles this much sooner than another job adds up what several tasks did
_TASK_BYTES = 4 << 20
# keys of a join are expected to find at most so many rows each, or in all if there are few keys:
# reading these takes no longer than looking up the keys
_ROWS_PER_KEY, _FEW_ROWS = 10, 1000


def push(request: Request) -> dict[str, Any]:
    """The grade of each predicate: exact, superset or none."""
    if changes.is_change_feed(request):
        return changes.push(request)
    table = open_table(request)
    pushed = filters_of(request, table).pushed
    return {"pushed": list(pushed), **state_of(table)}


def offer(request: Request) -> Answer:
    """Whether a limit, an order or an aggregation can be pushed down; `complete` if wholly."""
    if changes.is_change_feed(request):
        return {"ok": False}, []
    body, scan = request.body, scan_of(request)
    state = state_of(scan.table)
    if _refuses(body, scan):
        return {"ok": False, **state}, []
    reply: dict[str, Any] = {"ok": True, "complete": scan.local, **state}
    rows: list[bytes] = []
    aggregate = scan.plan.aggregate
    if aggregate is not None:
        schema = aggregate.schema if scan.complete is None else scan.complete.schema
        reply["schema"] = to_spark_json(schema, scan.table.snapshot.schema)
        if scan.complete is not None:  # the plan is final, so Spark need not call again
            whole = Request({**body, "schema": reply["schema"]})
            reply["plan"], rows = _with_rows(whole, scan)
    return reply, rows


def _refuses(body: Mapping[str, Any], scan: Scan) -> bool:
    cuts = any(key in body for key in ("order", "limit", "offset"))
    return (
        # groups are few and on the driver: Spark sorts them there, exactly
        ("aggregation" in body and (scan.plan.aggregate is None or cuts))
        or ("order" in body and scan.plan.order is None)
        or ("offset" in body and not scan.local)
        or bool(body.get("residual"))
    )


def plan(request: Request) -> Answer:
    """The scan as Spark needs it: statistics, what EXPLAIN shows, and its rows or its tasks."""
    if changes.is_change_feed(request):
        return changes.plan(request)
    scan = scan_of(request)
    if not request.body.get("distributed") and scan.local:
        return _with_rows(request, scan)
    columns = reported_columns(scan)
    if not columns and (found := _found_by_keys(request, scan) or _found(request, scan)):
        return _in_tasks(request, scan, *found)
    reply = _described(request.body, scan, local=False)
    parts, tasks = shipped_scan(scan, request, columns)
    reply["hosts"] = [[task.host] if task.host else [] for task in tasks]
    if columns:  # their values follow the tasks
        reply["partitioned_by"] = columns
        parts.append(to_stream(task_keys(scan, tasks, columns)))
    return reply, parts


def run(request: Request) -> Answer:
    """The whole answer, as an Arrow stream."""
    reply, rows = _answered(request, scan_of(request))
    return reply, [to_stream(rows)]


def _with_rows(request: Request, scan: Scan) -> Answer:
    """A plan with its rows, if that costs no more than another call."""
    reply = _described(request.body, scan, local=True)
    most = _CARRIED_BYTES_REMOTE if scan.unscored.is_remote else _CARRIED_BYTES
    if touched_bytes(scan.plan, scan.table.columns) > most:
        return reply, []
    try:
        answer, rows = _answered(request, scan)
    except IndexTablesError:  # a plan does not fail for its rows: reading them raises the error
        return reply, []
    return reply | answer, [to_stream(rows)]


def _found(request: Request, scan: Scan) -> Found | None:
    """The rows of a scan that this process runs."""
    return _answered(request, scan) if scan.local else None


def _found_by_keys(request: Request, scan: Scan) -> Found | None:
    """The few rows that a join asks for by their keys.

    They are read without being counted first, since finding them is most of the work.
    """
    keys = sum(len(value.get("values", ())) for value in request.body.get("runtime") or ())
    if not keys:
        return None
    most = max(_FEW_ROWS, keys * _ROWS_PER_KEY)
    answer, rows = _answered(request, scan, lambda scan: run_small_scan(scan, most))
    return None if rows is None else (answer, rows)


def _in_tasks(request: Request, scan: Scan, answer: dict[str, Any], rows: pa.Table) -> Answer:
    """A plan whose tasks hold their rows, such as the few that a join asks for by their keys."""
    reply = _described(request.body, scan, local=True)
    streams = [to_stream(part) for part in in_parts(rows, _TASK_BYTES)]
    return reply | answer | {"local": False, "answered": True}, streams


def _answered(
    request: Request, scan: Scan, run: Callable[[Scan], Rows] = run_scan
) -> tuple[dict[str, Any], Rows]:
    follow(orders(request.app))
    before = fetched()
    rows = run(scan)
    counted = (fetched() - before).metrics() if scan.spec.is_remote else {}
    return {"metrics": scan.metrics | counted}, rows


def scan_of(request: Request) -> Scan:
    """The planned scan of a call."""
    table = open_table(request)
    return planned(table, scan_request(request, table))


def _described(body: Mapping[str, Any], scan: Scan, *, local: bool) -> dict[str, Any]:
    found, cut = scan.plan, scan.truncated_to
    warning = "" if cut is None else f", TRUNCATED by read.mode=fast to {cut} rows per task"
    hints = "".join(f", hint: {text}" for text in scan.hints)
    if scan.scanned.values:
        hints += f", reads every value of: [{', '.join(scan.scanned.values)}]"
    if scan.scanned.words:
        hints += f", reads words or values of: [{', '.join(scan.scanned.words)}]"
    companion = scan.table.companion
    source = "" if companion is None else f", {companion.summary}"
    if "answers_for" in body:
        source = f", companion of {body['answers_for']}{source}"
    return {
        "local": local,
        "explain": describe_scan(body, found, local=local) + source + warning + hints,
        "bytes": found.output_bytes,
        "rows": found.rows,
        "chosen": found.filters.chooses,
        "runtime_columns": key_columns(scan.table.columns),
        "runtime_keys": _most_keys(scan),
        "metrics": scan.metrics,
        **state_of(scan.table),
    }


def join(request: Request) -> dict[str, Any]:
    """Whether the keys of a join narrow this scan, and its text for EXPLAIN."""
    scan, body = scan_of(request), request.body
    use, explain = judge_join(
        scan.plan,
        scan.table.columns,
        tuple(body["join"]),
        KeySource(**body["keys"]),
        most=_most_keys(scan),
        local=scan.local,
    )
    reply = {"use": use, "explain": explain}
    return {key: value for key, value in reply.items() if value is not None}


def _most_keys(scan: Scan) -> int:
    return key_limit(scan.plan.rows_read, scan.table.settings.get(JOIN_MAX_KEYS))


def column_statistics(request: Request) -> dict[str, Any]:
    """Minimum and maximum of the scan's columns, for Spark's cost-based optimizer."""
    scan = scan_of(request)
    schema = scan.table.snapshot.schema
    names = [f["name"] for f in request.body["schema"]["fields"] if schema.get(f["name"])]
    bounds = column_bounds(scan.plan.files, schema, scan.table.columns, names)
    finite = {name: pair for name, pair in bounds.items() if all(map(_is_finite, pair))}
    return {"bounds": {name: list(pair) for name, pair in finite.items()}}


def _is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)
