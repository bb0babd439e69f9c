"""Read one split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables import _native
from indextables.engine.query import EVERY_ROW, Query

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


@dataclass(frozen=True)
class Loaded:
    """The result of prewarming: bytes, and the requested fields that the split does not have."""

    bytes: int
    missing: list[str]


class Split:
    """A split that is open for reading.

    `footer` are the offsets from the log (they save requests), `deleted` is a portable roaring
    bitmap of deleted rows, `schema` is the Arrow schema of the table: it types the literals, and
    the columns of splits that do not record types themselves (those of other writers). `source` is
    where the rows of a companion are.
    """

    def __init__(
        self,
        store: _native.Store,
        path: str,
        footer: tuple[int, int] | None = None,
        deleted: bytes | None = None,
        schema: pa.Schema | None = None,
        *,
        source: _native.Source | None = None,
    ) -> None:
        self._native = _native.Split(store, path, footer, deleted, schema, source)
        self._loaded: dict[tuple[tuple[str, ...], tuple[str, ...]], Loaded] = {}

    @property
    def num_docs(self) -> int:
        """The number of rows that are not deleted."""
        return self._native.num_docs

    @property
    def num_deleted(self) -> int:
        """The number of deleted rows."""
        return self._native.num_deleted

    def count(self, query: Query | Mapping[str, Any] | None = None) -> int:
        """The number of rows that match a query."""
        return self._native.count(_query(query))

    def search(
        self,
        query: Query | Mapping[str, Any] | None,
        schema: pa.Schema,
        **options: Any,
    ) -> Iterator[pa.RecordBatch]:
        """Matching rows as batches in exactly this schema.

        `_doc` (row number in the split), `_score` and `_snippet` are columns like any other.
        Options: `limit`, `order`, `batch_rows`, `snippet`, `statistics`.
        """
        return map(pa.record_batch, self._native.search(_query(query), schema, **options))

    def table(
        self,
        query: Query | Mapping[str, Any] | None,
        schema: pa.Schema,
        **options: Any,
    ) -> pa.Table:
        """All matching rows in one table."""
        return pa.Table.from_batches(self.search(query, schema, **options), schema)

    def aggregate(
        self,
        query: Query | Mapping[str, Any] | None,
        request: Mapping[str, Any],
        schema: pa.Schema,
    ) -> pa.Table:
        """Exact partial results: `group_by` keys, then `functions`, in exactly this schema."""
        stream = self._native.aggregate(_query(query), request, schema)
        return pa.Table.from_batches(map(pa.record_batch, stream), schema)

    def statistics(self, queries: Sequence[Query]) -> dict[str, Any]:
        """The statistics of live rows that scores need, for the words of some queries.

        `rows`; `tokens` by column; `terms`, rows that have a word, by column and word.
        """
        return self._native.statistics(list(queries))

    def complete(self, field: str, text: str, limit: int) -> list[tuple[str, int]]:
        """Words that complete the last word of a text, with their number of rows."""
        return self._native.complete(field, text, limit)

    def similar(self, field: str, text: str, distance: int, limit: int) -> list[tuple[str, int]]:
        """Words within an edit distance of the last word of a text."""
        return self._native.similar(field, text, distance, limit)

    def frequencies(self, field: str, words: Sequence[str]) -> list[int]:
        """The number of rows that have each of some words; deleted rows count until a merge."""
        return self._native.frequencies(field, list(words))

    def explain(
        self, query: Query, row: int, statistics: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Explain the score of a row: the parts of the query with their scores."""
        return self._native.explain(query, row, statistics)

    def describe(self) -> dict[str, Any]:
        """Counts, columns, document mapping and files, as `_native.Split.describe` lists them."""
        return self._native.describe()

    def components(self) -> list[dict[str, Any]]:
        """The bytes of every component."""
        return self._native.components()

    def prewarm(self, parts: Sequence[str], fields: Sequence[str] = ()) -> Loaded:
        """Load parts of the split (`TERM`, `POSTINGS`, ...) into the caches; no field means all.

        Parts that this object has loaded are not loaded again.
        """
        key = (tuple(parts), tuple(fields))
        if key not in self._loaded:
            self._loaded[key] = Loaded(*self._native.prewarm(list(parts), list(fields)))
        return self._loaded[key]

    @staticmethod
    def verify(store: _native.Store, path: str) -> list[tuple[str, str]]:
        """Verify the bytes of a split; return damaged files with their problems."""
        return _native.Split.verify(store, path)


def _query(given: Query | Mapping[str, Any] | None) -> Query:
    if isinstance(given, Query):
        return given
    return Query(given) if given else EVERY_ROW
