"""`indextables_significant_terms`: the typical words of a search, for statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.api.significant import LIMIT, MIN_ROWS, Sample, significant_words
from indextables.spark.shipping import to_stream
from indextables.spark.warm import open_table

if TYPE_CHECKING:
    from indextables.spark.planner import Answer
    from indextables.spark.request import Request


def significant_terms(request: Request) -> Answer:
    """The words of a column that are typical of the rows of a search and a condition."""
    body = request.body
    sample = Sample(body["column"], body.get("search"), body.get("where"))
    limit = body.get("limit", LIMIT)
    return {}, [to_stream(significant_words(open_table(request), sample, limit, MIN_ROWS))]
