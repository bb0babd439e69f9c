"""The history of a table as a timeline, and the differences between two versions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from indextables.page.answers.versions import CHANGE_TYPE, MOST_VERSIONS
from indextables.page.render.table import grid
from indextables.show.charts import share_bar
from indextables.show.markup import Child, Html, el, join
from indextables.show.values import UNKNOWN, ago, counted, cut, number, plain, size, stamp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.page.answers.versions import Difference, VersionFacts

_SIGNS = {"insert": "+", "update_postimage": "+", "delete": "−", "update_preimage": "−"}  # noqa: RUF001


def history_view(
    found: Sequence[VersionFacts], now_ms: int, chosen: tuple[int, int] | None, compared: Child
) -> Html:
    """The timeline, newest first, with the choice of two versions to compare above it."""
    if not found:
        return el("p", "The log keeps no versions.", class_="quiet")
    most = max((v.added.size + v.removed.size for v in found), default=0) or 1
    more = len(found) == MOST_VERSIONS and found[-1].version > 0
    return join(
        _choice(found, chosen),
        el("div", compared, id="difference"),
        el("ol", [_version(each, most, now_ms) for each in found], class_="timeline"),
        el("p", f"The newest {MOST_VERSIONS} versions.", class_="quiet") if more else None,
    )


def _choice(found: Sequence[VersionFacts], chosen: tuple[int, int] | None) -> Html:
    numbers = [each.version for each in found]

    def select(name: str, label: str, chosen: int) -> Html:
        options = [el("option", v, value=v, selected=v == chosen) for v in numbers]
        return el("label", f"{label} ", el("select", options, name=name))

    first, last = chosen or (numbers[min(1, len(numbers) - 1)], numbers[0])
    return el(
        "form",
        select("from", "Compare version", first),
        select("to", "with", last),
        el("button", "Show the difference", type="submit"),
        action="history",
        class_="range card",
    )


def _version(each: VersionFacts, most: int, now_ms: int) -> Html:
    changes = [
        _amount("+", each.added.splits, each.added.rows, each.added.size, "added"),
        _amount("−", each.removed.splits, 0, each.removed.size, "removed"),  # noqa: RUF001
        el("span", f"{counted(each.deleted_rows, 'row')} deleted", class_="removed")
        if each.deleted_rows
        else None,
        [el("span", note) for note in each.notes],
    ]
    parameters = json.dumps(dict(each.parameters), default=plain, ensure_ascii=False)
    before = each.version - 1
    return el(
        "li",
        el("span", class_="dot", aria_hidden="true"),
        el(
            "div",
            el(
                "p",
                el("strong", f"Version {each.version}"),
                el("span", each.operation, class_="tag"),
                el("span", ago(each.timestamp_ms, now_ms), class_="quiet",
                   title=f"{stamp(each.timestamp_ms)} UTC"),
                class_="head",
            ),
            el("p", changes, class_="changes"),
            share_bar((each.added.size + each.removed.size) / most, "wide-share"),
            el("p", el("code", cut(parameters, 300)), class_="quiet") if each.parameters else None,
            el(
                "p",
                el("a", "Search this version", href=f"search?version={each.version}"),
                el("a", "Look at it", href=f"table?version={each.version}"),
                el("a", "What changed", href=f"history?from={before}&to={each.version}")
                if before >= 0
                else None,
                el("span", each.engine, class_="quiet"),
                class_="links",
            ),
        ),
        id=f"v{each.version}",
    )  # fmt: skip


def _amount(sign: str, splits: int, rows: int, amount: int, name: str) -> Html | None:
    if not splits:
        return None
    parts = [counted(splits, "split"), *([counted(rows, "row")] if rows else []), size(amount)]
    return el("span", f"{sign} {', '.join(parts)} {name}", class_=name)


def difference_view(found: Difference) -> Html:
    """Two versions side by side, and some of the inserted and deleted rows."""
    old, new = found.before, found.after
    numbers = [
        ("Rows", number(old.rows), number(new.rows), _delta(old.rows, new.rows)),
        ("Splits", number(len(old.splits)), number(len(new.splits)),
         _delta(len(old.splits), len(new.splits))),
        ("Size", size(old.size), size(new.size), ""),
        ("Deleted rows", number(old.deleted), number(new.deleted),
         _delta(old.deleted, new.deleted)),
        ("Committed", stamp(old.timestamp_ms), stamp(new.timestamp_ms), ""),
    ]  # fmt: skip
    lines = [
        f"{counted(sums.splits, 'split')} {verb} ({counted(sums.rows, 'row')}, {size(sums.size)})"
        for sums, verb in ((found.added, "added"), (found.removed, "removed"))
        if sums.splits
    ]
    if found.newly_deleted:
        lines.append(f"{counted(found.newly_deleted, 'row')} more deleted in splits that stayed")
    head = ("", f"Version {old.version}", f"Version {new.version}", "Change")
    return el(
        "section",
        el("h2", f"From version {old.version} to {new.version}"),
        grid(head, numbers, (1, 2, 3)),
        el("ul", [el("li", line) for line in lines]),
        _changed("Columns", found.columns),
        _changed("Properties", found.properties),
        _rows(found),
        class_="card difference",
    )


def _delta(old: int | None, new: int | None) -> str:
    if old is None or new is None or old == new:
        return ""
    return f"{new - old:+,}"


def _changed(title: str, found: Sequence[tuple[str, str, str]]) -> Html | None:
    if not found:
        return None
    lines = [
        (el("code", name), cut(old, 200) or UNKNOWN, cut(new, 200) or UNKNOWN)
        for name, old, new in found
    ]
    return join(el("h3", title), grid(("Name", "Before", "After"), lines))


def _rows(found: Difference) -> Html | None:
    if not found.rows:
        return el("p", found.note or "No row changed.", class_="quiet")
    names = [name for name in found.row_columns if name != CHANGE_TYPE]
    lines = [
        (
            el("span", f"{_SIGNS.get(row[CHANGE_TYPE] or '', '')} {row[CHANGE_TYPE]}",
               class_="removed" if _SIGNS.get(row[CHANGE_TYPE] or "") != "+" else "added"),
            *(cut(row[name] or "", 80) if row[name] is not None else el("i", "null")
              for name in names),
        )
        for row in found.rows
    ]  # fmt: skip
    return join(
        el("h3", "Rows"),
        el("p", found.note, class_="quiet") if found.note else None,
        grid(("Change", *names), lines),
    )
