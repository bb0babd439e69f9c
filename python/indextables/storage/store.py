"""A rooted store that reads, writes once, lists and deletes: the engine's client for the log.

Paths are relative to the root and are checked: no path, whoever wrote it into a log, leaves the
root. Everything above this module sees `StorageError` only, with the path in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from indextables import _native
from indextables.errors import error
from indextables.storage.counters import Counters

# `Store.list` hides the builtin inside the class
_Names: TypeAlias = list[str]
_Parts: TypeAlias = list[bytes]
_Found: TypeAlias = list[bytes | None]


@dataclass(frozen=True)
class ObjectMeta:
    """What a listing says about an object."""

    path: str
    size: int
    modified_ms: int
    e_tag: str | None = None


def check_path(path: str) -> str:
    """The path itself, if it stays below the root it is joined to."""
    _native.check_path(path)
    return path


class Store:
    """One table's place in an object store. `native` is its address and options for the engine."""

    def __init__(self, url: str, native: tuple[str, str]) -> None:
        self.url = url
        self._native = native

    def __repr__(self) -> str:
        return f"Store({self.url!r})"

    def native(self) -> tuple[str, str]:
        """Address and options (JSON) for opening it in a task; the options may hold secrets."""
        return self._native

    @cached_property
    def _store(self) -> _native.Store:
        return _native.Store(*self._native)

    @cached_property
    def counters(self) -> Counters:
        """What was asked through this store."""
        return Counters(self._store.counters)

    @property
    def is_remote(self) -> bool:
        """Whether reading costs a round trip."""
        return self._store.is_remote

    def get(self, path: str) -> bytes:
        """The whole object; `FILE_MISSING` when there is none."""
        found = self.find(path)
        if found is None:
            raise error("FILE_MISSING", path=f"{self.url.rstrip('/')}/{path}")
        return found

    def find(self, path: str) -> bytes | None:
        """The whole object, or None when there is none."""
        return self._store.find(path)

    def find_all(self, paths: Sequence[str], parallelism: int) -> _Found:
        """Several objects at the same time, in order."""
        return self._store.find_all(list(paths), parallelism)

    def get_range(self, path: str, start: int, end: int) -> bytes:
        """The bytes from `start` up to, not including, `end`."""
        return self.get_ranges(path, [(start, end)])[0]

    def get_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> _Parts:
        """Several ranges of one object; near ones are fetched together."""
        return self._store.get_ranges(path, list(ranges))

    def put(self, path: str, data: bytes, *, if_absent: bool = False) -> bool:
        """Write an object whole; with `if_absent`, False when there was one already.

        Between processes and machines, one of several writers with `if_absent` wins, and nobody
        ever sees a part of an object. An interrupt waits for the answer: what happened to a commit
        must be known before anybody cleans up after it.
        """
        return self._store.put(path, data, if_absent=if_absent)

    def head(self, path: str) -> ObjectMeta | None:
        """Size and age of an object, or None when there is none."""
        found = self._store.head(path)
        return None if found is None else ObjectMeta(*found)

    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        """Everything below a folder, sorted by path, after a path if one is given."""
        for page in self._store.list(prefix.strip("/"), start_after):
            for meta in page:
                yield ObjectMeta(*meta)

    def children(self, folder: str, after: str = "", until: str = "\x7f") -> _Names:
        """Names directly in a folder, files and folders, with after < name < until, sorted.

        Costs as much as there are names in that range, where the store has no folders.
        """
        folder = folder.strip("/")
        if self._store.has_folders:
            return sorted(name for name in self._store.names(folder) if after < name < until)
        names: dict[str, None] = {}
        # a later start would pass by names that go on with less than a slash: `after.json`
        for meta in self.list(folder, f"{folder}/{after}" if after else None):
            name = meta.path[len(folder) + 1 :].split("/", 1)[0]
            if name >= until:
                break
            if name > after:
                names[name] = None
        return list(names)

    def delete(self, paths: Iterable[str]) -> None:
        """Delete objects; one that is gone already is no failure."""
        for path in paths:
            self._store.delete(path)

    def remove_empty(self, folder: str) -> None:
        """Remove a folder that deletions have emptied; most object stores have no folders."""
        self._store.remove_empty(folder)
