"""Search functions that return Columns, like those of `pyspark.sql.functions`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (as everyone imports it)

if TYPE_CHECKING:
    from pyspark.sql import Column


def indexquery(col: Column | str, query: str) -> Column:
    """Match rows whose column matches a query in the query language.

    >>> df.where(indexquery("message", 'timeout OR "connection reset"'))  # doctest: +SKIP
    """
    return _call("indexquery", col, query)


def textsearch(col: Column | str, query: str) -> Column:
    """Like `indexquery`, for tokenized columns only."""
    return _call("textsearch", col, query)


def fieldmatch(col: Column | str, query: str) -> Column:
    """Like `indexquery`, for columns indexed as whole values only."""
    return _call("fieldmatch", col, query)


def indexqueryall(query: str) -> Column:
    """Match rows with any searchable column that matches a query."""
    return F.call_function("indexqueryall", F.lit(query))


def _call(name: str, col: Column | str, query: str) -> Column:
    return F.call_function(name, F.col(col) if isinstance(col, str) else col, F.lit(query))
