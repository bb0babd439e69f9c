"""LIKE patterns, split as Spark does."""

from __future__ import annotations

import re

ANY = "%"
ONE = "_"
# the only characters beyond ASCII whose lower case contains an ASCII letter: the Kelvin sign, and
# the capital I with a dot, which becomes an i and a combining dot
_KELVIN, _DOTTED = "\u212a", "\u0130"


def simplify_like(pattern: str, escape: str) -> tuple[str, str] | None:
    """A LIKE pattern as (kind, text): equals, prefix, suffix, contains, or like with backslashes.

    None if Spark rejects the pattern, so that Spark reports the error.
    """
    parts = _parts(pattern, escape)
    if parts is None:
        return None
    wild = [index for index, (_, special) in enumerate(parts) if special]
    text = "".join(char for char, special in parts if not special)
    if not wild:
        return "equals", text
    if all(parts[index][0] == ANY for index in wild):
        ends = _collapse_ends(parts, wild)
        if ends is not None:
            return ends, text
    return "like", "".join(_written(char, special) for char, special in parts)


def _parts(pattern: str, escape: str) -> list[tuple[str, bool]] | None:
    parts: list[tuple[str, bool]] = []
    chars = iter(pattern)
    for char in chars:
        if char == escape:
            following = next(chars, None)
            if following is None or following not in (ANY, ONE, escape):
                return None
            parts.append((following, False))
        else:
            parts.append((char, char in (ANY, ONE)))
    return parts


def _collapse_ends(parts: list[tuple[str, bool]], wild: list[int]) -> str | None:
    """The simple kind of a pattern that has `%` only at its ends."""
    first = next((i for i, (_, special) in enumerate(parts) if not special), len(parts))
    last = next((i for i in reversed(range(len(parts))) if not parts[i][1]), -1)
    if any(first < index < last for index in wild):
        return None
    if last < 0:
        return "contains"
    leading, trailing = first > 0, last < len(parts) - 1
    if leading and trailing:
        return "contains"
    return "suffix" if leading else "prefix"


def _written(char: str, special: bool) -> str:  # noqa: FBT001
    return char if special or char not in (ANY, ONE, "\\") else "\\" + char


def in_any_case(kind: str, text: str) -> str | None:
    """A regular expression for values whose lower case matches an ASCII pattern of `simplify_like`.

    It is in the engine's syntax. None if the text is empty, not ASCII, not in lower case, or has a
    `_`, because the lower case of one character may be two.
    """
    if not text.isascii() or text != text.lower():
        return None
    runs = _runs(kind, text)
    if runs is None or not any(runs):
        return None
    start, end = "\\A" if runs[0] else "", "\\z" if runs[-1] else ""
    last = len(runs) - 1
    shown = [_run(run, open_end=at < last) for at, run in enumerate(runs) if run]
    return ("(?s)" if len(shown) > 1 else "") + start + ".*".join(shown) + end


def _runs(kind: str, text: str) -> list[str] | None:
    """The strings between the `%` of a pattern; none if it has a `_`."""
    if kind != "like":
        return {
            "equals": [text],
            "prefix": [text, ""],
            "suffix": ["", text],
            "contains": ["", text, ""],
        }[kind]
    runs = [""]
    for char, special in _parts(text, "\\") or [(ONE, True)]:
        if special and char == ONE:
            return None
        if special:
            runs.append("")
        else:
            runs[-1] += char
    return runs


def _run(text: str, *, open_end: bool) -> str:
    chars = [_in_any_case(char) for char in text]
    if text[-1] == "i" and open_end:
        chars[-1] = f"[iI{_DOTTED}]"
    return "".join(chars)


def _in_any_case(char: str) -> str:
    if not char.isalpha():
        return char if char.isalnum() else re.escape(char)
    return f"[{char}{char.upper()}{_KELVIN if char == 'k' else ''}]"
