"""Snippets of search results: the marks of the engine become elements, everything else is text."""

from __future__ import annotations

import re

from indextables.show.markup import Html, el, join

_MARKED = re.compile(r"<b>(.*?)</b>", re.DOTALL)


def marked(snippet: str) -> Html:
    """A snippet with `<mark>` around the words that matched."""
    # odd pieces are between marks; text that looks like a mark is only marked
    pieces = _MARKED.split(snippet)
    return join(el("mark", piece) if at % 2 else piece for at, piece in enumerate(pieces))


def spans(snippet: str) -> list[tuple[str, bool]]:
    """The pieces of a snippet, each with whether it matched."""
    pieces = _MARKED.split(snippet)
    return [(piece, bool(at % 2)) for at, piece in enumerate(pieces) if piece]
