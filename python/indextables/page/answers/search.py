"""Rows, counts, the histogram over time and the values of columns, for one view of a table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.api.local import Table
from indextables.api.overview import (
    COUNT,
    Bar,
    Histogram,
    both,
    count_over_time,
    count_values,
    time_range,
)
from indextables.errors import error
from indextables.expr.calendar import parse_timestamp, render_date, render_timestamp
from indextables.expr.values import kind_of
from indextables.page.answers.fields import Fields, choose_fields
from indextables.page.answers.values import cells
from indextables.page.statement import TIMES, condition, sort_key
from indextables.page.view import SCORE
from indextables.sql.values import quote_name

if TYPE_CHECKING:
    from indextables.page.view import View
    from indextables.read.table import OpenTable

SNIPPET = "_snippet"
PAGE_ROWS = 20
MOST_BUCKETS = 72
TOP_VALUES = 8
MOST_WORDS = 6
_SAMPLE_ROWS = 400
_BARS = 24
_DAY_MICROS = 86_400_000_000


@dataclass(frozen=True)
class Hits:
    """One page of rows as strings, by column."""

    total: int
    columns: tuple[str, ...]
    rows: tuple[dict[str, str | None], ...]


@dataclass(frozen=True)
class Values:
    """The most frequent values of a column, and how many distinct ones there are."""

    column: str
    top: tuple[tuple[str | None, int], ...]
    distinct: int


class Search:
    """A view of a table, ready to be queried."""

    def __init__(self, table: OpenTable, view: View, fields: Fields) -> None:
        self.opened, self.table, self.view, self.fields = table, Table(table), view, fields
        self.schema = table.snapshot.schema
        self.query = view.query or None

    def hits(self) -> Hits:
        """The rows of the page and the total number of rows."""
        view, names = self.view, list(self.schema.names)
        where = condition(view, self.schema) or None
        extra = [SCORE, SNIPPET] if self.query else []
        key = sort_key(view)
        rows = self.table.scan(
            [*names, *extra],
            where,
            PAGE_ROWS,
            query=self.query,
            order_by=[key] if key else [],
            offset=(view.page - 1) * PAGE_ROWS,
        )
        total = self.table.count(where, self.query)
        texts = {name: cells(rows.column(name)) for name in rows.column_names}
        shown = tuple(
            {name: texts[name][at] for name in rows.column_names} for at in range(rows.num_rows)
        )
        return Hits(total, tuple(names), shown)

    def did_you_mean(self) -> str | None:
        """A query that finds rows, for one that finds none because of misspelled words."""
        where = condition(self.view, self.schema) or None
        return self.table.did_you_mean(self.query, where) if self.query else None

    def over_time(self) -> Histogram | None:
        """The matching rows over time: in the chosen range, or all."""
        view, column = self.view, self.view.time or self.fields.time
        if not column:
            return None
        if kind_of_column(self.opened, column) not in TIMES:
            raise error("COLUMN_UNKNOWN", columns=column, available=", ".join(self.fields.times))
        # the range depends on the filters, not on the query: the axis does not move while one types
        ends = self._time_range(column)
        if ends is None:
            return Histogram(column, ())
        where = condition(view, self.schema)
        return count_over_time(
            self.table, column, ends, MOST_BUCKETS, where=where, query=self.query
        )

    def values(self, column: str) -> Values:
        """The most frequent values of a column, without its own filter."""
        where = condition(self.view.without(column), self.schema) or None
        found = count_values(self.table, column, where, self.query)
        top = found.slice(0, TOP_VALUES)
        texts = cells(top.column("value"), whole=True)
        counts = top.column("rows").to_pylist()
        return Values(column, tuple(zip(texts, counts, strict=True)), found.num_rows)

    def distribution(self, column: str) -> Histogram:
        """A histogram of a numeric column; values that are not finite are left out."""
        without = self.view.without(column)
        where, name = condition(without, self.schema), quote_name(column)
        ends = self.table.aggregate(
            {"low": f"min({name})", "high": f"max({name})"}, where=where or None, query=self.query
        )
        low, high = (_finite(ends.column(at)[0].as_py()) for at in ("low", "high"))
        if low is None or high is None:
            return Histogram(column, ())
        step = _nice((high - low) / _BARS, whole=isinstance(ends.column("low")[0].as_py(), int))
        found = self.table.aggregate(
            {"rows": COUNT},
            by={"at": f"indextables_histogram({name}, {step:f})"},
            where=both(where, f"{name} IS NOT NULL"),
            query=self.query,
        )
        counts = {
            round(at / step): rows
            for at, rows in zip(*(found.column(n).to_pylist() for n in ("at", "rows")), strict=True)
            if at is not None and math.isfinite(at)
        }
        first, last = math.floor(low / step), math.floor(high / step)
        bars = [Bar(at * step, (at + 1) * step, counts.get(at, 0)) for at in range(first, last + 1)]
        return Histogram(column, tuple(bars))

    def _time_range(self, column: str) -> tuple[int, int] | None:
        view = self.view
        start, end = (parse_timestamp(each) if each else None for each in (view.start, view.end))
        if start is None or end is None:
            where = condition(view, self.schema) or None
            found = time_range(self.table, column, where)
            if found is None:
                return None
            start = found[0] if start is None else start
            end = found[1] if end is None else end
        return (start, end) if start < end else None


def complete(table: OpenTable, text: str, column: str) -> tuple[tuple[str, int], ...]:
    """Words with a prefix, and their number of rows; none for a column without words."""
    names = [info.name for info in table.columns.searchable if info.role in ("text", "string")]
    if not text or (column and column not in names):
        return ()
    found = Table(table).suggest(text, column or None, MOST_WORDS)
    return tuple(zip(*(found[name].to_pylist() for name in ("word", "rows")), strict=True))


def look_at(table: OpenTable) -> Fields:
    """The filters for the columns of a table, chosen from a few of its rows."""
    wanted = [info.name for info in table.columns.infos if info.columnar]
    sample = Table(table).scan(wanted, limit=_SAMPLE_ROWS) if wanted else pa.table({})
    return choose_fields(table.columns, sample)


def timestamp_text(micros: float, kind: str) -> str:
    """A timestamp of the histogram in the form of the page's URLs."""
    at = int(micros)
    return render_date(at // _DAY_MICROS) if kind == "date" else render_timestamp(at)


def kind_of_column(table: OpenTable, column: str) -> str:
    """The kind of a column; empty if there is no such column."""
    found = table.snapshot.schema.get(column)
    return "" if found is None else kind_of(found.type)


def _nice(least: float, *, whole: bool) -> float:
    """The smallest number of at least this value that is 1, 2 or 5 times a power of ten."""
    if least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= least * 0.999)
    return max(step, 1.0) if whole else step


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
