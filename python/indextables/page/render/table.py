"""Facts about a table: columns, splits, partitions, properties, protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.page.answers.facts import MOST_PARTITIONS, MOST_SPLITS
from indextables.show.charts import Box, share_bar, treemap
from indextables.show.markup import Child, Html, el, join
from indextables.show.values import counted, cut, number, percent, size, stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from indextables.page.answers.facts import Components, SplitFacts, TableFacts

_WIDTH, _HEIGHT = 1000.0, 300.0
_LABEL_WIDTH, _LABEL_HEIGHT, _CHARACTER = 64, 26, 7.2
_HUES = 6


def table_view(facts: TableFacts) -> Html:
    """The whole view; sizes of components are loaded later."""
    keep = f"?version={facts.version}" if facts.version != facts.newest else ""
    return join(
        _numbers(facts),
        _section("Columns", _columns(facts)),
        _section(
            "Index components",
            el("div", el("p", "Reading footers…", class_="quiet"),
               data_load=f"components.json{keep}", id="components"),
        ),
        _section(f"Splits ({number(len(facts.splits))})", splits_map(facts), _split_table(facts)),
        _section("Partitions", _partitions(facts)) if facts.partition_columns else None,
        _section("Properties", _pairs(facts.properties) or el("p", "None.", class_="quiet")),
        _section("Protocol", _protocol(facts)),
    )  # fmt: skip


def _numbers(facts: TableFacts) -> Html:
    shown = [
        ("Rows", number(facts.rows)),
        ("Deleted rows", number(facts.deleted)),
        ("Size", size(facts.size)),
        ("Splits", number(len(facts.splits))),
        ("Version", number(facts.version)),
        ("Committed (UTC)", stamp(facts.timestamp_ms)),
        ("Created (UTC)", stamp(facts.created_ms)),
    ]
    return el(
        "dl",
        [el("div", el("dt", label), el("dd", value)) for label, value in shown],
        class_="facts wide",
    )


def _section(title: str, *body: Child) -> Html:
    return el("section", el("h2", title), body, class_="card")


def _columns(facts: TableFacts) -> Html:
    lines = [
        (
            el("code", column.name),
            el("span", cut(column.type, 60), title=column.type),
            el("span", column.index, class_="tag"),
            column.tokenizer,
            ", ".join(column.flags),
        )
        for column in facts.columns
    ]
    return grid(("Column", "Type", "Index", "Tokenizer", "Kept"), lines)


def grid(
    head: Sequence[str], lines: Iterable[Sequence[Child]], numeric: Sequence[int] = ()
) -> Html:
    """A table that scrolls horizontally if it is wider than the screen."""
    shown = [
        el("th", name, scope="col", class_="number" if at in numeric else None)
        for at, name in enumerate(head)
    ]
    rows = [
        el(
            "tr",
            [
                el("td", cell, class_="number" if at in numeric else None)
                for at, cell in enumerate(line)
            ],
        )
        for line in lines
    ]
    table = el("table", el("thead", el("tr", shown)), el("tbody", rows))
    return el("div", table, class_="scroll", tabindex=0, role="region", aria_label=head[0])


def components_view(found: Components) -> Html:
    """Bytes by component, and by column where possible."""
    total = sum(amount for _, amount in found.parts) or 1
    parts = [
        (name, share_bar(amount / total, "wide-share"), size(amount), percent(amount / total))
        for name, amount in found.parts
    ]
    columns = [
        (el("code", name), ", ".join(f"{kind} {size(amount)}" for kind, amount in kinds),
         size(sum(amount for _, amount in kinds)))
        for name, kinds in sorted(found.columns, key=lambda c: -sum(a for _, a in c[1]))
    ]  # fmt: skip
    of = "" if found.splits == found.of else f" of the {found.splits} largest of {found.of} splits"
    return join(
        el("p", f"{size(total)} in all{of}.", class_="quiet"),
        grid(("Component", "Share", "Bytes", ""), parts, (2, 3)),
        el("h3", "By column"),
        grid(("Column", "Components", "Bytes"), columns, (2,)) if columns else None,
    )


def splits_map(facts: TableFacts) -> Html:
    """Splits as a treemap: area is size, hatched area is the share of deleted rows."""
    shown = facts.splits[:MOST_SPLITS]
    if not shown:
        return el("p", "The table has no splits.", class_="quiet")
    hues = {name: at % _HUES for at, name in enumerate(sorted({s.partition for s in shown}))}
    boxes = treemap([max(split.size, 1) for split in shown], _WIDTH, _HEIGHT)
    drawn = [_tile(split, box, hues) for split, box in zip(shown, boxes, strict=True)]
    left = len(facts.splits) - len(shown)
    return el(
        "figure",
        el(
            "svg",
            _HATCH,
            drawn,
            class_="treemap",
            viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}",
            role="img",
            aria_label=f"{counted(len(shown), 'split')} by size",
        ),
        el(
            "figcaption",
            "Area is size, color is the partition, hatching is the share of deleted rows. ",
            f"{counted(left, 'smaller split')} not drawn." if left else None,
            class_="quiet",
        ),
    )


_HATCH = el(
    "defs",
    el(
        "pattern",
        el("path", d="M0 6L6 0", class_="hatch"),
        id="hatch",
        width=6,
        height=6,
        patternUnits="userSpaceOnUse",
    ),
)


def _tile(split: SplitFacts, box: Box, hues: dict[str, int]) -> Html:
    share = split.deleted_share
    label = _describe(split)
    x, y = round(box.x + 1, 1), round(box.y + 1, 1)
    width, height = round(max(box.width - 2, 0.5), 1), round(max(box.height - 2, 0.5), 1)
    deleted = round(height * share, 1)
    text = split.partition or split.path.rsplit("/", 1)[-1].removeprefix("split-")
    fits = width > _LABEL_WIDTH and height > _LABEL_HEIGHT
    return el(
        "g",
        el("title", label),
        el("rect", x=x, y=y, width=width, height=height, rx=3,
           class_=f"tile hue-{hues[split.partition]}"),
        el("rect", x=x, y=round(y + height - deleted, 1), width=width, height=deleted, rx=3,
           fill="url(#hatch)") if deleted else None,
        el("text", cut(text, int(width / _CHARACTER)), x=x + 6, y=y + 16) if fits else None,
        el("text", size(split.size), x=x + 6, y=y + 31, class_="small")
        if fits and height > 2 * _LABEL_HEIGHT - 14 else None,
    )  # fmt: skip


def _describe(split: SplitFacts) -> str:
    deleted = f", {number(split.deleted)} of them deleted" if split.deleted else ""
    rows = "rows unknown" if split.rows is None else f"{number(split.rows)} rows{deleted}"
    return f"{split.path}: {size(split.size)}, {rows}"


def _split_table(facts: TableFacts) -> Html:
    lines = [
        (
            el("code", cut(split.path, 80), title=split.path),
            size(split.size),
            number(split.rows),
            number(split.deleted),
            percent(split.deleted_share),
        )
        for split in facts.splits[:MOST_SPLITS]
    ]
    return el(
        "details",
        el("summary", "As a list"),
        grid(("Split", "Size", "Rows", "Deleted", "Share"), lines, (1, 2, 3, 4)),
    )


def _partitions(facts: TableFacts) -> Html:
    lines = [
        (el("code", each.name), number(each.splits), number(each.rows), size(each.size),
         number(each.deleted))
        for each in facts.partitions[:MOST_PARTITIONS]
    ]  # fmt: skip
    left = len(facts.partitions) - len(lines)
    return join(
        el("p", "By ", ", ".join(facts.partition_columns), ".", class_="quiet"),
        grid(("Partition", "Splits", "Rows", "Size", "Deleted rows"), lines, (1, 2, 3, 4)),
        el("p", f"and {counted(left, 'more partition')}", class_="quiet") if left > 0 else None,
    )


def _pairs(pairs: Sequence[tuple[str, str]]) -> Html | None:
    lines = [(el("code", name), cut(value, 400)) for name, value in pairs]
    return grid(("Property", "Value"), lines) if lines else None


def _protocol(facts: TableFacts) -> Html:
    features = [el("span", name, class_="tag") for name in facts.features]
    return join(
        el("p", f"Reader version {facts.reader}, writer version {facts.writer}."),
        el("p", features) if features else el("p", "No features.", class_="quiet"),
    )
