"""Charts as SVG. Colors and strokes are classes of the style sheet, so both themes fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from indextables.show.markup import Html, el

HEIGHT = 100
_GAP = 0.15
_LEAST = 1.5  # of 100: a single row must be visible


@dataclass(frozen=True)
class Column:
    """One bar of a column chart: its value, its label, and its link."""

    amount: float
    label: str
    address: str = ""
    marked: bool = False


@dataclass(frozen=True)
class Box:
    """A rectangle of a treemap."""

    x: float
    y: float
    width: float
    height: float


def column_chart(columns: Sequence[Column], label: str) -> Html:
    """Bars side by side that fill the width; each has a title."""
    most = max((column.amount for column in columns), default=0) or 1
    bars = [_bar(column, at, most) for at, column in enumerate(columns)]
    return el(
        "svg",
        bars,
        class_="columns",
        viewBox=f"0 0 {max(len(columns), 1)} {HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
        focusable="false",
    )


def _bar(column: Column, at: int, most: float) -> Html:
    height = 0.0 if not column.amount else max(column.amount / most * HEIGHT, _LEAST)
    title = el("title", column.label)
    # the whole height reacts to the pointer, however low the bar is
    area = el("rect", x=at, y=0, width=1, height=HEIGHT, class_="area")
    bar = el(
        "rect",
        x=round(at + _GAP / 2, 3),
        y=round(HEIGHT - height, 2),
        width=1 - _GAP,
        height=round(height, 2),
        class_="bar marked" if column.marked else "bar",
    )
    if not column.address or not column.amount:
        return el("g", title, area, bar)
    return el("a", title, area, bar, href=column.address, aria_label=column.label, data_nav=True)


def share_bar(share: float, name: str = "share") -> Html:
    """A horizontal bar that is filled to a share of one."""
    width = round(min(max(share, 0.0), 1.0) * 100, 2)
    filled = el("rect", x=0, y=0, width=width, height=4, class_="bar")
    return el(
        "svg",
        el("rect", x=0, y=0, width=100, height=4, class_="track"),
        filled,
        class_=name,
        viewBox="0 0 100 4",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def treemap(sizes: Sequence[float], width: float, height: float) -> list[Box]:
    """Rectangles of these sizes, largest first, as square as they fit (squarified treemap)."""
    total = sum(sizes)
    if total <= 0:
        return []
    areas = [each / total * width * height for each in sizes]
    boxes: list[Box] = []
    x, y = 0.0, 0.0
    while len(boxes) < len(areas):
        row = _row(areas[len(boxes) :], min(width, height))
        depth = sum(row) / (min(width, height) or 1)
        upright = width >= height
        at = y if upright else x
        for area in row:
            length = area / (depth or 1)
            boxes.append(Box(x, at, depth, length) if upright else Box(at, y, length, depth))
            at += length
        if upright:
            x, width = x + depth, max(width - depth, 0.0)
        else:
            y, height = y + depth, max(height - depth, 0.0)
    return boxes


def _row(areas: Sequence[float], side: float) -> list[float]:
    """The areas that share a row: as many as make it more square."""
    row = [areas[0]]
    for area in areas[1:]:
        if _worst([*row, area], side) > _worst(row, side):
            break
        row.append(area)
    return row


def _worst(row: Sequence[float], side: float) -> float:
    total, low, high = sum(row), min(row), max(row)
    if not (low and total and side):
        return float("inf")
    return max(side * side * high / (total * total), total * total / (side * side * low))
