"""A table opened from plain Python, without Spark: look into it, search it, take rows as Arrow.

For notebooks, small services and tools. What comes out is Arrow: `.to_pandas()` or
`polars.from_arrow(...)` take it from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from indextables.config.settings import resolve
from indextables.errors import error
from indextables.expr.predicate import ALL_FIELDS, Predicate, Search
from indextables.log import Snapshot, open_log
from indextables.log.history import parse_timestamp
from indextables.plan.filters import plan_filters
from indextables.plan.prune import prune_splits
from indextables.plan.queries import split_queries
from indextables.plan.search import plan_snippet
from indextables.plan.tree import ALL
from indextables.read.changes import COLUMNS as CHANGE_COLUMNS
from indextables.read.changes import ChangeSource, changes_between, read_changes
from indextables.read.columns import columns_of, query_check
from indextables.read.key_pruning import prune_by_key
from indextables.read.rows import PSEUDO, SCORE, SNIPPET, ReadSpec, read_table, sources_of
from indextables.save.table import run_write_table
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
        self._settings = resolve(options, table=self._snapshot.metadata.configuration)

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
    ) -> pa.Table:
        """The best rows for a search text, with `_score` and `_snippet`; all columns or some.

        The text is searched in all text columns unless it names columns itself
        (`message:timeout`). `where` narrows further, such as `level = 'ERROR'`.
        """
        predicates: list[Predicate] = [Search("any", ALL_FIELDS, query)]
        if where:
            predicates.append(parse_where(where, self._snapshot.schema))
        wanted = self._wanted([*(columns or self.schema.names), SCORE, SNIPPET])
        found = self._read(predicates, wanted, limit=limit, order="score")
        return found.sort_by([(SCORE, "descending")]).slice(0, limit)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        limit: int | None = None,
    ) -> pa.Table:
        """Rows, all or those a condition holds for."""
        predicates = [parse_where(where, self._snapshot.schema)] if where else []
        found = self._read(predicates, self._wanted(columns or self.schema.names), limit=limit)
        return found if limit is None else found.slice(0, limit)

    def changes(self, first: int, last: int | None = None) -> pa.Table:
        """The rows that came and went from one version to another, both included.

        `_change_type` is insert, delete, update_preimage or update_postimage. Without `last`, up to
        the version that was opened.
        """
        end = self.version if last is None else min(last, self.version)
        rows = list(changes_between(self._log, first, end))
        columns = [pa.field(name, kind) for name, kind in CHANGE_COLUMNS.items()]
        spec = ReadSpec(
            place=self._log.store.native(),
            settings=self._settings,
            table_schema=self._snapshot.metadata.schema_string,
            partition_columns=self.partition_columns,
            output=pa.schema([*self.schema, *columns]),
            queries=(ALL,),
            given=tuple(CHANGE_COLUMNS),
        )
        batches = read_changes(spec, [ChangeSource.of(each, 0) for each in rows])
        return pa.Table.from_batches(list(batches), schema=spec.output)

    def _wanted(self, names: Sequence[str]) -> pa.Schema:
        schema = self.schema
        unknown = [name for name in names if name not in PSEUDO and name not in schema.names]
        if unknown:
            raise error(
                "COLUMN_UNKNOWN", columns=", ".join(unknown), available=", ".join(schema.names)
            )
        types = {**PSEUDO, **{field.name: field.type for field in schema}}
        return pa.schema([pa.field(name, types[name]) for name in names])

    def _read(
        self,
        predicates: list[Predicate],
        output: pa.Schema,
        limit: int | None = None,
        order: str | None = None,
    ) -> pa.Table:
        snapshot = self._snapshot
        columns = columns_of(self.path, snapshot)
        filters = plan_filters(predicates, columns, 0, query_check(columns), "UTC")
        if not filters.exact:
            raise error("CONDITION_NOT_EXACT")
        names = snapshot.partition_columns
        files, _ = prune_splits(snapshot.files(), filters.pruning, snapshot.schema, names, columns)
        files = prune_by_key(files, filters.pruning, snapshot, self._log.store, self._settings)
        queries, query_of = split_queries(filters, files, columns)
        spec = ReadSpec(
            place=self._log.store.native(),
            settings=self._settings,
            table_schema=snapshot.metadata.schema_string,
            partition_columns=names,
            output=output,
            queries=tuple(queries),
            limit=limit,
            order=order,
            snippet=plan_snippet(filters.bound, columns) if SNIPPET in output.names else None,
        )
        return read_table(spec, sources_of(files, query_of))


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
    run_write_table(log, data, mode, partition_by, options or {}, parse=parse_where)
    return open(path, options=options)
