"""A table opened from plain Python, without Spark: look into it, search it, take rows as Arrow.

For notebooks, small services and tools. What comes out is Arrow: `.to_pandas()` or
`polars.from_arrow(...)` take it from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from indextables.commands.after_write import maintain_after_write
from indextables.config.option import PREFIX
from indextables.config.settings import resolve
from indextables.errors import error
from indextables.expr.aggregation import Aggregation, Function, SortKey
from indextables.expr.predicate import ALL_FIELDS, Column, Expr, Predicate, Search
from indextables.log import Snapshot, open_log
from indextables.log.history import parse_timestamp
from indextables.plan.topk import engine_key
from indextables.read.changes import COLUMNS as CHANGE_COLUMNS
from indextables.read.changes import changes_between, plan_changes, read_changes
from indextables.read.request import ScanRequest
from indextables.read.rows import put_in_order
from indextables.read.scan import Scan, plan_scan, run_scan
from indextables.read.spec import PSEUDO, SCORE, SNIPPET
from indextables.read.table import OpenTable
from indextables.save.table import run_write_table
from indextables.sql.local import LocalContext
from indextables.sql.select import parse_function, parse_key, parse_sort_key
from indextables.sql.where import parse_where
from indextables.storage import find_location, open_store

MODES = ("append", "overwrite", "errorifexists", "ignore")


class Table:
    """A table at one version. Nothing in it changes; open it again to see newer commits."""

    def __init__(
        self, path: str, version: int | None, timestamp: str | None, options: Mapping[str, str]
    ) -> None:
        given = resolve(options)
        self._log = open_log(open_store(find_location(path, given), given), given)
        moment = None if timestamp is None else parse_timestamp(timestamp)
        self._snapshot: Snapshot = self._log.snapshot(version, moment)
        settings = resolve(options, table=self._snapshot.metadata.configuration)
        self._table = OpenTable(self._log, self._snapshot, settings)

    def __repr__(self) -> str:
        return f"Table({self.path!r}, version={self.version})"

    @property
    def path(self) -> str:
        """Where the table lies."""
        return self._log.store.url

    @property
    def version(self) -> int:
        """The version that was opened."""
        return self._snapshot.version

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self._snapshot.schema.to_arrow_schema()

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The columns the table is partitioned by."""
        return self._snapshot.partition_columns

    @property
    def properties(self) -> dict[str, str]:
        """What the table remembers: indexing choices and table properties."""
        return dict(self._snapshot.metadata.configuration)

    @property
    def num_files(self) -> int:
        """How many splits are live."""
        return self._snapshot.num_files

    @property
    def num_rows(self) -> int | None:
        """How many rows there are; None when a split of another writer does not say."""
        return self._snapshot.num_records

    @property
    def size_bytes(self) -> int:
        """Bytes of all live splits."""
        return self._snapshot.size_bytes

    def files(self) -> pa.Table:
        """The live splits: path, partition values, size, rows, bounds of columns."""
        return self._snapshot.files()

    def history(self, limit: int | None = None) -> list[dict[str, Any]]:
        """What happened to the table, newest first."""
        return [asdict(entry) for entry in self._log.history(limit)]

    def search(
        self,
        query: str,
        columns: Sequence[str] | None = None,
        limit: int = 10,
        where: str | None = None,
        *,
        score: bool = False,
        snippet: bool = False,
    ) -> pa.Table:
        """The best rows for a search text, best first; all columns or some.

        The text is searched in all text columns unless it names columns itself
        (`message:timeout`). `where` narrows further, such as `level = 'ERROR'`. With `score` and
        `snippet` each row says in `_score` how well it matches, in `_snippet` where.
        """
        more = [name for name, asked in ((SCORE, score), (SNIPPET, snippet)) if asked]
        request = ScanRequest(
            output=self._wanted([*(columns or self.schema.names), *more]),
            predicates=(Search("any", ALL_FIELDS, query), *self._where(where)),
            order=(SortKey(Column((SCORE,)), ascending=False, nulls_first=False),),
            limit=limit,
            here=True,
        )
        return run_scan(self._plan(request))

    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        limit: int | None = None,
        *,
        order_by: Sequence[str] = (),
        offset: int = 0,
    ) -> pa.Table:
        """Rows, all or those a condition holds for.

        `order_by` are columns with a direction, such as `ts DESC`; with a `limit` the index finds
        the first rows. `offset` skips rows of the result.
        """
        request = ScanRequest(
            output=self._wanted(columns or self.schema.names),
            predicates=self._where(where),
            order=self._order(order_by),
            limit=None if limit is None else limit + offset,
            offset=offset,
            here=True,
        )
        return run_scan(self._plan(request))

    def count(self, where: str | None = None, query: str | None = None) -> int:
        """How many rows there are, or how many a condition and a search text find.

        What the transaction log knows is not read from splits: all rows, and conditions on
        partition columns.
        """
        counted = self._aggregate((), (Function("COUNT_STAR"),), where, query)
        return int(counted.column(0)[0].as_py())

    def aggregate(
        self,
        functions: Mapping[str, str] | Sequence[str],
        by: Mapping[str, str] | Sequence[str] = (),
        where: str | None = None,
        query: str | None = None,
        *,
        order_by: Sequence[str] = (),
        limit: int | None = None,
    ) -> pa.Table:
        """Aggregate rows, all or those a condition and a search text find.

        `functions` are `count(*)`, `count(x)`, `count(distinct x)`, `sum(x)`, `avg(x)`, `min(x)`
        and `max(x)`; `by` are the group keys: columns, `indextables_histogram(x, 10)`,
        `indextables_date_histogram(ts, '1h')`, `indextables_range(x, 'low', NULL, 5, 'high', 5,
        NULL)`, `date_trunc('day', ts)`. Columns of the result are named as written, or by the keys
        of a mapping. Sums and averages are exact as in Spark: a sum of whole numbers that overflows
        is an error. `order_by` and `limit` are about the groups.
        """
        schema = self._snapshot.schema
        keys, wanted = _named(by), _named(functions)
        found = self._aggregate(
            tuple(parse_key(text, schema) for text in keys.values()),
            tuple(parse_function(text, schema) for text in wanted.values()),
            where,
            query,
        ).rename_columns([*keys, *wanted])
        if order_by:
            found = _in_order(found, order_by)
        return found if limit is None else found.slice(0, limit)

    def changes(self, first: int, last: int | None = None) -> pa.Table:
        """The rows that came and went from one version to another, both included.

        `_change_type` is insert, delete, update_preimage or update_postimage. Without `last`, up to
        the version that was opened.
        """
        end = self.version if last is None else min(last, self.version)
        rows = list(changes_between(self._log, first, end))
        columns = [pa.field(name, kind) for name, kind in CHANGE_COLUMNS.items()]
        request = ScanRequest(pa.schema([*self.schema, *columns]), here=True)
        found = plan_changes(self._table, request, rows)
        batches = read_changes(found.spec, found.sources)
        return pa.Table.from_batches(list(batches), schema=request.output)

    def _aggregate(
        self,
        keys: tuple[Expr, ...],
        functions: tuple[Function, ...],
        where: str | None,
        query: str | None,
    ) -> pa.Table:
        searches = () if query is None else (Search("any", ALL_FIELDS, query),)
        request = ScanRequest(
            predicates=(*searches, *self._where(where)),
            aggregation=Aggregation(keys, functions),
            here=True,
        )
        planned = self._plan(request)
        if planned.complete is None:
            raise error("AGGREGATE_UNSUPPORTED")
        return run_scan(planned)

    def _plan(self, request: ScanRequest) -> Scan:
        found = plan_scan(self._table, request)
        if not found.plan.filters.exact:
            raise error("CONDITION_NOT_EXACT")
        return found

    def _where(self, where: str | None) -> tuple[Predicate, ...]:
        return (parse_where(where, self._snapshot.schema),) if where else ()

    def _order(self, order_by: Sequence[str]) -> tuple[SortKey, ...]:
        names = [*self._snapshot.schema.names, *PSEUDO]
        return tuple(parse_sort_key(text, names) for text in order_by)

    def _wanted(self, names: Sequence[str]) -> pa.Schema:
        schema = self.schema
        unknown = [name for name in names if name not in PSEUDO and name not in schema.names]
        if unknown:
            raise error(
                "COLUMN_UNKNOWN", columns=", ".join(unknown), available=", ".join(schema.names)
            )
        types = {**PSEUDO, **{field.name: field.type for field in schema}}
        return pa.schema([pa.field(name, types[name]) for name in dict.fromkeys(names)])


def _named(given: Mapping[str, str] | Sequence[str]) -> dict[str, str]:
    """Texts of expressions by the names of their columns."""
    return dict(given) if isinstance(given, Mapping) else {text: text for text in given}


def _in_order(groups: pa.Table, order_by: Sequence[str]) -> pa.Table:
    """Groups of an aggregation, put in order by their columns."""
    keys = [parse_sort_key(text, groups.column_names) for text in order_by]
    return put_in_order(groups, [engine_key(key) for key in keys], groups.num_rows)


def open(  # noqa: A001 (indextables.open reads well, and hides nothing outside this module)
    path: str,
    version: int | None = None,
    timestamp: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Table:
    """Open a table without Spark, at its newest version or an older one.

    `timestamp` is ISO text or epoch seconds or milliseconds; `options` are configuration keys, such
    as credentials.
    """
    return Table(path, version, timestamp, options or {})


def write(
    data: pa.Table,
    path: str,
    mode: str = "append",
    partition_by: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
) -> Table:
    """Write an Arrow table without Spark, as one commit; the table is made when there is none.

    `mode` is append, overwrite, errorifexists or ignore; `options` are those of Spark's writer,
    such as `indexing.typemap.message` or `replaceWhere`. The table as it is afterwards is returned.
    """
    if mode not in MODES:
        raise error("SAVE_MODE", mode=mode, allowed=", ".join(MODES))
    settings = resolve(options or {})
    log = open_log(open_store(find_location(path, settings), settings), settings)
    given = options or {}
    done = run_write_table(log, data, mode, partition_by, given, parse=parse_where)
    if done is not None:
        settings = resolve(given, table=done.snapshot.metadata.configuration)
        written = OpenTable(log, done.snapshot, settings)
        named = {key if key.startswith(PREFIX) else PREFIX + key: v for key, v in given.items()}
        maintain_after_write(written, LocalContext(named))
    return open(path, options=options)
