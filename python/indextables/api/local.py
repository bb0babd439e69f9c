"""Tables in plain Python, without Spark: inspect, search and read rows as Arrow.

For notebooks, small services and tools. Results are Arrow tables, which `.to_pandas()` and
`polars.from_arrow(...)` convert.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.api import arguments
from indextables.api.arguments import Names, Path, Timestamp
from indextables.api.ask import open_table, plan_exactly, predicates_of, query_now, search_text
from indextables.api.correct import correct_query
from indextables.api.notebook import Explanation, History, explain, show_searches
from indextables.api.significant import Sample, significant_words
from indextables.engine.query import Token, analyze
from indextables.errors import error
from indextables.expr.aggregation import Aggregation, SortKey
from indextables.expr.predicate import Column
from indextables.model import kernels as pc
from indextables.plan.columns import ColumnInfo
from indextables.plan.matching import analyzer_of
from indextables.plan.partials import live_rows
from indextables.plan.search import Snippet
from indextables.plan.topk import engine_key
from indextables.read.changes import COLUMNS as CHANGE_COLUMNS
from indextables.read.changes import changes_of, plan_changes, read_changes
from indextables.read.explain_score import EXPLAINED, explain_scores
from indextables.read.request import ScanRequest
from indextables.read.rows import put_in_order
from indextables.read.scan import Scan, count_scan, run_scan
from indextables.read.spec import PSEUDO, SCORE, SNIPPET, row_id
from indextables.read.suggest import suggest_words, text_columns
from indextables.read.table import OpenTable
from indextables.runtime.cache import Cache
from indextables.show.notebook import facts_line, table_card
from indextables.sql.select import parse_function, parse_key, parse_sort_key

if TYPE_CHECKING:
    from indextables.api.page import Page

# limit of the splits in all cached plans of a table, and the least that a plan counts as: the
# garbage collector traverses cached plans, even those that are never reused, such as lookups
_PLANNED_SPLITS, _LEAST_SPLITS = 4096, 16


class Table:
    """A table at one version. It is immutable; open the table again to see newer commits."""

    def __init__(self, opened: OpenTable, options: Mapping[str, str] | None = None) -> None:
        self._table, self._options = opened, dict(options or {})
        self._log, self._snapshot = opened.log, opened.snapshot
        # by the text of the statement: at one version, equal statements have equal plans
        self._plans: Cache[Hashable, Scan] = Cache(
            _PLANNED_SPLITS, lambda scan: max(_LEAST_SPLITS, scan.plan.files.num_rows)
        )

    def __repr__(self) -> str:
        return f"Table({self.path!r}, version={self.version})"

    def __reduce__(self) -> tuple[Callable[..., Table], tuple[Any, ...]]:
        return open, (self.path, self.version, None, self._options)  # as another process opens it

    def _repr_html_(self) -> str:
        columns = [
            (info.name, str(self.schema.field(info.name).type), _index_of(info))
            for info in self._table.columns.infos
        ]
        facts = facts_line(self.version, self.num_rows, self.num_files, self.size_bytes)
        return table_card(self.path, facts, columns)

    def ui(self) -> Page:
        """Open the page of this table in the background; the result has its link."""
        from indextables.api.page import Page

        return Page([self.path], self._options)

    @property
    def path(self) -> str:
        """Location of the table."""
        return self._log.store.url

    @property
    def version(self) -> int:
        """The version that was opened."""
        return self._snapshot.version

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self._snapshot.schema.to_arrow_schema()

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The columns the table is partitioned by."""
        return self._snapshot.partition_columns

    @property
    def properties(self) -> dict[str, str]:
        """Table properties, including the indexing options."""
        return dict(self._snapshot.metadata.configuration)

    @property
    def num_files(self) -> int:
        """Number of live splits."""
        return self._snapshot.num_files

    @property
    def num_rows(self) -> int | None:
        """Number of rows; None if a split of another writer or a source does not record it."""
        companion = self._table.companion
        if companion is None or companion.files is None:
            return self._snapshot.num_records
        return None if (rows := live_rows(companion.files)) is None else pc.sum(rows).as_py() or 0

    @property
    def size_bytes(self) -> int:
        """Total size of the live splits in bytes."""
        return self._snapshot.size_bytes

    def files(self) -> pa.Table:
        """The live splits: path, partition values, size, rows, bounds of columns."""
        return self._snapshot.files()

    def history(self, limit: int | None = None) -> History:
        """Return the commits of the table, newest first."""
        return History(asdict(entry) for entry in self._log.history(arguments.limit_of(limit)))

    def search(
        self,
        query: str,
        columns: Names | None = None,
        limit: int | None = 10,
        where: str | None = None,
        *,
        order_by: Names = (),
        score: bool = False,
        snippet: bool | Snippet = False,
        mode: str = "query",
        fields: Mapping[str, float] | Names = (),
    ) -> pa.Table:
        """Return the best matches for a query, best first, with all or some columns.

        The query searches all text columns unless it names columns itself (`message:timeout`);
        `fields` are the columns to search instead, with weights if they are a mapping
        (`{"title": 3, "body": 1}`). With `mode="simple"` the query is free text: words, quoted
        phrases, `-word`. `where` adds a predicate, such as `level = 'ERROR'`. With `score`, the
        column `_score` has the score of each row; with `snippet`, the column `_snippet` shows the
        matching part; pass a `Snippet` to configure it. Rows with equal scores are ordered by split
        path and row number; `order_by` sets another order, such as `["_score DESC", "id"]`.
        """
        more = [name for name, asked in ((SCORE, score), (SNIPPET, snippet)) if asked]
        names = (*self._chosen(columns), *more)
        limit, order_by = arguments.limit_of(limit), arguments.names_of(order_by, "order_by")
        text = query_now(search_text(query, mode, fields))
        shown = snippet if isinstance(snippet, Snippet) else None

        def request() -> ScanRequest:
            return replace(self._best(text, names, where, limit, order_by), snippet=shown)

        key = ("search", names, text, where, limit, order_by, repr(shown))
        return run_scan(self._planned(key, request))

    def explain_score(
        self, query: str, where: str | None = None, limit: int = 10
    ) -> list[dict[str, Any]]:
        """Explain the scores of the best rows for a query.

        `where` selects rows, such as `id = 7`. Each row has its `score` and an `explanation`: the
        parts of the query, each with its score (None: no match) and the numbers behind it.
        """
        row_id(self._snapshot.schema, "explain_score")
        names = [*self.schema.names, *EXPLAINED]
        request = self._best(query, names, where, arguments.limit_of(limit))
        return explain_scores(plan_exactly(self._table, request))

    def _best(
        self,
        query: str,
        names: Sequence[str],
        where: str | None,
        limit: int | None,
        order_by: Names = (),
    ) -> ScanRequest:
        if not order_by and SCORE in self.schema.names:
            raise error("COLUMN_RESERVED", column=SCORE, command="a search without `order_by`")
        best_first = (SortKey(Column((SCORE,)), ascending=False, nulls_first=False),)
        return ScanRequest(
            output=self._wanted(names),
            predicates=predicates_of(self._table, where, query),
            order=self._order(order_by) or best_first,
            limit=limit,
            here=True,
        )

    def analyze(self, text: str, column: str) -> list[Token]:
        """Return the tokens that the index stores for a text in a column, with their positions."""
        return analyze(analyzer_of(self._table.columns, column), arguments.text_of(text, "text"))

    def suggest(
        self, text: str, column: str | None = None, limit: int = 10, *, similar: bool = False
    ) -> pa.Table:
        """Return words that complete the last word of a text, most frequent first.

        They are words of one column, or of all text columns. With `similar`, return corrections of
        the word, nearest first. `rows` is the number of rows that have the word; deleted rows count
        until their splits are merged. In a table with more than `read.suggest.maxSplits` splits,
        only the largest ones are read.
        """
        columns = text_columns(self._table) if column is None else [column]
        wanted, most = arguments.text_of(text, "text"), arguments.count_of(limit, "limit")
        found = suggest_words(self._table, columns, wanted, most, similar=similar)
        return pa.table({"word": [w for w, _ in found], "rows": [n for _, n in found]})

    def did_you_mean(self, query: str, where: str | None = None) -> str | None:
        """Return a query that finds rows, for one that finds none because of misspelled words.

        None if the query finds rows, or if no similar words do.
        """
        return correct_query(self._table, query, where)

    def significant_terms(
        self,
        column: str,
        query: str | None = None,
        where: str | None = None,
        limit: int = 10,
        *,
        sample: int = 10_000,
        min_rows: int = 2,
    ) -> pa.Table:
        """Return the words of a column that are typical of the rows of a search.

        Columns are `word`, `rows` (of the search), `all_rows` (of the table) and `score`: how much
        more frequent the word is in the search than in all rows; the most typical come first. At
        most `sample` rows are read, the best matches. Words in fewer than `min_rows` rows are left
        out.
        """
        rows = Sample(column, query, where, arguments.count_of(sample, "sample"))
        return significant_words(self._table, rows, arguments.count_of(limit, "limit"), min_rows)

    def scan(
        self,
        columns: Names | None = None,
        where: str | None = None,
        limit: int | None = None,
        *,
        query: str | None = None,
        order_by: Names = (),
        offset: int = 0,
    ) -> pa.Table:
        """Return all rows, or those that match a predicate and a query.

        `where` is a condition in SQL, in which columns can be searched: `n > 3 OR message
        indexquery 'timeout'`. `query` searches all columns.
        `order_by` lists columns with a direction, such as `ts DESC` or `_score DESC`; with a
        `limit` the index finds the first rows. `offset` skips rows of the result.
        """
        names, text = self._chosen(columns), None if query is None else query_now(query)
        limit, order_by = arguments.limit_of(limit), arguments.names_of(order_by, "order_by")
        offset = arguments.count_of(offset, "offset")
        most = None if limit is None else arguments.limit_of(limit + offset)

        def request() -> ScanRequest:
            return ScanRequest(
                output=self._wanted(names),
                predicates=predicates_of(self._table, where, text),
                order=self._order(order_by),
                limit=most,
                offset=offset,
                here=True,
            )

        key = ("scan", names, where, limit, text, order_by, offset)
        return run_scan(self._planned(key, request))

    def explain(
        self,
        where: str | None = None,
        query: str | None = None,
        *,
        order_by: Names = (),
        limit: int | None = None,
    ) -> Explanation:
        """Explain how `scan` would read these rows, without reading them."""
        request = ScanRequest(
            output=self._wanted(self.schema.names),
            predicates=predicates_of(self._table, where, query),
            order=self._order(arguments.names_of(order_by, "order_by")),
            limit=arguments.limit_of(limit),
            here=True,
        )
        planned = plan_exactly(self._table, request)
        trees = {json.dumps(each, ensure_ascii=False) for each in planned.plan.queries}
        order = "none" if not order_by else "found by the index" if planned.plan.order else "sorted"
        return explain(planned.metrics, "; ".join(sorted(trees)), order, planned.scanned)

    def count(self, where: str | None = None, query: str | None = None) -> int:
        """Count all rows, or those that match a predicate and a query.

        Counts of all rows, and with predicates on partition columns only, are answered by the
        transaction log without reading a split.
        """
        text = None if query is None else query_now(query)

        def request() -> ScanRequest:
            return ScanRequest(predicates=predicates_of(self._table, where, text), here=True)

        return count_scan(self._planned(("count", where, text), request))

    def aggregate(
        self,
        functions: Mapping[str, str] | Names,
        by: Mapping[str, str] | Names = (),
        where: str | None = None,
        query: str | None = None,
        *,
        order_by: Names = (),
        limit: int | None = None,
    ) -> pa.Table:
        """Aggregate all rows, or those that match a predicate and a query.

        `functions` are `count(*)`, `count(x)`, `count(distinct x)`, `sum(x)`, `avg(x)`, `min(x)`
        and `max(x)`; `by` are the group keys: columns, `indextables_histogram(x, 10)`,
        `indextables_date_histogram(ts, '1h')`, `indextables_range(x, 'low', NULL, 5, 'high', 5,
        NULL)`, `date_trunc('day', ts)` in UTC, `date_trunc('day', ts, 'Europe/Berlin')` in a time
        zone. Columns of the result are named as written, or by the keys of a mapping. Sums and
        averages are exact as in Spark: a sum of integers that overflows is an error. `order_by` and
        `limit` apply to the groups.
        """
        keys, wanted = arguments.named_of(by, "by"), arguments.named_of(functions, "functions")
        limit, order_by = arguments.limit_of(limit), arguments.names_of(order_by, "order_by")
        if twice := keys.keys() & wanted.keys():
            raise error("AGGREGATE_NAME_TWICE", name=min(twice))
        texts = tuple(keys.values()), tuple(wanted.values())
        text = None if query is None else query_now(query)
        found = self._aggregate(*texts, where, text).rename_columns([*keys, *wanted])
        if order_by:
            found = _in_order(found, order_by)
        return found if limit is None else found.slice(0, limit)

    def changes(self, first: int, last: int | None = None) -> pa.Table:
        """Return the rows that changed from one version to another, inclusive.

        `_change_type` is insert, delete, update_preimage or update_postimage. `last` defaults to
        the opened version.
        """
        begin = arguments.version_of(first, "first")
        end = self.version if last is None else arguments.version_of(last, "last")
        rows = list(changes_of(self._table, begin, min(end, self.version)))
        columns = [pa.field(name, kind) for name, kind in CHANGE_COLUMNS.items()]
        request = ScanRequest(pa.schema([*self.schema, *columns]), here=True)
        found = plan_changes(self._table, request, rows)
        batches = read_changes(found.spec, found.sources)
        return pa.Table.from_batches(list(batches), schema=request.output)

    def _aggregate(
        self,
        keys: tuple[str, ...],
        functions: tuple[str, ...],
        where: str | None,
        query: str | None,
    ) -> pa.Table:
        def request() -> ScanRequest:
            schema = self._snapshot.schema
            aggregation = Aggregation(
                tuple(parse_key(text, schema) for text in keys),
                tuple(parse_function(text, schema) for text in functions),
            )
            predicates = predicates_of(self._table, where, query)
            return ScanRequest(predicates=predicates, aggregation=aggregation, here=True)

        planned = self._planned(("aggregate", keys, functions, where, query), request)
        if planned.complete is None:
            raise error("AGGREGATE_UNSUPPORTED")
        return run_scan(planned)

    def _planned(self, statement: tuple[Hashable, ...], request: Callable[[], ScanRequest]) -> Scan:
        # a search with timestamps relative to now has another plan every time
        if any("now" in part for part in statement if isinstance(part, str)):
            return plan_exactly(self._table, request())
        return self._plans.get_or(statement, lambda: plan_exactly(self._table, request()))

    def _order(self, order_by: Sequence[str]) -> tuple[SortKey, ...]:
        names = [*self._snapshot.schema.names, *PSEUDO]
        return tuple(parse_sort_key(text, names) for text in order_by)

    def _chosen(self, columns: Names | None) -> tuple[str, ...]:
        """The names of the requested columns, by default all."""
        return arguments.names_of(columns or (), "columns") or self._names

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self.schema.names)

    @cached_property
    def _fields(self) -> dict[str, pa.Field]:
        """All readable columns by name; columns of the table take precedence."""
        types = {**PSEUDO, **{field.name: field.type for field in self.schema}}
        return {name: pa.field(name, kind) for name, kind in types.items()}

    @cached_property
    def _rows(self) -> pa.Schema:
        """Rows with all columns."""
        return pa.schema([self._fields[name] for name in self._names])

    def _wanted(self, names: Sequence[str]) -> pa.Schema:
        if names == self._names:
            return self._rows
        unknown = [name for name in names if name not in self._fields]
        if unknown:
            available = ", ".join(self.schema.names)
            raise error("COLUMN_UNKNOWN", columns=", ".join(unknown), available=available)
        return pa.schema([self._fields[name] for name in dict.fromkeys(names)])


def _index_of(info: ColumnInfo) -> str:
    if info.partition:
        return "partition"
    return info.tokenizer if info.role == "text" else "" if not info.indexed else info.role


def _in_order(groups: pa.Table, order_by: Sequence[str]) -> pa.Table:
    """The groups of an aggregation, sorted by their columns."""
    keys = [parse_sort_key(text, groups.column_names) for text in order_by]
    return put_in_order(groups, [engine_key(key) for key in keys], groups.num_rows)


def open(  # noqa: A001 (indextables.open reads well, and hides nothing outside this module)
    path: Path,
    version: int | None = None,
    timestamp: Timestamp | None = None,
    options: Mapping[str, str] | None = None,
) -> Table:
    """Open a table without Spark, at its latest version or an older one.

    `path` is a path or a URL; `timestamp` is an ISO string, a `datetime` (without a zone: in UTC),
    or seconds or milliseconds since 1970; `options` are configuration keys, such as credentials.
    """
    show_searches()
    given = arguments.options_of(options)
    return Table(open_table(path, given, version, timestamp), given)
