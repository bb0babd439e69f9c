"""A rooted store that reads, writes once, lists and deletes: the engine's client for the log.

Paths are relative to the root and are checked: no path in a log can leave the root. Callers see
only `StorageError`, which names the path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from indextables import _native
from indextables.errors import error
from indextables.storage.counters import Counters

# `Store.list` hides the builtin inside the class
_Names: TypeAlias = list[str]
_Parts: TypeAlias = list[bytes]
_Found: TypeAlias = list[bytes | None]
_Metas: TypeAlias = "list[ObjectMeta]"


@dataclass(frozen=True)
class ObjectMeta:
    """An object in a listing."""

    path: str
    size: int
    modified_ms: int
    e_tag: str | None = None
    # of a local file: when it or its attributes last changed; no program can set it
    changed_ns: int | None = None


def check_path(path: str) -> str:
    """Return the path if it stays below the root."""
    _native.check_path(path)
    return path


class Store:
    """The folder of one table in an object store. `native` is the engine's store."""

    def __init__(self, url: str, native: tuple[str, str]) -> None:
        self.url = url
        self._native = native

    def __repr__(self) -> str:
        return f"Store({self.url!r})"

    def native(self) -> tuple[str, str]:
        """Location and options (JSON) for opening it in a task; the options may hold secrets."""
        return self._native

    @cached_property
    def _store(self) -> _native.Store:
        return _native.Store(*self._native)

    @cached_property
    def counters(self) -> Counters:
        """The counters of this store."""
        return Counters(self._store.counters)

    @property
    def is_remote(self) -> bool:
        """Whether reading costs a round trip."""
        return self._store.is_remote

    def get(self, path: str) -> bytes:
        """The whole object; `FILE_MISSING` if there is none."""
        found = self.find(path)
        if found is None:
            raise error("FILE_MISSING", path=f"{self.url.rstrip('/')}/{path}")
        return found

    def find(self, path: str) -> bytes | None:
        """The whole object, or None if there is none."""
        return self._store.find(path)

    def find_all(self, paths: Sequence[str], parallelism: int) -> _Found:
        """Several objects, fetched concurrently, in order."""
        return self._store.find_all(list(paths), parallelism)

    def get_range(self, path: str, start: int, end: int) -> bytes:
        """The bytes from `start` up to, not including, `end`."""
        return self.get_ranges(path, [(start, end)])[0]

    def get_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> _Parts:
        """Several ranges of one object; nearby ones are fetched together."""
        return self._store.get_ranges(path, list(ranges))

    def put(self, path: str, data: bytes, *, if_absent: bool = False) -> bool:
        """Write an object atomically; with `if_absent`, return False if it already exists.

        Exactly one of several writers with `if_absent` wins, across processes and hosts, and
        readers never see part of an object. An interrupt waits for the response: the outcome of a
        commit must be known before anything is cleaned up.
        """
        return self._store.put(path, data, if_absent=if_absent)

    def head(self, path: str) -> ObjectMeta | None:
        """Size and modification time of an object, or None if there is none."""
        found = self._store.head(path)
        return None if found is None else ObjectMeta(*found)

    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        """Everything below a folder, sorted by path, after a path if one is given."""
        for page in self._store.list(prefix.strip("/"), start_after):
            for meta in page:
                yield ObjectMeta(*meta)

    def inside(self, folder: str) -> tuple[_Metas, _Names]:
        """The objects directly in a folder, and the paths of the folders in it, both sorted.

        Without the objects below those folders, however many there are.
        """
        folder = folder.strip("/")
        files, names = self._store.inside(folder)
        found = sorted((ObjectMeta(*meta) for meta in files), key=lambda meta: meta.path)
        return found, sorted(f"{folder}/{name}" if folder else name for name in names)

    @property
    def has_folders(self) -> bool:
        """Whether the store has folders; their listings contain names only."""
        return self._store.has_folders

    @property
    def is_folder(self) -> bool:
        """Whether something is at this location; a local folder may be empty."""
        if not self.is_remote and Path(self._native[0]).is_dir():
            return True
        return bool(self.children(""))

    def children(self, folder: str, after: str = "", until: str = "\x7f") -> _Names:
        """Names of files and folders directly in a folder, with after < name < until, sorted."""
        return [name for name, _ in self.entries(folder, after, until)]

    def entries(
        self, folder: str, after: str = "", until: str = "\x7f"
    ) -> Iterator[tuple[str, ObjectMeta | None]]:
        """The same names, each with the metadata of the object; None for a folder.

        Where the store has no folders, the cost grows with the number of names in that range. Where
        it has folders, there is no metadata.
        """
        folder = folder.strip("/")
        if self._store.has_folders:
            inside = sorted(name for name in self._store.names(folder) if after < name < until)
            yield from ((name, None) for name in inside)
            return
        last = ""
        # a later start would skip names that continue with less than a slash: `after.json`
        for meta in self.list(folder, f"{folder}/{after}" if after else None):
            name, _, below = meta.path[len(folder) + 1 :].partition("/")
            if name >= until:
                break
            if name > after and name != last:
                yield name, None if below else meta
            last = name

    def delete(self, paths: Iterable[str]) -> None:
        """Delete objects; a missing object is not an error."""
        for path in paths:
            self._store.delete(path)

    def remove_empty(self, folder: str) -> None:
        """Remove an empty folder; most object stores have no folders."""
        self._store.remove_empty(folder)
