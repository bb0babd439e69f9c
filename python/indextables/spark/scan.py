"""Planning and answering scans: what is pushed down, who answers, which tasks run."""

from __future__ import annotations

import json
import logging
import math
from collections import OrderedDict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from indextables.config import read as keys
from indextables.expr.binding import conjunction
from indextables.expr.predicate import parse_predicate
from indextables.plan.aggregates import plan_aggregation
from indextables.plan.filters import plan_runtime
from indextables.plan.finals import CompletePlan, finish, plan_complete
from indextables.plan.partials import partials_from_log
from indextables.plan.prune import column_bounds, keep_manifest, prune_splits
from indextables.plan.queries import split_queries
from indextables.plan.scan import ScanPlan, answers_itself
from indextables.plan.search import plan_snippet
from indextables.plan.tasks import group_splits
from indextables.plan.topk import plan_top
from indextables.read import skipping
from indextables.read.key_pruning import prune_by_key
from indextables.read.rows import (
    SNIPPET,
    ReadSpec,
    Source,
    count_rows,
    put_in_order,
    read_table,
    sort_keys,
)
from indextables.read.table import OpenTable
from indextables.runtime.handles import follow, orders
from indextables.runtime.process_stats import fetched
from indextables.spark import changes
from indextables.spark.explain import describe_scan
from indextables.spark.filtering import filters_of
from indextables.spark.prewarmed import prewarmed_parts, prewarmed_sources
from indextables.spark.read_task import ReadTask, pickled_reader
from indextables.spark.request import executors_of
from indextables.spark.schema import to_spark_json
from indextables.spark.shipping import to_stream
from indextables.spark.warm import open_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indextables.plan.aggregates import AggregatePlan
    from indextables.spark.planner import Answer
    from indextables.spark.request import Request

# what of a request decides a plan
_SHAPING = (
    "predicates", "runtime", "aggregation", "order", "limit", "offset", "properties", "options",
    "session",
)  # fmt: skip
# and what else does unless it is an aggregation, which has columns of its own
_SHAPING_ROWS = ("wire", "complete")
_KEPT_PLANS = 32
_log = logging.getLogger("indextables.read")
_PlanKey: TypeAlias = tuple[str, int, str]
_plans: OrderedDict[_PlanKey, Planned] = OrderedDict()


@dataclass(frozen=True)
class Planned:
    """A scan's plan; `complete` is there when the planner gives an aggregation's final answer."""

    scan: ScanPlan
    local: bool
    complete: CompletePlan | None = None


def push(request: Request) -> dict[str, Any]:
    """Which predicates the index answers exactly, which it only narrows."""
    if changes.is_asked(request):
        return changes.push(request)
    table = open_table(request)
    pushed = filters_of(request, table).pushed
    return {"pushed": list(pushed), "version": table.snapshot.version}


def offer(request: Request) -> dict[str, Any]:
    """Whether a limit, an order or an aggregation can be pushed down; `complete` if wholly."""
    if changes.is_asked(request):
        return {"ok": False}
    table = open_table(request)
    body, found = request.body, _plan(request, table)
    scan = found.scan
    refused = (
        # groups are few and on the driver: Spark puts them in order there, exactly
        ("aggregation" in body and (scan.aggregate is None or _cuts(body)))
        or ("order" in body and scan.order is None)
        or ("offset" in body and not found.local)
        or bool(body.get("residual"))
    )
    if refused:
        return {"ok": False, "version": table.snapshot.version}
    reply: dict[str, Any] = {
        "ok": True,
        "complete": found.local,
        "version": table.snapshot.version,
    }
    if scan.aggregate is not None:
        schema = scan.aggregate.schema if found.complete is None else found.complete.schema
        reply["schema"] = to_spark_json(schema, table.snapshot.schema)
        if found.complete is not None:  # nothing is left to decide, so Spark need not ask again
            shown = {**body, "schema": reply["schema"]}
            reply["plan"] = _described(shown, table, found, local=True)
    return reply


def _cuts(body: Mapping[str, Any]) -> bool:
    return any(key in body for key in ("order", "limit", "offset"))


def plan(request: Request) -> Answer:
    """The scan as Spark needs it: statistics, what EXPLAIN shows, and tasks unless it is local."""
    if changes.is_asked(request):
        return changes.plan(request)
    table = open_table(request)
    found = _plan(request, table)
    local = found.local and not request.body.get("distributed")
    reply = _described(request.body, table, found, local=local)
    if local:
        return reply, []
    tasks, places = _tasks(request, table, found.scan)
    function = pickled_reader(_spec(request, table, found.scan), request.body["wire"])
    return reply | {"hosts": places}, [function, *tasks]


def _described(
    body: Mapping[str, Any], table: OpenTable, found: Planned, *, local: bool
) -> dict[str, Any]:
    explained = describe_scan(body, found.scan, local=local)
    return {
        "local": local,
        "explain": explained + _warn_if_fast(table, found),
        "bytes": found.scan.output_bytes,
        "rows": found.scan.rows,
        "runtime_columns": list(table.snapshot.partition_columns),
        "metrics": _metrics(found.scan),
        "version": table.snapshot.version,
    }


def column_statistics(request: Request) -> dict[str, Any]:
    """Minimum and maximum of the scan's columns, for Spark's cost-based choices."""
    table = open_table(request)
    found, schema = _plan(request, table), table.snapshot.schema
    names = [f["name"] for f in request.body["schema"]["fields"] if schema.get(f["name"])]
    bounds = column_bounds(found.scan.files, schema, table.columns, names)
    finite = {name: pair for name, pair in bounds.items() if all(map(_is_finite, pair))}
    return {"bounds": {name: list(pair) for name, pair in finite.items()}}


def _is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _warn_if_fast(table: OpenTable, found: Planned) -> str:
    """Mode `fast` leaves rows out: say so in the plan and in the log, every time."""
    most = _fast_limit(table, found.scan)
    if most is None:
        return ""
    _log.warning("read.mode=fast: every task returns at most %s rows of %s", most, table.store.url)
    return f", TRUNCATED by read.mode=fast to {most} rows per task"


def plan_rows(request: Request) -> tuple[ReadTask, list[Source]]:
    """A scan to be read right here, whatever its size."""
    table = open_table(request)
    scan = _make_scan(request, table)
    return ReadTask(_spec(request, table, scan)), prewarmed_sources(table, scan)


def plan_tasks(request: Request) -> tuple[ReadTask, list[bytes]]:
    """A scan that is always done by tasks: for Spark's plain Python data source."""
    table = open_table(request)
    scan = _make_scan(request, table)
    return ReadTask(_spec(request, table, scan)), _tasks(request, table, scan)[0]


def _tasks(
    request: Request, table: OpenTable, scan: ScanPlan
) -> tuple[list[bytes], list[list[str]]]:
    """The tasks and where each would best run: where the caches hold its splits."""
    sources = prewarmed_sources(table, scan)
    hosts = sorted({e.host for e in executors_of(request)}) if table.store.is_remote else []
    groups = group_splits(
        scan.files.column("size").to_pylist(),
        request.cores,
        paths=[source.path for source in sources],
        # one machine is everybody's home
        hosts=hosts if len(hosts) > 1 else (),
        splits_per_task=table.settings.get(keys.SPLITS_PER_TASK),
        max_splits_per_task=table.settings.get(keys.MAX_SPLITS_PER_TASK),
    )
    tasks = [json.dumps([asdict(sources[i]) for i in g.splits]).encode() for g in groups]
    # an aggregation without keys has a row even where nothing is read: Spark adds up what it gets
    if not tasks and scan.aggregate is not None and scan.aggregate.keys == 0:
        return [b"[]"], [[]]
    return tasks, [[group.host] if group.host else [] for group in groups]


def run(request: Request) -> Answer:
    """The whole answer, as an Arrow stream."""
    table = open_table(request)
    found = _plan(request, table)
    before = fetched()
    result = to_stream(_answer(request, table, found))
    counted = (fetched() - before).metrics() if table.store.is_remote else {}
    return {"metrics": _metrics(found.scan) | counted}, [result]


def _answer(request: Request, table: OpenTable, found: Planned) -> pa.Table:
    scan, spec = found.scan, _spec(request, table, found.scan)
    if found.complete is not None:
        partials = _partials_from_log(table, scan)
        return finish(
            read_table(spec, prewarmed_sources(table, scan)) if partials is None else partials,
            found.complete,
        )
    limit, offset = request.body.get("limit"), request.body.get("offset") or 0
    rows = read_table(spec.with_sort_keys(), prewarmed_sources(table, scan))
    if scan.order is not None and limit is not None:
        rows = put_in_order(rows, sort_keys(scan.order), limit).select(spec.output.names)
    if limit is not None:
        rows = rows.slice(0, limit)
    return rows.slice(offset) if offset else rows


def _partials_from_log(table: OpenTable, scan: ScanPlan) -> pa.Table | None:
    if scan.aggregate is None or not scan.answered_by_log:
        return None
    snapshot = table.snapshot
    return partials_from_log(
        scan.files, scan.aggregate, snapshot.schema, snapshot.partition_columns
    )


def _plan(request: Request, table: OpenTable) -> Planned:
    """The plan of a request; asked for again by the next calls of the same query."""
    key = _key(request, table)
    known = _plans.get(key)
    if known is None:
        known = _make_plan(request, table)
        _plans[key] = known
        if len(_plans) > _KEPT_PLANS:
            _plans.popitem(last=False)
    return known


def _key(request: Request, table: OpenTable) -> _PlanKey:
    body = request.body
    names = _SHAPING if "aggregation" in body else (*_SHAPING, *_SHAPING_ROWS)
    shape = json.dumps([body.get(name) for name in names], sort_keys=True)
    return table.snapshot.metadata.id, table.snapshot.version, shape


def _make_plan(request: Request, table: OpenTable) -> Planned:
    aggregation = request.body.get("aggregation")
    if aggregation is None:
        scan = _make_scan(request, table)
        return Planned(scan, _is_local(request, table, scan))
    context: dict[str, Any] = {"ansi": request.ansi, "time_zone": request.time_zone}
    complete = plan_complete(aggregation, table.columns, **context)
    if complete is not None:
        scan = _make_scan(request, table, complete.partial)
        if _is_local(request, table, scan):
            return Planned(scan, local=True, complete=complete)
    partial = plan_aggregation(aggregation, table.columns, **context, spark_merges=True)
    return Planned(_make_scan(request, table, partial), local=False)


def _make_scan(
    request: Request, table: OpenTable, aggregate: AggregatePlan | None = None
) -> ScanPlan:
    body, snapshot = request.body, table.snapshot
    filters = filters_of(request, table)
    runtime = [plan_runtime(parse_predicate(value)) for value in body.get("runtime") or []]
    pruning = conjunction(filters.pruning, *runtime) if runtime else filters.pruning
    names = snapshot.partition_columns

    def keep(bounds: Mapping[str, Any]) -> bool:
        return keep_manifest(bounds, pruning, snapshot.schema, names)

    files = snapshot.files(keep if names and (body.get("predicates") or runtime) else None)
    files, counters = prune_splits(files, pruning, snapshot.schema, names, table.columns)
    files = prune_by_key(files, pruning, snapshot, table.store, table.settings)
    counters = counters.narrowed_to(files.num_rows)
    skipping.record(counters)
    queries, query_of = split_queries(filters, files, table.columns)
    order, limit = body.get("order"), body.get("limit")
    return ScanPlan(
        files=files,
        schema=_output(request),
        filters=filters,
        queries=tuple(queries),
        query_of=tuple(query_of),
        counters=counters,
        aggregate=aggregate,
        limit=limit,
        order=plan_top(order, limit, table.columns) if order and limit is not None else None,
    )


def _output(request: Request) -> pa.Schema:
    """The columns Spark wants, in the types they travel in."""
    if "wire" not in request.body:
        return pa.schema([])
    return request.schema("wire").to_arrow_schema()


def _is_local(request: Request, table: OpenTable, scan: ScanPlan) -> bool:
    if request.body.get("complete"):
        return True
    settings = table.settings
    return settings.get(keys.LOCAL_ENABLED) and answers_itself(
        scan,
        table.columns,
        max_bytes=settings.get(keys.LOCAL_MAX_BYTES),
        max_rows=settings.get(keys.LOCAL_MAX_ROWS),
        count=lambda: count_rows(_spec(request, table, scan), prewarmed_sources(table, scan)),
    )


def _spec(request: Request, table: OpenTable, scan: ScanPlan) -> ReadSpec:
    fast = _fast_limit(table, scan)
    told = orders(request.app)
    follow(told)
    snippet = None
    if SNIPPET in scan.schema.names:
        snippet = plan_snippet(scan.filters.bound, table.columns)
    return ReadSpec(
        place=table.store.native(),
        settings=table.settings,
        table_schema=table.snapshot.metadata.schema_string,
        partition_columns=table.snapshot.partition_columns,
        output=scan.schema,
        queries=scan.queries,
        aggregate=scan.aggregate,
        limit=scan.limit if fast is None else fast,
        order=scan.order,
        batch_rows=table.settings.get(keys.BATCH_ROWS),
        snippet=snippet,
        prewarm=prewarmed_parts(table),
        orders=told,
    )


def _fast_limit(table: OpenTable, scan: ScanPlan) -> int | None:
    """Where mode `fast` cuts off a task that no limit of the query bounds."""
    if table.settings.get(keys.MODE) != "fast" or scan.aggregate is not None:
        return None
    return table.settings.get(keys.DEFAULT_LIMIT) if scan.limit is None else None


def _metrics(found: ScanPlan) -> dict[str, int]:
    counters = found.counters
    return {
        "splitsConsidered": counters.considered,
        "splitsPrunedByPartition": counters.pruned_by_partition,
        "splitsPrunedByStatistics": counters.pruned_by_stats,
        "splitsScanned": counters.kept,
        "rowsScanned": found.rows_read or 0,
        "bytesScanned": found.bytes,
    }
