"""Query trees of the engine, built with the obvious simplified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

Tree = dict[str, Any]
ALL: Tree = {"type": "all"}
NONE: Tree = {"type": "none"}


def both(args: Sequence[Tree]) -> Tree:
    """Rows in all of the sets."""
    flat = _flatten("and", args, ALL)
    if NONE in flat:
        return NONE
    return flat[0] if len(flat) == 1 else {"type": "and", "args": flat} if flat else ALL


def either(args: Sequence[Tree]) -> Tree:
    """Rows in any of the sets."""
    flat = _flatten("or", args, NONE)
    if ALL in flat:
        return ALL
    return flat[0] if len(flat) == 1 else {"type": "or", "args": flat} if flat else NONE


def complement(arg: Tree) -> Tree:
    """Rows not in the set."""
    if arg in (ALL, NONE):
        return NONE if arg == ALL else ALL
    return arg["arg"] if arg["type"] == "not" else {"type": "not", "arg": arg}


def _flatten(kind: str, args: Sequence[Tree], neutral: Tree) -> list[Tree]:
    flat: list[Tree] = []
    for arg in args:
        for item in arg["args"] if arg["type"] == kind else [arg]:
            if item != neutral and item not in flat:
                flat.append(item)
    return flat
