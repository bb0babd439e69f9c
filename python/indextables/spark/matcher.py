"""Searches as functions of rows: the Python workers match what the index cannot answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.engine.query import Fields, Query, at_time, match_rows, parse_query, plain_query
from indextables.errors import InvalidError, error
from indextables.expr.values import NESTED
from indextables.model import kernels as pc
from indextables.model.types import Field, parse_field
from indextables.plan.matching import MODES, Described, check_field, describe_rows, query_tree
from indextables.plan.search import TYPED
from indextables.spark.warm import open_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.spark.planner import Answer
    from indextables.spark.request import Request


@dataclass(frozen=True)
class RowMatcher:
    """A function of Arrow arrays: the columns, then the query of each row."""

    described: tuple[Described, ...]
    names: tuple[str, ...]
    field: str | None
    mode: str
    now: int

    def __call__(self, *arrays: pa.Array) -> pa.Array:
        """Which rows their query matches; a null query matches none."""
        *columns, queries = arrays
        batch = pa.RecordBatch.from_arrays(list(columns), list(self.names))
        asked = pc.unique(queries).drop_null()
        if len(asked) == 1 and not queries.null_count:
            return self._match(batch, asked[0].as_py())
        found = pa.repeat(pa.scalar(value=False), len(queries))
        for text in asked.to_pylist():
            rows = pc.fill_null(pc.equal(queries, text), False)  # noqa: FBT003
            hits = self._match(batch.filter(rows), text)
            found = pc.replace_with_mask(found, rows, hits)
        return found

    def _match(self, batch: pa.RecordBatch, text: str) -> pa.Array:
        settled = _settle(at_time(text, self.now), self.described, self.field, self.mode)
        query = Query(query_tree(settled, self.field, self.mode))
        return match_rows(query, batch, self.described)


def _settle(text: str, described: Sequence[Described], field: str | None, mode: str) -> str:
    """The query of a search text, as in `plan.search.settle_search`."""
    fields = [] if field is None else [field]
    try:
        parse_query(text, Fields(described), fields, mode)
    except InvalidError as problem:
        if mode != "text" or problem.code not in TYPED:
            raise
        return plain_query(text)
    return text


def matcher(request: Request) -> Answer:
    """The pickled function that matches rows against a search."""
    from pyspark.sql.types import BooleanType
    from pyspark.worker_util import pickleSer

    body = request.body
    mode, field = MODES[body["operator"]], body.get("field")
    columns = open_table(request).columns if body["table"] else None
    fields: list[Field] = [parse_field({**c, "nullable": True}) for c in body["columns"]]
    described = describe_rows(fields, columns, mode)
    if field is not None:
        if next(d for d in described if d["name"] == field)["type"] in NESTED:
            raise error("SEARCH_NOT_PUSHED", search=f"{field} {body['operator']}")
        check_field(field, described, mode)
    if body.get("query") is not None:  # an invalid query fails before any task starts
        _settle(at_time(body["query"], request.now), described, field, mode)
    names = tuple(column["name"] for column in body["columns"])
    function = RowMatcher(tuple(described), names, field, mode, request.now)
    return {}, [pickleSer.dumps((function, BooleanType()))]
