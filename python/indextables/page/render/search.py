"""The search page and its parts, which are updated while the user types."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from indextables.errors import QuerySyntaxError
from indextables.page.answers.search import PAGE_ROWS, SNIPPET
from indextables.page.render.layout import copyable, problem
from indextables.page.view import MOST_PAGES, SCORE
from indextables.show.markup import Child, Html, el, join
from indextables.show.snippets import marked
from indextables.show.values import cut, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.errors import IndexTablesError
    from indextables.page.answers.fields import Fields
    from indextables.page.answers.search import Hits
    from indextables.page.view import View

_LINE = 280
_SECONDS = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\.\d+$")
_META = 4


def frame(view: View, fields: Sequence[tuple[str, str]], parts: dict[str, Html]) -> Html:
    """The search box and all parts of the page."""
    return join(
        _form(view, fields),
        el("div", parts["problem"], id="problem", aria_live="polite"),
        el(
            "div",
            el(
                "aside",
                el("details", el("summary", "Filters"), el("div", parts["facets"], id="facets"),
                   open=True, class_="drawer"),
                aria_label="Filters",
            ),
            el(
                "main",
                el("section", parts["chart"], id="chart", aria_label="Rows over time"),
                el("div", parts["chips"], id="chips"),
                el("div", parts["summary"], id="summary", role="status"),
                el("ol", parts["hits"], id="hits", class_="hits", aria_label="Rows found"),
                el("nav", parts["pager"], id="pager", aria_label="Pages"),
                el("div", parts["statement"], id="statement"),
            ),
            class_="columns-2",
        ),
    )  # fmt: skip


def _form(view: View, fields: Sequence[tuple[str, str]]) -> Html:
    others = [(key, value) for key, value in view.pairs() if key not in ("q", "page")]
    return el(
        "form",
        el("label", "Search", for_="q", class_="hidden"),
        el(
            "input",
            id="q",
            name="q",
            type="search",
            value=view.query,
            placeholder='Search, such as  timeout AND level:ERROR  or  "connection reset"',
            autocomplete="off",
            autocapitalize="none",
            spellcheck="false",
            autofocus=True,
            role="combobox",
            aria_expanded="false",
            aria_autocomplete="list",
            aria_controls="suggestions",
            aria_describedby="problem",
            maxlength=4000,
            data_fields=json.dumps(fields),
        ),
        el("kbd", "/", title="Press / to search", aria_hidden="true"),
        el("ul", id="suggestions", role="listbox", aria_label="Suggestions", hidden=True),
        [el("input", type="hidden", name=key, value=value) for key, value in others],
        el("button", "Search", type="submit", class_="go"),
        role="search",
        action="search",
        class_="searchbar",
        data_search=True,
    )


def query_problem(view: View, failure: IndexTablesError) -> Html:
    """The error of a search, marked below its character."""
    position = _position(view.query, failure)
    if position is None:
        return problem(failure)
    text = failure.context.get("detail") or failure.message
    caret = el(
        "pre",
        el("span", view.query[:position], class_="before"),
        el("span", view.query[position : position + 1] or " ", class_="here"),
        class_="caret",
        aria_hidden="true",
        data_position=position,
    )
    message = el("p", f"At character {position + 1}: ", text, class_="message")
    return el("div", caret, message, class_="problem query", role="alert")


def _position(query: str, failure: IndexTablesError) -> int | None:
    if isinstance(failure, QuerySyntaxError):
        return int(failure.context.get("position", 0))
    field = failure.context.get("field")
    at = query.find(f"{field}:") if field else -1
    return at if at >= 0 else None


def chips(view: View) -> Html:
    """The active filters, each with a link that removes it."""
    shown = []
    for name, narrowing in view.narrowed.items():
        for value in narrowing.values:
            text = f"{name}: {'null' if value is None else cut(value, 40) or '(empty)'}"
            shown.append((text, view.toggled(name, value)))
        if narrowing.low or narrowing.high:
            text = f"{name}: {narrowing.low or '…'} to {narrowing.high or '…'}"
            shown.append((text, view.without(name)))
    if view.start or view.end:
        text = f"{view.time}: {view.start or '…'} to {view.end or '…'}"
        shown.append((text, view.first_page(start="", end="")))
    if not shown:
        return Html("")
    found = [
        el("a", text, el("span", " ✕", aria_hidden="true"), href=f"search{other.address}",
           class_="chip", data_nav=True, aria_label=f"Remove {text}")
        for text, other in shown
    ]  # fmt: skip
    cleared = view.first_page(narrowed={}, start="", end="")
    return join(
        found, el("a", "Clear all", href=f"search{cleared.address}", class_="clear", data_nav=True)
    )


def summary(view: View, hits: Hits, fields: Fields, took_ms: float) -> Html:
    """The number of rows, the duration, and the sort order."""
    noun = "row" if hits.total == 1 else "rows"
    orders = [("Best match", view.first_page(sort="", ascending=False))] if view.query else []
    orders += [] if view.query else [("As stored", view.first_page(sort="", ascending=False))]
    for name in fields.sortable:
        orders.append((f"{name} ↓", view.first_page(sort=name, ascending=False)))
        orders.append((f"{name} ↑", view.first_page(sort=name, ascending=True)))
    chosen = view.first_page().address
    options = [
        el("option", label, value=f"search{other.address}", selected=other.address == chosen)
        for label, other in orders
    ]
    return join(
        el("strong", number(hits.total)),
        f" {noun} ",
        el("span", f"in {took_ms:.0f} ms", class_="quiet", id="took"),
        el("label", "Order ", el("select", options, data_go=True, id="sort"), class_="order"),
    )


def hit_list(view: View, hits: Hits, fields: Fields) -> Html:
    """The rows of the page."""
    return join(_hit(row, view, hits, fields) for row in hits.rows)


def no_hits(view: View, better: str | None) -> Html:
    """The message if there are no rows, with a suggestion."""
    if better is None:
        return el("li", "No row matches.", class_="none")
    other = view.first_page(query=better)
    link = el("a", better, href=f"search{other.address}", data_nav=True)
    return el("li", "No row matches. Did you mean ", link, "?", class_="none")


def word_list(words: Sequence[tuple[str, int]]) -> Html:
    """Completions for the list below the search box."""
    return join(
        el("li", word, el("small", f"{number(rows)} rows" if rows != 1 else "1 row"),
           role="option", data_text=word)
        for word, rows in words
    )  # fmt: skip


def _hit(row: dict[str, str | None], view: View, hits: Hits, fields: Fields) -> Html:
    meta = [name for name in (view.time or fields.time, *fields.values) if name][:_META]
    score = row.get(SCORE)
    return el(
        "li",
        el(
            "details",
            el(
                "summary",
                el(
                    "span",
                    [el("span", _tag(row[name] or ""), class_="tag", title=f"{name}: {row[name]}")
                     for name in meta if row.get(name)],
                    el("span", f"{float(score):.2f}", class_="score", title="score")
                    if score else None,
                    class_="meta",
                ),
                el("span", _line(row, hits, meta), class_="text"),
            ),
            el("dl", [_pair(name, row[name], view, fields) for name in hits.columns]),
        ),
        class_="hit",
    )  # fmt: skip


def _tag(value: str) -> str:
    """A short form of a value; fractions of seconds are shown in the opened row."""
    return cut(_SECONDS.sub(r"\1", value), 40)


def _line(row: dict[str, str | None], hits: Hits, meta: Sequence[str]) -> Child:
    """A row as one line: its snippet, or else its values."""
    snippet = row.get(SNIPPET)
    if snippet and "<b>" in snippet:
        return marked(cut(snippet, 2 * _LINE))
    if snippet:
        return cut(snippet, _LINE)
    others = [(name, row[name]) for name in hits.columns if name not in meta and row[name]]
    longest = max(others, key=lambda pair: len(pair[1] or ""), default=None)
    if longest and len(longest[1] or "") >= 3 * len(longest[0]):
        return cut(longest[1] or "", _LINE)
    return cut(" · ".join(f"{name} {value}" for name, value in others), _LINE)


def _pair(name: str, value: str | None, view: View, fields: Fields) -> Html:
    if value is None:
        shown: Child = el("i", "null", class_="null")
    elif name in fields.values:
        only = f"search{view.toggled(name, value).address}"
        shown = el("a", value, href=only, data_nav=True, title=f"Filter by {name}")
    else:
        shown = value
    return join(el("dt", name), el("dd", shown))


def pager(view: View, total: int) -> Html:
    """Links to the neighboring pages."""
    pages = min(-(-total // PAGE_ROWS), MOST_PAGES)
    if pages <= 1:
        return Html("")
    return join(
        _turn(view, view.page - 1, "← Previous", "prev", allowed=view.page > 1),
        el("span", f"Page {view.page} of {number(pages)}"),
        _turn(view, view.page + 1, "Next →", "next", allowed=view.page < pages),
    )


def _turn(view: View, page: int, label: str, rel: str, *, allowed: bool) -> Html:
    if not allowed:
        return el("a", label, aria_disabled="true")
    return el("a", label, href=f"search{replace(view, page=page).address}", data_nav=True, rel=rel)


def statement(sql: str, python: str) -> Html:
    """The view as SQL and Python code to copy."""
    return el(
        "details",
        el("summary", "SQL and Python of this view"),
        el("h3", "SQL"),
        copyable(sql, "the SQL"),
        el("h3", "Python"),
        copyable(python, "the Python"),
        class_="card",
    )
