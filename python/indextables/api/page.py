"""Serve the page from a program or a notebook; it ends with the program."""

from __future__ import annotations

import atexit
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from indextables.config.option import LEGACY_PREFIXES, PREFIX
from indextables.page.serve import running_site
from indextables.show.markup import el

_HADOOP = ("spark.hadoop.", "fs.")


def is_setting(key: str) -> bool:
    """Whether a key of a session matters to a table; this includes credentials."""
    return key.lower().startswith((PREFIX, *LEGACY_PREFIXES, *_HADOOP))


class Page:
    """A page that is served in the background until `close`, or until the program ends."""

    def __init__(self, locations: Sequence[str], options: Mapping[str, str]) -> None:
        self._running = ExitStack()
        self.url = self._running.enter_context(running_site(locations, options)).url
        atexit.register(self.close)

    def close(self) -> None:
        """End the page."""
        atexit.unregister(self.close)
        self._running.close()

    def __repr__(self) -> str:
        return f"Page({self.url!r})"

    def _repr_html_(self) -> str:
        return el("a", "Open the page of this table", href=self.url, target="_blank")
