"""HTML that data cannot break: everything that is not `Html` is escaped.

>>> str(el("b", "<i>", title='"'))
'<b title="&quot;">&lt;i&gt;</b>'
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TypeAlias, Union

_VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})


class Html(str):
    """A string of HTML that needs no escaping; created by `el` and `join` only."""

    __slots__ = ()


Child: TypeAlias = Union[str, int, float, "Iterable[Child]", None]
Attribute: TypeAlias = str | int | float | bool | None


def el(tag: str, /, *children: Child, **attributes: Attribute) -> Html:
    """An element. `class_` is the attribute class, `data_x` is data-x; False and None are left out.

    Children that are None are left out too; iterables are flattened.
    """
    given = "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in _VOID:
        return Html(f"<{tag}{given}>")
    return Html(f"<{tag}{given}>{join(*children)}</{tag}>")


def join(*children: Child) -> Html:
    """The concatenated children, escaped if they are not HTML."""
    return Html("".join(_text(child) for child in children))


def _text(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, str | int | float):
        return escape(str(child))
    return "".join(_text(each) for each in child)


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    shown = name.rstrip("_").replace("_", "-")
    return f" {shown}" if value is True else f' {shown}="{escape(str(value))}"'
