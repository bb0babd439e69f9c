"""The histogram over time, and the values and distributions of columns to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.page.answers.search import timestamp_text
from indextables.page.view import Narrowing
from indextables.show.charts import Column, column_chart, share_bar
from indextables.show.markup import Html, el, join
from indextables.show.values import counted, cut, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.api.overview import Histogram
    from indextables.page.answers.fields import Fields
    from indextables.page.answers.search import Values
    from indextables.page.view import View

_SPANS = (("15 min", 900), ("hour", 3_600), ("day", 86_400), ("week", 604_800))
_MICROS = 1_000_000
_FIELD = 24


def over_time(view: View, found: Histogram | None, kind: str, fields: Fields) -> Html:
    """The histogram, with a range to choose by dragging, by clicking or by typing."""
    if found is None:
        return Html("")
    head = el("h2", f"Rows over {found.column}")
    if not found.bars:
        return el("div", head, el("p", "No times.", class_="quiet"), class_="card")
    low, high = found.bars[0].low, found.bars[-1].high
    columns = [
        Column(
            bar.rows,
            f"{counted(bar.rows, 'row')} from {timestamp_text(bar.low, kind)}",
            f"search{_between(view, found.column, kind, bar.low, bar.high).address}",
        )
        for bar in found.bars
    ]
    most = max(bar.rows for bar in found.bars)
    drawing = el(
        "div",
        column_chart(columns, f"{found.column}: {counted(len(columns), 'bar')}, drag to narrow"),
        el("div", class_="brush", hidden=True),
        class_="histogram",
        data_brush=found.column,
        data_low=int(low),
        data_high=int(high),
        data_step=int(found.bars[0].high - low),
        data_date="1" if kind == "date" else None,
    )
    axis = el(
        "p",
        el("span", timestamp_text(low, kind)),
        el("span", f"one bar is {found.step}, the highest {counted(most, 'row')}", class_="quiet"),
        el("span", timestamp_text(high, kind)),
        class_="axis",
    )
    return el("div", el("div", head, _spans(view, found, kind), class_="row"),
              drawing, axis, _by_hand(view, found.column, fields, kind), class_="card")  # fmt: skip


def _between(view: View, column: str, kind: str, low: float, high: float) -> View:
    return view.first_page(
        time=column, start=timestamp_text(low, kind), end=timestamp_text(high, kind)
    )


def _spans(view: View, found: Histogram, kind: str) -> Html:
    low, high = found.bars[0].low, found.bars[-1].high
    links = [
        (f"Last {name}", _between(view, found.column, kind, high - seconds * _MICROS, high))
        for name, seconds in _SPANS
        if seconds * _MICROS < high - low and not (kind == "date" and seconds < _SPANS[2][1])
    ]
    if view.start or view.end:
        links.append(("All time", view.first_page(start="", end="")))
    shown = [el("a", name, href=f"search{to.address}", data_nav=True) for name, to in links]
    return el("span", shown, class_="spans")


def _by_hand(view: View, column: str, fields: Fields, kind: str) -> Html:
    kept = [p for p in view.pairs() if p[0] not in ("time", "from", "to", "page")]
    field = "date" if kind == "date" else "datetime-local"
    chosen = [el("option", name, value=name, selected=name == column) for name in fields.times]
    return el(
        "form",
        [el("input", type="hidden", name=key, value=value) for key, value in kept],
        el("label", "Column ", el("select", chosen, name="time"))
        if len(fields.times) > 1
        else el("input", type="hidden", name="time", value=column),
        el("label", "From ", el("input", type=field, step=1, name="from",
                                value=view.start.replace(" ", "T"))),
        el("label", "To ", el("input", type=field, step=1, name="to",
                              value=view.end.replace(" ", "T"))),
        el("button", "Apply", type="submit"),
        action="search",
        class_="range",
        data_form=True,
    )  # fmt: skip


def facets(view: View, parts: Sequence[Html], lazy: Sequence[str]) -> Html:
    """The panel of filters; rarely used columns are loaded when they are opened."""
    later = [
        el(
            "details",
            el("summary", cut(name, _FIELD), title=name),
            el("div", "…", data_load=f"facet.json{view.address}", data_column=name),
            class_="facet",
            data_key=name,
        )
        for name in lazy
    ]
    return join(parts, later)


def values(view: View, found: Values) -> Html:
    """The most frequent values of a column, each with its rows, to choose from."""
    most = max((rows for _, rows in found.top), default=0) or 1
    chosen = view.narrowed.get(found.column, Narrowing()).values
    known = {value for value, _ in found.top}
    top = [*found.top, *((value, 0) for value in chosen if value not in known)]
    lines = [
        el(
            "li",
            el(
                "a",
                el("span", "✓" if value in chosen else "", class_="check", aria_hidden="true"),
                el("span", _name(value), class_="name" if value else "name null"),
                el("span", number(rows), class_="count"),
                share_bar(rows / most),
                href=f"search{view.toggled(found.column, value).address}",
                data_nav=True,
                aria_pressed="true" if value in chosen else "false",
                role="button",
                title=value,
            ),
        )
        for value, rows in top
    ]
    more = found.distinct - len(found.top)
    return _facet(
        found.column,
        el("ul", lines),
        el("p", f"and {counted(more, 'other value')}", class_="quiet") if more > 0 else None,
    )


def _name(value: str | None) -> str:
    return "null" if value is None else cut(value, _FIELD + 6) or "(empty)"


def distribution(view: View, found: Histogram) -> Html:
    """The distribution of a numeric column, with a range to choose."""
    if not found.bars:
        return _facet(found.column, el("p", "No values.", class_="quiet"))
    chosen = view.narrowed.get(found.column, Narrowing())
    columns = [
        Column(
            bar.rows,
            f"{counted(bar.rows, 'row')} from {_plain(bar.low)} to {_plain(bar.high)}",
            "search"
            + view.with_narrowing(
                found.column, Narrowing(low=_plain(bar.low), high=_plain(bar.high))
            ).address,
        )
        for bar in found.bars
    ]
    kept = [pair for pair in view.without(found.column).pairs() if pair[0] != "page"]
    low, high = f"min.{found.column}", f"max.{found.column}"
    by_hand = el(
        "form",
        [el("input", type="hidden", name=key, value=value) for key, value in kept],
        el("input", name=low, value=chosen.low, inputmode="decimal", size=6,
           placeholder=_plain(found.bars[0].low), aria_label=f"{found.column}, from"),
        el("span", "to"),
        el("input", name=high, value=chosen.high, inputmode="decimal", size=6,
           placeholder=_plain(found.bars[-1].high), aria_label=f"{found.column}, below"),
        el("button", "Apply", type="submit"),
        action="search",
        class_="range",
        data_form=True,
    )  # fmt: skip
    chart = column_chart(columns, f"Distribution of {found.column}")
    return _facet(found.column, el("div", chart, class_="distribution"), by_hand)


def _facet(column: str, *body: Html | None) -> Html:
    title = el("summary", cut(column, _FIELD), title=column)
    return el("details", title, body, class_="facet", open=True, data_key=column)


def _plain(value: float) -> str:
    return f"{value:.12f}".rstrip("0").rstrip(".") if value % 1 else f"{value:.0f}"
