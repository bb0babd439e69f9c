"""Tables, search results and histories as HTML for notebooks, which have their own styles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from indextables.show.markup import Child, Html, el, join
from indextables.show.snippets import marked
from indextables.show.values import cut, number, size, stamp, text

MOST_ROWS = 50
_CELL = 200
_LEFT = "text-align:left;vertical-align:top"
_MARK = "background:#ffe58a;color:#3d2f00;border-radius:2px"
SNIPPET, SCORE = "_snippet", "_score"


def grid(head: Sequence[str], lines: Iterable[Sequence[Child]]) -> Html:
    """A table with left-aligned text."""
    titles = [el("th", name, style=_LEFT) for name in head]
    rows = [el("tr", [el("td", cell, style=_LEFT) for cell in line]) for line in lines]
    return el("table", el("thead", el("tr", titles)), el("tbody", rows))


def table_card(
    title: str, facts: Sequence[tuple[str, str]], columns: Sequence[tuple[str, str, str]]
) -> Html:
    """A table: its facts in a line, then its columns."""
    shown = [join(el("b", value), f" {label}") for label, value in facts]
    line = [join(" · " if at else "", each) for at, each in enumerate(shown)]
    named = [(el("code", name), kind, index) for name, kind, index in columns]
    return el(
        "div",
        el("p", el("b", "IndexTables "), el("code", title)),
        el("p", line),
        grid(("column", "type", "index"), named),
    )


def facts_line(
    version: int, rows: int | None, splits: int, size_bytes: int
) -> list[tuple[str, str]]:
    """The numbers of a table, for a card."""
    return [
        ("version", number(version)),
        ("rows", number(rows)),
        ("splits", number(splits)),
        ("on disk", size(size_bytes)),
    ]


def hits_table(rows: Sequence[Mapping[str, Any]]) -> Html:
    """Rows of a search: the snippet with its words marked first, then the columns."""
    names = list(rows[0]) if rows else []
    others = [name for name in names if name not in (SNIPPET, SCORE)]
    lines = [
        (
            f"{row[SCORE]:.2f}" if isinstance(row.get(SCORE), float) else "",
            Html(marked(row.get(SNIPPET) or "").replace("<mark>", f'<mark style="{_MARK}">')),
            *(cut(text(row[name]), _CELL) for name in others),
        )
        for row in rows[:MOST_ROWS]
    ]
    return grid(("score", "match", *others), lines)


def history_table(entries: Sequence[Mapping[str, Any]]) -> Html:
    """Commits, newest first."""
    lines = [
        (
            number(entry["version"]),
            stamp(entry["timestamp_ms"]),
            entry.get("operation") or "UNKNOWN",
            ", ".join(f"{name} {text(value)}" for name, value in entry["metrics"].items()),
        )
        for entry in entries[:MOST_ROWS]
    ]
    return grid(("version", "time (UTC)", "operation", "metrics"), lines)
