"""Java regular expressions in the engine's syntax, for the part that means the same in both.

Spark evaluates everything else (look-around, back references, flags, word boundaries, class
arithmetic), because a wrong translation would lose rows.
"""

from __future__ import annotations

_LINE_ENDS = "\\n\\r\\x{85}\\x{2028}\\x{2029}"
_DOT = f"[^{_LINE_ENDS}]"
# `$` of Java also matches before a final line terminator
_END = f"(?:\\r\\n|[{_LINE_ENDS}])?\\z"
_CLASSES = {
    "d": "0-9",
    "w": "a-zA-Z0-9_",
    "s": " \\t\\n\\x0B\\f\\r",
}
_CONTROLS = {"n": "\\n", "r": "\\r", "t": "\\t", "f": "\\f"}
_SPECIAL = set("\\.+*?()|[]{}^$")
_PLAIN_ESCAPES = set("\\.+*?()|[]{}^$-/\"'<>=!:;,@#%&~`_ ") - {"<", ">", "`", "'", '"', "_"}
_IN_CLASS_RISKS = set("[&~")


class _Unsafe(Exception):  # noqa: N818 (a signal inside this module, not an error)
    """The pattern is not in the common subset."""


def translate_regex(pattern: str) -> str | None:
    """The engine's pattern that matches exactly what Java's matches; None if not certain."""
    try:
        reader = _Reader(pattern)
        out = reader.alternatives()
    except _Unsafe:
        return None
    return out if reader.at_end else None


class _Reader:
    """A recursive reader of the safe subset."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    @property
    def at_end(self) -> bool:
        return self._at >= len(self._text)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        char = self._peek()
        if not char:
            raise _Unsafe
        self._at += 1
        return char

    def alternatives(self) -> str:
        branches = [self._branch()]
        while self._peek() == "|":
            self._at += 1
            branches.append(self._branch())
        return "|".join(branches)

    def _branch(self) -> str:
        out: list[str] = []
        if self._peek() == "^":
            self._need_top()
            self._at += 1
            out.append("\\A")
        while self._peek() not in ("", "|", ")"):
            if self._peek() == "$":
                out.append(self._dollar())
                break
            out.append(self._atom() + self._quantifier())
        return "".join(out)

    def _need_top(self) -> None:
        if self._depth:
            raise _Unsafe

    def _dollar(self) -> str:
        self._need_top()
        self._at += 1
        if self._peek() not in ("", "|"):
            raise _Unsafe
        return _END

    def _atom(self) -> str:
        char = self._next()
        if char == "(":
            return self._group()
        if char == "[":
            return self._class()
        if char == ".":
            return _DOT
        if char == "\\":
            return self._escape()
        if char in _SPECIAL:
            raise _Unsafe
        return _literal(char)

    def _group(self) -> str:
        if self._peek() == "?":
            self._at += 1
            if self._next() != ":":
                raise _Unsafe
        self._depth += 1
        inner = self.alternatives()
        self._depth -= 1
        if self._next() != ")":
            raise _Unsafe
        return f"(?:{inner})"

    def _escape(self) -> str:
        char = self._next()
        if char in _CLASSES:
            return f"[{_CLASSES[char]}]"
        if char.lower() in _CLASSES:
            return f"[^{_CLASSES[char.lower()]}]"
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char in _PLAIN_ESCAPES:
            return _literal(char)
        raise _Unsafe

    def _class(self) -> str:
        negated = self._peek() == "^"
        if negated:
            self._at += 1
        items: list[str] = []
        while self._peek() != "]" or not items:
            items.append(self._class_item())
        self._at += 1
        return f"[{'^' if negated else ''}{''.join(items)}]"

    def _class_item(self) -> str:
        first = self._class_char()
        if len(first) != 1:
            return first
        if self._peek() != "-" or self._text[self._at + 1 : self._at + 2] in ("]", ""):
            return _class_literal(first)
        self._at += 1
        last = self._class_char()
        if len(last) != 1 or last < first:
            raise _Unsafe
        return f"{_class_literal(first)}-{_class_literal(last)}"

    def _class_char(self) -> str:
        """One character, or (longer) a ready class such as digits."""
        char = self._next()
        if char in _IN_CLASS_RISKS or char == "]":
            raise _Unsafe
        if char != "\\":
            return char
        escaped = self._next()
        if escaped in _CLASSES:
            return _CLASSES[escaped]
        if escaped in _CONTROLS:
            return {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}[escaped]
        if escaped in _PLAIN_ESCAPES:
            return escaped
        raise _Unsafe

    def _quantifier(self) -> str:
        char = self._peek()
        if char in ("*", "+", "?") and char:
            self._at += 1
            out = char
        elif char == "{":
            out = self._counted()
        else:
            return ""
        if self._peek() == "+":
            raise _Unsafe
        if self._peek() == "?":
            self._at += 1
        if self._peek() in ("*", "+", "?", "{") and self._peek():
            raise _Unsafe
        return out

    def _counted(self) -> str:
        end = self._text.find("}", self._at)
        body = self._text[self._at + 1 : end] if end > 0 else ""
        counts = body.split(",")
        most = 1000
        numbers = [int(c) for c in counts if c.isascii() and c.isdigit()]
        if not counts[0].isdigit() or len(counts) > 2 or any(n > most for n in numbers):  # noqa: PLR2004
            raise _Unsafe
        if len(counts) == 2 and counts[1] and (not counts[1].isdigit() or numbers[1] < numbers[0]):  # noqa: PLR2004
            raise _Unsafe
        self._at = end + 1
        return "{" + body + "}"


def _literal(char: str) -> str:
    return "\\" + char if char.isascii() and not char.isalnum() and char not in " _" else char


def _class_literal(char: str) -> str:
    if char in "\n\r\t\f":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}[char]
    return _literal(char)
