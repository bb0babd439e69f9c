"""The context without Spark: settings from a mapping, tables by path, tasks in this process."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from indextables.commands.partition_choice import match_partitions
from indextables.commands.tasks import run_task
from indextables.config.settings import Settings, resolve
from indextables.log import Log, open_log
from indextables.runtime.context import Executor
from indextables.runtime.side_by_side import side_by_side
from indextables.runtime.steps import HostProperties
from indextables.storage import Store, find_location, open_store

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from indextables.runtime.steps import Matches

_HADOOP = "spark.hadoop."


@dataclass
class LocalContext:
    """Provides what operations need, without Spark; `tables` maps names to paths.

    `qualified` says that paths are already resolved.
    """

    session: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, str] = field(default_factory=dict)
    qualified: bool = False
    _logs: dict[str, Log] = field(default_factory=dict)
    _hits: int = 0
    _misses: int = 0

    def settings(self, configuration: Mapping[str, str]) -> Settings:
        """The effective settings for a table with this configuration."""
        return resolve({}, self.session, configuration)

    def log(self, path: str) -> Log:
        """The log at a path, cached."""
        settings = self.settings({})
        store = self._store(path, settings)
        if store.url in self._logs:
            self._hits += 1
        else:
            self._misses += 1
            self._logs[store.url] = open_log(store, settings)
        return self._logs[store.url]

    def locate(self, name: tuple[str, ...]) -> str | None:
        """The path of a named table."""
        return self.tables.get(".".join(name))

    def matches(self, need: Matches) -> list[bool]:
        """For which partitions the predicate of a WHERE clause is true."""
        return match_partitions(need)

    def tasks(
        self,
        kind: str,
        payloads: Sequence[Mapping[str, Any]],
        places: Sequence[str] = (),  # noqa: ARG002 (there is one place)
    ) -> list[dict[str, Any]]:
        """Run the tasks on one thread per core: the engine does the work."""
        threads = os.cpu_count() or 1
        return side_by_side(lambda payload: self.run_task(kind, payload), payloads, threads)

    def run_task(self, kind: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Run one task."""
        return run_task(kind, payload)

    def executors(self) -> list[Executor]:
        """This process."""
        return [Executor("driver", socket.gethostname())]

    def app(self) -> str:
        """An id for this process, which is an application of its own."""
        return f"process-{os.getpid()}"

    def properties(self, places: Sequence[str] = ()) -> list[HostProperties]:
        """The settings given to this door, which are also those of its work."""
        hadoop = {key: value for key, value in self.session.items() if key.startswith(_HADOOP)}
        owners = {
            "spark": {key: value for key, value in self.session.items() if key not in hadoop},
            "hadoop": {key.removeprefix(_HADOOP): value for key, value in hadoop.items()},
        }
        return [HostProperties(socket.gethostname(), owners)] * (1 + len(places))

    def invalidate(self, path: str | None) -> tuple[int, int]:
        """Evict cached logs."""
        before = self._hits, self._misses
        keep = None if path is None else self._store(path, self.settings({})).url
        for url, log in list(self._logs.items()):
            if keep in (None, url):
                log.invalidate()
        return before

    def _store(self, path: str, settings: Settings) -> Store:
        return open_store(path if self.qualified else find_location(path, settings), settings)
