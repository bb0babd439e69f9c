"""Read rows and partial aggregates of splits: the same code in the planner and in tasks."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
from pyroaring import BitMap

from indextables.engine.source import open_source
from indextables.engine.split import Split
from indextables.engine.store import Cancel
from indextables.index.vectors import load_deletions
from indextables.log.actions import DeletionVector
from indextables.model import kernels as pc
from indextables.model.arrays import small_scalar
from indextables.plan.partials import complete_partial, merge_partials
from indextables.plan.partitions import parse_value, typed_array
from indextables.read.pending import open_pending
from indextables.read.spec import (
    DOC,
    FILE,
    ROW_INDEX,
    SNIPPET,
    SPLIT,
    ReadSpec,
    Source,
    row_id,
)
from indextables.runtime.handles import Vector, native_store, open_split
from indextables.runtime.side_by_side import side_by_side
from indextables.storage import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from indextables.plan.aggregates import AggregatePlan

T = TypeVar("T")
_CORES = os.cpu_count() or 1
# splits read concurrently over a network, and searches started ahead
_REMOTE_READERS = 32
_LOOK_AHEAD = 8


def read_rows(spec: ReadSpec, sources: Sequence[Source]) -> Iterator[pa.RecordBatch]:
    """The rows or partial aggregates of some splits; a plain limit ends the work early."""
    if spec.aggregate is not None:
        yield from _partials(spec, spec.aggregate, sources)
        return
    left = spec.limit if spec.order is None else None
    for found in _searches(spec, sources):
        for batch in found:
            kept = batch if left is None else batch.slice(0, left)
            yield kept
            if left is not None:
                left -= kept.num_rows
                if left <= 0:
                    return


def read_table(spec: ReadSpec, sources: Sequence[Source]) -> pa.Table:
    """All rows or partial aggregates of some splits, read concurrently."""
    schema = spec.output if spec.aggregate is None else spec.aggregate.schema
    if spec.limit is not None and spec.order is None:
        return pa.Table.from_batches(list(read_rows(spec, sources)), schema=schema)

    def one(source: Source) -> list[pa.RecordBatch]:
        if spec.aggregate is not None:
            return list(_partials(spec, spec.aggregate, [source]))
        return list(_search(spec, source))

    parts = side_by_side(one, sources, _readers(spec))
    return pa.Table.from_batches([batch for part in parts for batch in part], schema=schema)


def read_few(spec: ReadSpec, sources: Sequence[Source], most: int) -> pa.Table | None:
    """All rows of some splits, read concurrently, or None if there are more than `most`."""
    bounded = replace(spec, limit=most + 1)

    def one(source: Source) -> list[pa.RecordBatch]:
        return list(_search(bounded, source))

    parts = side_by_side(one, sources, _readers(spec))
    rows = pa.Table.from_batches([b for part in parts for b in part], schema=spec.output)
    return rows if rows.num_rows <= most else None


def count_rows(spec: ReadSpec, sources: Sequence[Source]) -> int:
    """How many rows match in some splits."""

    def one(source: Source) -> int:
        return split_of(spec, source).count(spec.queries[source.query])

    return sum(side_by_side(one, sources, _readers(spec)))


def gather_statistics(spec: ReadSpec, sources: Sequence[Source]) -> Iterable[dict[str, Any]]:
    """The statistics for scores of some splits, split by split."""
    return ask_splits(spec, sources, lambda split: split.statistics(spec.queries))


def ask_splits(spec: ReadSpec, sources: Sequence[Source], ask: Callable[[Split], T]) -> list[T]:
    """The answers of some splits, split by split; several are read at a time."""
    return side_by_side(lambda source: ask(split_of(spec, source)), sources, _readers(spec))


def explain_row(spec: ReadSpec, source: Source, row: int) -> dict[str, Any]:
    """Explain the score of a row of a split."""
    known = None if spec.statistics is None else spec.statistics.as_option()
    return split_of(spec, source).explain(spec.queries[source.query], row, known)


def find_docs(spec: ReadSpec, sources: Sequence[Source]) -> list[BitMap]:
    """The numbers of the matching rows of some splits, split by split."""
    numbers = replace(spec, output=pa.schema([row_id(spec.schema, "a change of rows").field(DOC)]))

    def one(source: Source) -> BitMap:
        found = BitMap()
        for batch in _search(numbers, source):
            found |= BitMap(batch.column(0).to_numpy().astype("uint32"))
        return found

    return side_by_side(one, sources, _readers(spec))


def _readers(spec: ReadSpec) -> int:
    """How many splits to read at a time: reading over a network mostly waits."""
    if spec.is_remote:
        return max(_CORES, _REMOTE_READERS)
    return 1 if _is_looked_up(spec) else _CORES


def _is_looked_up(spec: ReadSpec) -> bool:
    """Whether the index stores the answer, the row count of a term: too cheap to parallelize."""
    only_rows = spec.aggregate is not None and spec.aggregate.from_log
    return only_rows and all(query.is_lookup for query in spec.queries)


def _partials(
    spec: ReadSpec, plan: AggregatePlan, sources: Sequence[Source]
) -> Iterator[pa.RecordBatch]:
    def one(source: Source) -> list[pa.RecordBatch]:
        query = spec.queries[source.query]
        found = split_of(spec, source).aggregate(query, plan.request, plan.engine_schema)
        whole = constants(spec, source)
        return [complete_partial(batch, plan, whole) for batch in found.to_batches()]

    # other tasks use the other cores
    parts = side_by_side(one, sources, _readers(spec) if spec.is_remote else 1)
    batches = [batch for part in parts for batch in part]
    if len(sources) != 1:
        merged = pa.Table.from_batches(batches, schema=plan.schema)
        table = merge_partials(merged, plan, ansi=plan.request["ansi"])
        batches = table.combine_chunks().to_batches()
    yield from batches


def _searches(spec: ReadSpec, sources: Sequence[Source]) -> Iterator[Iterator[pa.RecordBatch]]:
    """The searches of some splits, in order; over a network the next few start meanwhile."""
    if not spec.is_remote or len(sources) < 2:  # noqa: PLR2004
        yield from (_search(spec, source) for source in sources)
        return
    bounded = spec.limit is not None and spec.order is None
    pool = ThreadPoolExecutor(_LOOK_AHEAD)
    cancel = Cancel()

    def begin(source: Source) -> Iterator[pa.RecordBatch]:
        with cancel:
            return _search(spec, source)

    try:
        ahead: deque[Future[Iterator[pa.RecordBatch]]] = deque()
        for source in sources:
            ahead.append(pool.submit(begin, source))
            # a limit may be reached soon: then few requests should be wasted
            if len(ahead) > (1 if bounded else _LOOK_AHEAD):
                yield ahead.popleft().result()
        yield from (started.result() for started in ahead)
    finally:
        # drop what is still in flight: it is not needed after a limit or an interrupt
        cancel.ask()
        pool.shutdown(cancel_futures=True)


def _search(spec: ReadSpec, source: Source) -> Iterator[pa.RecordBatch]:
    return search_split(spec, source, split_of(spec, source), {})


def search_split(
    spec: ReadSpec, source: Source, split: Split, given: Mapping[str, pa.Scalar]
) -> Iterator[pa.RecordBatch]:
    """The matching rows of an open split, completed by what is the same for all of them."""
    query = spec.queries[source.query]
    found = split.search(query, spec.engine_schema, **spec.engine_options)
    if spec.is_whole:
        return found
    whole = {**constants(spec, source), **given}
    if spec.gives(SPLIT):
        whole[SPLIT] = small_scalar(source.path, pa.string())
    if spec.snippet is None and spec.gives(SNIPPET):
        whole[SNIPPET] = small_scalar(None, pa.string())
    if spec.file_members:
        whole[FILE] = small_scalar(_file(spec, source), spec.output.field(FILE).type)
    return (_complete(spec.output, batch, whole) for batch in found)


def _complete(
    schema: pa.Schema, batch: pa.RecordBatch, whole: Mapping[str, pa.Scalar]
) -> pa.RecordBatch:
    if not schema.names:
        return batch.select([])
    inside = dict(zip(batch.schema.names, batch.columns, strict=True))
    arrays = [
        pa.repeat(whole[f.name], batch.num_rows) if f.name in whole else inside[f.name]
        for f in schema
    ]
    # a partition column of this name is no struct
    if FILE in whole and pa.types.is_struct(whole[FILE].type):
        at = schema.get_field_index(FILE)
        arrays[at] = _numbered(arrays[at], inside.get(DOC))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _file(spec: ReadSpec, source: Source) -> dict[str, Any]:
    """The file of a split, as Spark's file sources describe files."""
    folder = spec.place[0] if spec.is_remote else f"file:{spec.place[0]}"
    return {
        "file_path": f"{folder.rstrip('/')}/{source.path}",
        "file_name": source.path.rsplit("/", 1)[-1],
        "file_size": source.size,
    }


def _numbered(files: pa.StructArray, rows: pa.Array | None) -> pa.StructArray:
    """Descriptions of files with the number of each row in its file."""
    members = [
        rows if member.name == ROW_INDEX and rows is not None else files.field(member.name)
        for member in files.type
    ]
    return pa.StructArray.from_arrays(members, fields=list(files.type))


def constants(spec: ReadSpec, source: Source) -> dict[str, pa.Scalar]:
    """The partition values of a split, typed."""
    values: dict[str, pa.Scalar] = {}
    for name in spec.partition_columns:
        field = spec.schema.get(name)
        assert field is not None, name
        value = parse_value(source.partition_values.get(name), field.type, name)
        values[name] = typed_array([value], field.type)[0]
    return values


def split_of(spec: ReadSpec, source: Source) -> Split:
    """An open split, cached for the next query."""
    if source.pending is not None:
        return open_pending(spec, source)
    split = open_split(
        spec.place,
        source.path,
        source.footer,
        source.vector,
        columns=(spec.table_schema, spec.partition_columns),
        schema=lambda: spec.split_schema,
        settings=spec.settings,
        deleted=lambda vector: _deleted(spec, vector),
        hidden=source.hidden,
        rows=spec.source,
    )
    if source.prewarm and spec.prewarm is not None:
        split.prewarm(*spec.prewarm)
    return split


def _deleted(spec: ReadSpec, vector: Vector) -> bytes:
    store = open_store(spec.place[0], spec.settings)
    found: bytes = load_deletions(store, DeletionVector(*vector)).serialize()
    return found


def split_without(spec: ReadSpec, source: Source, hidden: BitMap) -> Split:
    """A split with exactly these rows deleted; not cached."""
    deleted = hidden.serialize() if hidden else None
    rows = None if spec.source is None else open_source(spec.source)
    store = native_store(*spec.place)
    return Split(store, source.path, source.footer, deleted, spec.split_schema, source=rows)


def put_in_order(table: pa.Table, order: Sequence[Mapping[str, Any]], limit: int) -> pa.Table:
    """The first rows in Spark's order: NaN above all numbers, nulls where each key says."""
    keys: list[tuple[str, str]] = []
    arrays: dict[str, pa.ChunkedArray] = {}
    for number, key in enumerate(order):
        column = table.column(key["field"])
        direction = "ascending" if key["ascending"] else "descending"
        last = pc.is_valid(column) if key["nulls_first"] else pc.is_null(column)
        arrays[f"{number} null"] = last.cast(pa.int8())
        keys.append((f"{number} null", "ascending"))
        if pa.types.is_floating(column.type):
            nan = pc.and_kleene(pc.is_valid(column), pc.is_nan(column))
            arrays[f"{number} nan"] = nan.cast(pa.int8())
            keys.append((f"{number} nan", direction))
        arrays[f"{number} value"] = column
        keys.append((f"{number} value", direction))
    indices = pc.sort_indices(pa.table(arrays), keys)
    return table.take(indices.slice(0, limit))
