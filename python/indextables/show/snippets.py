"""Snippets of search results: the marks of the engine become elements, all else is text."""

from __future__ import annotations

import re

from indextables.show.markup import Html, el, join

_MARKED = re.compile(r"<b>(.*?)</b>", re.DOTALL)


def marked(snippet: str) -> Html:
    """A snippet with `<mark>` around the words that matched."""
    # odd pieces stood between marks; text that happens to look like a mark is marked, not more
    pieces = _MARKED.split(snippet)
    return join(el("mark", piece) if at % 2 else piece for at, piece in enumerate(pieces))


def spans(snippet: str) -> list[tuple[str, bool]]:
    """The pieces of a snippet, each with whether it matched."""
    pieces = _MARKED.split(snippet)
    return [(piece, bool(at % 2)) for at, piece in enumerate(pieces) if piece]
