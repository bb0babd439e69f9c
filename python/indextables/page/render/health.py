"""The health of a table: checks, and statements to copy. The page runs none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.page.answers.health import Level
from indextables.page.render.layout import copyable
from indextables.show.markup import Html, el, join

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.page.answers.health import Finding

_SIGNS = {Level.GOOD: ("✓", "Good"), Level.NOTE: ("i", "Note"), Level.WARNING: ("!", "Attention")}


def health_view(found: Sequence[Finding]) -> Html:
    """All checks; the check for orphans is loaded after the others."""
    bad = sum(each.level is Level.WARNING for each in found)
    summary = "Nothing needs attention." if not bad else f"{bad} of {len(found)} need attention."
    waiting = el(
        "li",
        el("p", "Looking for files that nothing refers to…", class_="quiet"),
        class_="finding",
        data_load="orphans.json",
        id="orphans",
    )
    return join(
        el("p", summary, " Statements are for you to run; this page changes nothing.",
           class_="quiet"),
        el("ul", [el("li", finding_view(each), class_="finding") for each in found], waiting,
           class_="findings"),
    )  # fmt: skip


def finding_view(found: Finding) -> Html:
    """One check with its result, and the statement that fixes it."""
    sign, word = _SIGNS[found.level]
    return join(
        el(
            "h2",
            el("span", sign, class_=f"sign {found.level}", aria_hidden="true"),
            found.check,
            el("span", word, class_=f"verdict {found.level}"),
        ),
        el("p", found.text),
        copyable(found.statement, f"the statement for {found.check}") if found.statement else None,
    )
