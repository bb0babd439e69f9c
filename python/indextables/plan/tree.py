"""Query trees of the engine, simplified while they are built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

Tree = dict[str, Any]
ALL: Tree = {"type": "all"}
NONE: Tree = {"type": "none"}


# queries that only match rows with a value
_OF_VALUES = {"term", "set", "range", "prefix", "suffix", "contains", "like", "regex"}


def both(args: Sequence[Tree]) -> Tree:
    """Rows in all of the sets."""
    if len(args) == 1:
        return args[0]
    flat = _between(_without_implied(_flatten("and", args, ALL)))
    if NONE in flat:
        return NONE
    return flat[0] if len(flat) == 1 else {"type": "and", "args": flat} if flat else ALL


def either(args: Sequence[Tree]) -> Tree:
    """Rows in any of the sets."""
    if len(args) == 1:
        return args[0]
    flat = _flatten("or", args, NONE)
    if ALL in flat:
        return ALL
    return flat[0] if len(flat) == 1 else {"type": "or", "args": flat} if flat else NONE


def complement(arg: Tree) -> Tree:
    """Rows not in the set."""
    if arg in (ALL, NONE):
        return NONE if arg == ALL else ALL
    return arg["arg"] if arg["type"] == "not" else {"type": "not", "arg": arg}


def _without_implied(args: list[Tree]) -> list[Tree]:
    """Drop the condition that a field has a value if another one implies it."""
    tested = {arg["field"] for arg in args if arg["type"] in _OF_VALUES}
    return [arg for arg in args if arg["type"] != "exists" or arg["field"] not in tested]


def _between(args: list[Tree]) -> list[Tree]:
    """Combine a lower and an upper bound of the same field into one range, read only once."""
    joined: list[Tree] = []
    for arg in args:
        for at, known in enumerate(joined):
            ends = _joined_ends(known, arg)
            if ends is not None:
                joined[at] = {**known, **ends}
                break
        else:
            joined.append(arg)
    return joined


def _joined_ends(one: Tree, other: Tree) -> Tree | None:
    if one["type"] != "range" or other["type"] != "range" or one["field"] != other["field"]:
        return None
    ends: Tree = {}
    for side in ("lower", "upper"):
        if one[side] is not None and other[side] is not None:
            return None
        ends[side] = one[side] or other[side]
    return ends


def _flatten(kind: str, args: Sequence[Tree], neutral: Tree) -> list[Tree]:
    flat: list[Tree] = []
    for arg in args:
        for item in arg["args"] if arg["type"] == kind else [arg]:
            if item != neutral and item not in flat:
                flat.append(item)
    return flat
