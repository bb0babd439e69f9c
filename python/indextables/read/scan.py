"""Scans, for every entry point and every verb that must read first.

A `ScanRequest` says what is wanted, `plan_scan` decides how, and the `Scan` is then run: here by
`run_scan`, `count_scan` or `find_rows`, or by executors with `Scan.tasks` and `Scan.spec`.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.config import read as keys
from indextables.errors import error
from indextables.expr.binding import bind
from indextables.expr.evaluate import evaluate
from indextables.log.protocol import is_companion
from indextables.model import kernels as pc
from indextables.model.arrays import FALSE
from indextables.plan.aggregates import plan_aggregation
from indextables.plan.conditions import plan_conditions
from indextables.plan.finals import CompletePlan, finish, plan_complete
from indextables.plan.hints import Scanned, find_hints, scanned_columns
from indextables.plan.partials import partials_from_log
from indextables.plan.partitions import partition_arrays
from indextables.plan.prune import keep_manifest, prune_splits
from indextables.plan.queries import split_queries
from indextables.plan.scan import ScanPlan, answers_itself, finds_by_index, touched_bytes
from indextables.plan.search import Snippet, plan_snippet
from indextables.plan.tasks import group_splits
from indextables.plan.topk import Order, plan_top, sort_order
from indextables.plan.tree import ALL
from indextables.read import skipping
from indextables.read.columns import bounds_of, plan_predicates
from indextables.read.key_pruning import prune_by_key
from indextables.read.partitioning import split_keys
from indextables.read.rows import count_rows, find_docs, put_in_order, read_few, read_table
from indextables.read.score import with_statistics
from indextables.read.session_zone import check_zone
from indextables.read.spec import PENDING, SCORE, SNIPPET, ReadSpec, Source, sources_of, spec_of
from indextables.runtime.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pyroaring import BitMap

    from indextables.config.settings import Settings
    from indextables.plan.aggregates import AggregatePlan
    from indextables.plan.filters import FilterPlan
    from indextables.plan.prune import PruneCounters
    from indextables.read.request import ScanRequest
    from indextables.read.table import OpenTable

_log = logging.getLogger("indextables.read")
# hints that were logged by this process
_said: set[str] = set()


@dataclass(frozen=True)
class ScanTask:
    """The splits that one task reads, and its preferred host ("" is any)."""

    sources: tuple[Source, ...]
    host: str = ""


@dataclass(frozen=True)
class Scan:
    """A planned scan.

    `complete` turns the partial results of an aggregation into the final ones; it is set if this
    process runs the scan.
    """

    table: OpenTable
    request: ScanRequest
    plan: ScanPlan
    complete: CompletePlan | None = None

    @lazy
    def local(self) -> bool:
        """Whether this process runs it: it is small, or the request says so."""
        if self.request.aggregation is not None and self.complete is None:
            return False
        settings = self.table.settings
        return self.request.here or (
            settings.get(keys.LOCAL_ENABLED)
            and answers_itself(
                self.plan,
                self.table.columns,
                max_bytes=settings.get(keys.LOCAL_MAX_BYTES),
                max_rows=settings.get(keys.LOCAL_MAX_ROWS),
                count=lambda: count_rows(self.spec, self.sources),
            )
        )

    @lazy
    def spec(self) -> ReadSpec:
        """What is read from every split; for scores, statistics of all splits come first."""
        return with_statistics(self.unscored, self.plan, self.table)

    @lazy
    def unscored(self) -> ReadSpec:
        """The same where scores do not matter: rows are counted or found."""
        plan, prewarm, snippet = self.plan, self.request.prewarm, None
        most = self.truncated_to
        if plan.schema.get_field_index(SNIPPET) >= 0:
            wanted = self.request.snippet or _snippet(self.table.settings)
            snippet = plan_snippet(plan.filters.bound, self.table.columns, wanted)
        return spec_of(
            self.table.store,
            self.table.settings,
            self.table.snapshot,
            plan.schema,
            queries=plan.queries,
            aggregate=plan.aggregate,
            limit=plan.limit if most is None else most,
            order=plan.order,
            snippet=snippet,
            prewarm=None if prewarm is None else prewarm.parts,
            **_source_of(self.table),
        )

    @lazy
    def sources(self) -> list[Source]:
        """The splits to read."""
        plan, snapshot = self.plan, self.table.snapshot
        unpruned = snapshot.is_whole and plan.files is snapshot.files()
        if unpruned and self.request.prewarm is None and not any(plan.query_of):
            return self.table.sources
        return sources_of(plan.files, plan.query_of, _prewarmed(self))

    @property
    def truncated_to(self) -> int | None:
        """The limit of a task in `read.mode=fast`, if the query has none."""
        settings, plan = self.table.settings, self.plan
        if settings.get(keys.MODE) != "fast" or plan.aggregate is not None:
            return None
        return settings.get(keys.DEFAULT_LIMIT) if plan.limit is None else None

    @property
    def is_light(self) -> bool:
        """Whether finding the rows reads little, however many there are."""
        touched = touched_bytes(self.plan, self.table.columns)
        return touched <= self.table.settings.get(keys.LOCAL_MAX_BYTES)

    @property
    def hints(self) -> tuple[str, ...]:
        """Why the query may find nothing although the words are there."""
        return find_hints(self.plan.filters.bound, self.table.columns)

    @property
    def scanned(self) -> Scanned:
        """The text columns whose values or words are read to find the rows."""
        companion = self.table.companion is not None
        return scanned_columns(self.plan, self.table.columns, companion=companion)

    @property
    def metrics(self) -> dict[str, int]:
        """How many splits were pruned, and what is read of the others."""
        counters = self.plan.counters
        return {
            "splitsConsidered": counters.considered,
            "splitsPrunedByPartition": counters.pruned_by_partition,
            "splitsPrunedByStatistics": counters.pruned_by_stats,
            "splitsScanned": counters.kept,
            "rowsScanned": self.plan.rows_read or 0,
            "bytesScanned": self.plan.bytes,
            **({} if self.table.companion is None else self.table.companion.metrics),
        }

    def tasks(
        self, cores: int, hosts: Sequence[str] = (), by: Sequence[str] = ()
    ) -> list[ScanTask]:
        """The work of executors; with several hosts, each task where the caches hold its splits.

        With `by` a task reads splits of one partition only, by the values of these columns.
        """
        _begin(self)
        settings, sources = self.table.settings, self.sources
        groups = group_splits(
            self.plan.files.column("size").to_pylist(),
            cores,
            paths=[source.path for source in sources],
            # with one host there is no choice
            hosts=hosts if len(hosts) > 1 else (),
            keys=split_keys(self.table.snapshot.schema, sources, by),
            splits_per_task=settings.get(keys.SPLITS_PER_TASK),
            max_splits_per_task=settings.get(keys.MAX_SPLITS_PER_TASK),
        )
        tasks = [ScanTask(tuple(sources[i] for i in g.splits), g.host) for g in groups]
        aggregate = self.plan.aggregate
        # an aggregation without keys has a row even if nothing is read: Spark adds up what it gets
        if not tasks and aggregate is not None and aggregate.keys == 0:
            return [ScanTask(())]
        return tasks


def plan_scan(table: OpenTable, request: ScanRequest, files: pa.Table | None = None) -> Scan:
    """Decide how a read is done; `files` are splits to read in place of the table's live ones."""
    if request.aggregation is None:
        return Scan(table, request, _plan(table, request, files))
    context: dict[str, Any] = {
        "ansi": request.ansi,
        "time_zone": request.time_zone,
        "conditions": plan_conditions(request.aggregation, table.columns, request.time_zone),
    }
    complete = plan_complete(request.aggregation, table.columns, **context)
    if complete is not None:
        plan = _plan(table, request, files, complete.partial)
        scan = Scan(table, request, plan, complete)
        if scan.local:
            return scan
    partial = plan_aggregation(request.aggregation, table.columns, **context, spark_merges=True)
    return Scan(table, request, _plan(table, request, files, partial))


def _plan(
    table: OpenTable,
    request: ScanRequest,
    files: pa.Table | None,
    aggregate: AggregatePlan | None = None,
) -> ScanPlan:
    if aggregate is None:
        _check_columns(table, request.output)
    filters = plan_predicates(table, request.predicates, request.time_zone)
    kept, counters = _prune(table, filters, files)
    queries, query_of = split_queries(filters, kept, table.columns)
    order: Order | None = None
    if request.order and request.limit is not None:
        order = plan_top(request.order, request.limit, table.columns)
    # the engine may stop early only if it determines which rows come first
    cuts = aggregate is None and (order is not None or not request.order)
    plan = ScanPlan(
        files=kept,
        schema=request.output,
        filters=filters,
        queries=tuple(queries),
        query_of=tuple(query_of),
        counters=counters,
        aggregate=aggregate,
        limit=request.limit if cuts else None,
        order=order,
        whole_width=table.row_width,
    )
    _check_pending(table, plan)
    return plan


def _check_columns(table: OpenTable, output: pa.Schema) -> None:
    """Reject columns of another implementation's companion: their values are elsewhere."""
    if table.companion is not None or not is_companion(table.snapshot.metadata):
        return
    for name in output.names:
        column = table.columns.get(name)
        if column is not None and not column.partition and not column.readable:
            raise error("COMPANION_COLUMN", column=name, path=table.path)


def _prune(
    table: OpenTable, filters: FilterPlan, files: pa.Table | None
) -> tuple[pa.Table, PruneCounters]:
    """The splits that may hold a matching row."""
    snapshot, names = table.snapshot, table.snapshot.partition_columns
    pruning = filters.pruning
    if files is None and table.companion is not None:
        files = table.companion.files
    if files is not None:  # not of this snapshot: its hash indexes do not cover them
        return prune_splits(files, pruning, snapshot.schema, names, table.columns)
    schema, known = snapshot.schema, None
    if names and filters.bound and not snapshot.is_whole:
        files = snapshot.files(lambda bounds: keep_manifest(bounds, pruning, schema, names))
    else:
        files = snapshot.files()
        known = partial(bounds_of, table, files)
    files, counters = prune_splits(files, pruning, schema, names, table.columns, known=known)
    files = prune_by_key(files, pruning, snapshot, table.store, table.settings)
    return files, counters.narrowed_to(files.num_rows)


def _snippet(settings: Settings) -> Snippet:
    return Snippet(
        settings.get(keys.SNIPPET_COLUMNS),
        settings.get(keys.SNIPPET_FRAGMENTS),
        settings.get(keys.SNIPPET_SIZE),
        settings.get(keys.SNIPPET_TAGS),
    )


def _source_of(table: OpenTable) -> dict[str, Any]:
    """Where the rows of a companion are."""
    companion = table.companion
    if companion is None:
        return {}
    return {"source": companion.source, "source_fields": companion.fields}


def _check_pending(table: OpenTable, plan: ScanPlan) -> None:
    """Reject a query that would index more pending files than allowed."""
    companion, files = table.companion, plan.files
    if companion is None or companion.behind is None or PENDING not in files.column_names:
        return
    if plan.aggregate is None and plan.order is None and all(q == ALL for q in plan.queries):
        return  # the rows are read without an index
    sizes = files.filter(pc.is_valid(files.column(PENDING))).column("size")
    pending = pc.sum(sizes).as_py() or 0
    if pending > companion.max_pending:
        raise companion.behind(len(sizes), pending)


def _prewarmed(scan: Scan) -> list[bool] | None:
    """Which splits are prewarmed before they are searched; None for none of them."""
    prewarm, files, snapshot = scan.request.prewarm, scan.plan.files, scan.table.snapshot
    if prewarm is None:
        return None
    if prewarm.where is None:
        return [True] * files.num_rows
    values = partition_arrays(files, snapshot.schema, snapshot.partition_columns)
    truth = evaluate(bind(prewarm.where, snapshot.schema), values, files.num_rows)
    if truth is None:
        raise error("PARTITION_PREDICATE", problem="Invalid partition predicate of the prewarm")
    chosen: list[bool] = pc.fill_null(truth, FALSE).to_pylist()
    return chosen


def run_scan(scan: Scan) -> pa.Table:
    """Run a scan in this process."""
    _begin(scan)
    if scan.complete is not None:
        partials = _partials_from_log(scan)
        if partials is None:
            partials = read_table(scan.spec, scan.sources)
        # the groups of one split are whole
        answer = finish(partials, scan.complete, merged=scan.plan.files.num_rows == 1)
        if not _is_warned(scan) and not count_rows(scan.unscored, scan.sources):
            _warn(scan)
        return answer
    # the engine returns the first rows of a split in their order
    is_ordered = scan.plan.order is not None and len(scan.sources) == 1
    request, order = scan.request, [] if is_ordered else _order(scan)
    spec = scan.spec.with_columns([key["field"] for key in order]) if order else scan.spec
    rows = read_table(spec, _ordered_sources(scan, order))
    if not rows.num_rows:
        _warn(scan)
    if order:
        end = rows.num_rows if request.limit is None else request.limit
        rows = put_in_order(rows, order, end).select(request.output.names)
    return _cut(rows, request.offset, request.limit)


def _cut(rows: pa.Table, offset: int, limit: int | None) -> pa.Table:
    """The rows up to the limit, without those before the offset."""
    end = rows.num_rows if limit is None else min(limit, rows.num_rows)
    kept = max(end - offset, 0)
    if rows.num_columns:
        return rows.slice(offset, kept)
    # Arrow does not slice a table without columns
    return pa.table({"": pa.nulls(kept)}).select([])


def run_small_scan(scan: Scan, most: int) -> pa.Table | None:
    """The rows of a scan that is expected to find few of them; None if it finds more.

    It is for scans by the index whose `local` would count the rows, which finds them once more.
    """
    settings, request = scan.table.settings, scan.request
    most = min(most, settings.get(keys.LOCAL_MAX_ROWS))
    cut = request.order or request.limit is not None or scan.truncated_to is not None
    if cut or request.aggregation is not None or not settings.get(keys.LOCAL_ENABLED):
        return None
    max_bytes = settings.get(keys.LOCAL_MAX_BYTES)
    if not finds_by_index(scan.plan, scan.table.columns, max_bytes=max_bytes):
        return None
    rows = read_few(scan.spec, scan.sources, most)
    if rows is not None:
        _begin(scan)
    return rows


def _ordered_sources(scan: Scan, order: list[dict[str, Any]]) -> list[Source]:
    """The splits to read; rows of equal scores come by the path of their split."""
    if any(key["field"] == SCORE for key in order):
        return sorted(scan.sources, key=lambda source: source.path)
    return scan.sources


def _order(scan: Scan) -> list[dict[str, Any]]:
    """The keys that put rows of several splits in order."""
    order = sort_order(scan.request.order, scan.table.columns)
    if order is None:
        raise error("ORDER_UNSUPPORTED")
    return order


def _partials_from_log(scan: Scan) -> pa.Table | None:
    plan, snapshot = scan.plan, scan.table.snapshot
    if plan.aggregate is None or not plan.answered_by_log:
        return None
    return partials_from_log(
        plan.files, plan.aggregate, snapshot.schema, snapshot.partition_columns
    )


def count_scan(scan: Scan) -> int:
    """How many rows a scan finds; counts in the log are not read from splits."""
    _begin(scan)
    filters = scan.plan.filters
    if filters.partition_only and filters.exact:
        known = scan.plan.rows_read
        if known is not None:
            return known
    found = count_rows(scan.unscored, scan.sources)
    if not found:
        _warn(scan)
    return found


def find_rows(scan: Scan) -> dict[str, BitMap]:
    """The numbers of the rows a scan finds, by split; splits without any are left out."""
    _begin(scan)
    found = zip(scan.sources, find_docs(scan.unscored, scan.sources), strict=True)
    return {source.path: docs for source, docs in found if docs}


def _is_warned(scan: Scan) -> bool:
    """Whether all hints for a scan that finds nothing were logged before."""
    return _said.issuperset(scan.hints)


def _warn(scan: Scan) -> None:
    """Log why a scan may have found nothing, each hint once per process."""
    for hint in scan.hints:
        if hint not in _said:
            _said.add(hint)
            _log.warning("no rows were found; hint: %s", hint)


def _begin(scan: Scan) -> None:
    """Count the splits of a scan that is about to be read; warn every time rows are left out."""
    check_zone(scan.table, scan.request)
    skipping.record(scan.plan.counters)
    most = scan.truncated_to
    if most is not None:
        url = scan.table.store.url
        _log.warning("read.mode=fast: every task returns at most %s rows of %s", most, url)
