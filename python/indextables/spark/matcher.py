"""Searches as functions of rows: the Python workers match what the index cannot answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.engine.query import Fields, at_time, parse_query, plain_query
from indextables.errors import InvalidError
from indextables.model import kernels as pc
from indextables.model.types import Field, parse_field
from indextables.plan.columns import field_name
from indextables.plan.matching import MODES, check_field, describe_rows
from indextables.plan.search import TYPED
from indextables.read.match import RowSearch
from indextables.spark.warm import open_table

if TYPE_CHECKING:
    from indextables.spark.planner import Answer
    from indextables.spark.request import Request


@dataclass(frozen=True)
class RowMatcher:
    """A function of Arrow arrays: the columns, then the query of each row."""

    search: RowSearch
    now: int

    def __call__(self, *arrays: pa.Array) -> pa.Array:
        """Which rows their query matches; a null query matches none."""
        *columns, queries = arrays
        names = [described["name"] for described in self.search.described]
        batch = pa.RecordBatch.from_arrays(list(columns), names)
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
        return self.search.match(self.settle(text), batch)

    def settle(self, text: str) -> str:
        """The query of a search text, as in `plan.search.settle_search`."""
        search = self.search
        fields = [] if search.field is None else [search.field]
        text = at_time(text, self.now)
        try:
            parse_query(text, Fields(search.described), fields, search.mode)
        except InvalidError as problem:
            if search.mode != "text" or problem.code not in TYPED:
                raise
            return plain_query(text)
        return text


def matcher(request: Request) -> Answer:
    """The pickled function that matches rows against a search."""
    from pyspark.sql.types import BooleanType
    from pyspark.worker_util import pickleSer

    body = request.body
    mode, path = MODES[body["operator"]], body.get("field")
    columns = open_table(request).columns if body["table"] else None
    fields: list[Field] = [parse_field({**c, "nullable": True}) for c in body["columns"]]
    field = None if path is None else field_name(path)
    if field is not None:  # the first column is the searched value
        fields[0] = replace(fields[0], name=field)
    described = describe_rows(fields, columns, mode)
    if field is not None:
        check_field(field, described, mode)
    function = RowMatcher(RowSearch(tuple(fields), tuple(described), field, mode), request.now)
    if body.get("search") is not None:  # an invalid query fails before any task starts
        function.search.members(function.settle(body["search"]))
    return {}, [pickleSer.dumps((function, BooleanType()))]
