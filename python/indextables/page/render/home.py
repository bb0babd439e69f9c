"""The page of all tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.page.render.layout import home_page
from indextables.show.markup import Html, el
from indextables.show.values import ago, counted, number, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.page.answers.shelf import Entry


def home(found: Sequence[Entry], now_ms: int) -> Html:
    """A card for every table."""
    return home_page(
        el("p", counted(len(found), "table"), class_="quiet"),
        el("ul", [el("li", _card(entry, now_ms)) for entry in found], class_="cards"),
    )


def _card(entry: Entry, now_ms: int) -> Html:
    name = entry.path.rstrip("/").rsplit("/", 1)[-1]
    head = [el("h2", name), el("p", entry.path, class_="quiet path")]
    address = f"t/{entry.number}/search"
    if entry.problem:
        note = el("p", "⚠ ", entry.problem, class_="problem")
        return el("a", head, note, href=address, class_="card")
    facts = [
        ("Rows", number(entry.rows)),
        ("Size", size(entry.size_bytes)),
        ("Splits", number(entry.splits)),
        ("Version", number(entry.version)),
        ("Changed", ago(entry.changed_ms, now_ms)),
    ]
    shown = [el("div", el("dt", label), el("dd", value)) for label, value in facts]
    return el("a", head, el("dl", shown, class_="facts"), href=address, class_="card")
