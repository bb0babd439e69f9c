"""What is read from every split of a scan: built only here, and sent to the executors."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from indextables.config import read as keys
from indextables.engine.query import Query
from indextables.model.types import Struct, parse_schema
from indextables.plan.keys import ROW_ID_NAMES, check_row_id
from indextables.runtime.handles import Orders, Vector
from indextables.runtime.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from indextables.config.settings import Settings
    from indextables.engine.source import SourceSpec
    from indextables.log import Snapshot
    from indextables.plan.aggregates import AggregatePlan
    from indextables.plan.scores import ScoreStatistics
    from indextables.plan.topk import Order
    from indextables.plan.tree import Tree
    from indextables.storage import Store

# segments and fields of splits
Parts = tuple[tuple[str, ...], tuple[str, ...]]
SPLIT, DOC = ROW_ID_NAMES
SCORE, SNIPPET = "_score", "_snippet"
PSEUDO = {SPLIT: pa.string(), DOC: pa.int64(), SCORE: pa.float32(), SNIPPET: pa.string()}
# the file of a row, with the names that Spark's file sources give its members
FILE = "_metadata"
ROW_INDEX = "row_index"
# for a companion: rows that its source does not have, and pending files
HIDDEN, PENDING = "hidden", "pending"
# pseudo columns, which are not stored in splits; columns of the table take precedence
_PSEUDO_NAMES = frozenset({*PSEUDO, FILE})
# the row id
ROW_ID = pa.schema([pa.field(name, PSEUDO[name]) for name in (SPLIT, DOC)])
_DOC_FIELD = ROW_ID.field(DOC)
_NO_ORDERS = Orders()


def row_id(schema: Struct, command: str) -> pa.Schema:
    """The columns of the row id, if no column of the table has one of their names."""
    check_row_id(schema.names, command)
    return ROW_ID


@dataclass(frozen=True)
class Source:
    """One split to read, and the index of its query."""

    path: str
    footer: tuple[int, int] | None
    partition_values: Mapping[str, str]
    vector: Vector | None
    query: int
    prewarm: bool = False
    size: int | None = None
    # for a companion: the rows to leave out instead of the vector, as a base64 bitmap
    hidden: str | None = None
    # for a pending file of the companion's source: its stamp; `path` is the file
    pending: str | None = None
    # the number of rows of that file, if its table records it
    rows: int | None = None

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The input of a task; JSON has no tuples."""
        footer, vector = value["footer"], value["vector"]
        return cls(
            path=value["path"],
            footer=tuple(footer) if footer else None,
            partition_values=value["partition_values"],
            vector=tuple(vector) if vector else None,
            query=value["query"],
            prewarm=value.get("prewarm", False),
            size=value.get("size"),
            hidden=value.get("hidden"),
            pending=value.get("pending"),
            rows=value.get("rows"),
        )


@dataclass(frozen=True)
class ReadSpec:
    """What is read from every split of a scan; sent to the executors."""

    # holds credentials of the store: never print it
    place: tuple[str, str] = field(repr=False)
    settings: Settings
    table_schema: str
    partition_columns: tuple[str, ...]
    output: pa.Schema
    queries: tuple[Query, ...]
    aggregate: AggregatePlan | None = None
    limit: int | None = None
    order: Order | None = None
    statistics: ScoreStatistics | None = None
    batch_rows: int = 32768
    snippet: Mapping[str, Any] | None = None
    # columns whose value each source brings along
    given: tuple[str, ...] = ()
    prewarm: Parts | None = None
    orders: Orders = _NO_ORDERS
    # for a companion: its source, and how pending files are indexed
    source: SourceSpec | None = None
    source_fields: tuple[Mapping[str, Any], ...] = ()

    @property
    def schema(self) -> Struct:
        """The table's columns."""
        return _parsed(self.table_schema)

    @property
    def split_schema(self) -> pa.Schema:
        """The columns inside splits: all but the partition columns."""
        return _split_schema(self.table_schema, self.partition_columns)

    @lazy
    def is_whole(self) -> bool:
        """Whether the engine returns all columns: nothing is added afterwards."""
        inside = self.engine_schema
        return inside is self.output or bool(inside.names == self.output.names)

    @lazy
    def engine_schema(self) -> pa.Schema:
        """What the engine returns; values that are constant within a split are added afterwards."""
        names = self.output.names
        outside = {*self.partition_columns, *self.given}
        if names and outside.isdisjoint(names) and _PSEUDO_NAMES.isdisjoint(names):
            return self.output
        if self.gives(SPLIT):
            outside.add(SPLIT)
        if self.file_members:
            outside.add(FILE)
        if self.snippet is None and self.gives(SNIPPET):
            outside.add(SNIPPET)  # no text column to cut one from
        inside = [f for f in self.output if f.name not in outside]
        numbered = ROW_INDEX in self.file_members and DOC not in self.output.names
        if numbered:
            inside.append(row_id(self.schema, "reading _metadata.row_index").field(DOC))
        elif not inside:
            # any column gives the number of rows
            inside.append(
                _DOC_FIELD if self.schema.get(DOC) is None else self.split_schema.field(0)
            )
        return pa.schema(inside)

    def gives(self, name: str) -> bool:
        """Whether a pseudo column is wanted; columns of the table take precedence."""
        return name in self.output.names and self.schema.get(name) is None

    @lazy
    def file_members(self) -> list[str]:
        """The requested file metadata; a column of the table with that name takes precedence."""
        if FILE not in self.output.names or self.schema.get(FILE) is not None:
            return []
        return [member.name for member in self.output.field(FILE).type]

    @property
    def is_remote(self) -> bool:
        """Whether splits come over a network; the address of a local table is a plain path."""
        return "://" in self.place[0] or (self.source is not None and self.source.is_remote)

    @lazy
    def engine_options(self) -> dict[str, Any]:
        """The engine's options for a search."""
        given: dict[str, Any] = {"limit": self.limit, "order": self.order, "snippet": self.snippet}
        if self.statistics is not None:
            given["statistics"] = self.statistics.as_option()
        wanted = {key: value for key, value in given.items() if value is not None}
        return wanted | {"batch_rows": self.batch_rows}

    def with_columns(self, names: Iterable[str]) -> ReadSpec:
        """The same read with these columns too."""
        held = set(self.output.names)
        missing = [name for name in names if name not in held]
        if not missing:
            return self
        types = {**PSEUDO, **{f.name: f.type for f in self.schema.to_arrow_schema()}}
        more = [pa.field(name, types[name]) for name in missing]
        return replace(self, output=pa.schema([*self.output, *more]))


# the same for every query of a table, and larger than most
_parsed = lru_cache(maxsize=64)(parse_schema)


@lru_cache(maxsize=64)
def _split_schema(table_schema: str, partition_columns: tuple[str, ...]) -> pa.Schema:
    inside = [f for f in _parsed(table_schema).fields if f.name not in partition_columns]
    return Struct(tuple(inside)).to_arrow_schema()


_OF_SPLITS = (
    "footerStartOffset",
    "footerEndOffset",
    "deletionVector",
    "size",
    "partitionValues",
    "path",
)


def _listed(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column; reading nulls one by one would take longer than all the rest."""
    missing = column.null_count == len(column)
    found: list[Any] = [None] * len(column) if missing else column.to_pylist()
    return found


def sources_of(
    files: pa.Table, query_of: Sequence[int], prewarmed: Sequence[bool] | None = None
) -> list[Source]:
    """The splits of a plan, as tasks name them; some are loaded before they are queried."""
    # a companion at a version of its source has these
    more = (HIDDEN, PENDING, "numRecords") if files.schema.get_field_index(PENDING) >= 0 else ()
    rows_of = zip(*(_listed(files.column(name)) for name in (*_OF_SPLITS, *more)), strict=True)
    warm = [False] * files.num_rows if prewarmed is None else prewarmed
    sources = []
    for row, query, load in zip(rows_of, query_of, warm, strict=True):
        start, end, vector, size, values, path, *others = row
        hidden, pending, rows = others or (None, None, None)
        sources.append(
            Source(
                path=path,
                footer=None if start is None or end is None else (start, end),
                partition_values=dict(values or ()),
                vector=tuple(vector.values()) if vector and hidden is None else None,
                query=query,
                prewarm=load,
                size=size,
                hidden=None if hidden is None else b64encode(hidden["bitmap"]).decode(),
                pending=None if pending is None else pending["stamp"] or "",
                rows=None if pending is None else rows,
            )
        )
    return sources


def spec_of(
    store: Store,
    settings: Settings,
    snapshot: Snapshot,
    output: pa.Schema,
    queries: Iterable[Tree],
    **more: Any,
) -> ReadSpec:
    """How splits of a table are read; `more` are the other members."""
    return ReadSpec(
        place=store.native(),
        settings=settings,
        table_schema=snapshot.metadata.schema_string,
        partition_columns=snapshot.partition_columns,
        output=output,
        queries=tuple(Query(tree) for tree in queries),
        batch_rows=settings.get(keys.BATCH_ROWS),
        **more,
    )
