"""The tables of a page: given one by one, or found in folders."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.api.local import Table
from indextables.config.settings import resolve
from indextables.errors import IndexTablesError, StorageError, error
from indextables.log import open_log
from indextables.log.names import FOLDER
from indextables.read.table import OpenTable, open_for_reading
from indextables.storage import find_location, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from indextables.log import Log
    from indextables.storage import Store

MOST_TABLES = 200
# sorts behind every path below a folder
_LAST = "/\U0010ffff"


@dataclass(frozen=True)
class Entry:
    """A table in a list: its facts, or why they are unknown."""

    number: int
    path: str
    version: int | None = None
    rows: int | None = None
    splits: int = 0
    size_bytes: int = 0
    changed_ms: int = 0
    problem: str = ""


class Shelf:
    """The tables of the given locations; each keeps its number for the life of the process."""

    def __init__(self, locations: Sequence[str], options: Mapping[str, str]) -> None:
        self.locations = tuple(locations)
        self.options = dict(options)
        self._paths: list[str] = []
        self._logs: dict[str, Log] = {}
        self._lock = threading.Lock()

    def entries(self) -> list[Entry]:
        """All tables with their main facts; folders are listed again."""
        found = [path for location in self.locations for path in self._find(location)]
        with self._lock:
            self._paths += [path for path in dict.fromkeys(found) if path not in self._paths]
        return [self._entry(self._paths.index(path)) for path in dict.fromkeys(found)]

    def check(self) -> None:
        """Raise an error for a location without a table."""
        for location in self.locations:
            next(self._find(location))

    def path(self, number: int) -> str:
        """The location of a table."""
        if not self._paths:
            self.entries()
        if not 0 <= number < len(self._paths):
            raise error("TABLE_NOT_FOUND", path=f"table {number} of this page")
        return self._paths[number]

    def open(self, number: int, version: int | None = None) -> OpenTable:
        """A table at a version, by default the newest."""
        log = self._log(self.path(number))
        snapshot = log.snapshot(version)
        settings = resolve(self.options, table=snapshot.metadata.configuration)
        return open_for_reading(log, snapshot, settings, past=version is not None)

    def _find(self, location: str) -> Iterator[str]:
        """The location itself if a table is there, else the tables directly below it."""
        path = location.rstrip("/") or location
        store = self._store(path)
        if _has_log(store, ""):
            yield store.url
            return
        found = 0
        for name in _folders(store):
            if _has_log(store, f"{name}/"):
                found += 1
                yield f"{store.url.rstrip('/')}/{name}"
            if found == MOST_TABLES:
                return
        if not found:
            raise error("TABLE_NOT_FOUND", path=store.url)

    def _entry(self, number: int) -> Entry:
        path = self._paths[number]
        try:
            table = self.open(number)
            looked = Table(table)
            return Entry(
                number,
                path,
                looked.version,
                looked.num_rows,
                looked.num_files,
                looked.size_bytes,
                table.snapshot.timestamp_ms,
            )
        except IndexTablesError as failure:
            return Entry(number, path, problem=str(failure))

    def _log(self, path: str) -> Log:
        with self._lock:
            if path not in self._logs:
                self._logs[path] = open_log(self._store(path), resolve(self.options))
            return self._logs[path]

    def _store(self, path: str) -> Store:
        settings = resolve(self.options)
        return open_store(find_location(path, settings), settings)


def _has_log(store: Store, folder: str) -> bool:
    if not store.is_remote:
        try:
            return bool(store.children(f"{folder}{FOLDER}"))
        except StorageError:  # a file, or a folder of another user
            return False
    return next(store.list(f"{folder}{FOLDER}"), None) is not None


def _folders(store: Store) -> Iterator[str]:
    """The subfolders of a folder; a remote store is listed by prefix, not file by file."""
    if not store.is_remote:
        yield from store.children("")
        return
    after: str | None = None
    while (first := next(store.list("", after), None)) is not None:
        name, _, inside = first.path.partition("/")
        if inside:
            yield name
        after = name + _LAST if inside else name
