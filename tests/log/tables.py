"""Tables for tests of the log: in memory or on disk, with a clock that the test sets."""

from __future__ import annotations

import time
import uuid

from tests.log.changes import append

from indextables.config.settings import resolve
from indextables.log import AddFile, open_log
from indextables.log.clock import Clock
from indextables.model.types import parse_schema
from indextables.storage import open_store

SCHEMA = parse_schema(
    '{"type":"struct","fields":[{"name":"id","type":"long"},{"name":"day","type":"date"},'
    '{"name":"n","type":"integer"},{"name":"text","type":"string"}]}'
)
HOUR = 3_600_000


class SetClock(Clock):
    """A clock that only the test advances; sleeping returns at once."""

    def __init__(self) -> None:
        self.now = int(time.time() * 1000)
        self.slept: list[float] = []

    def now_ms(self) -> int:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def jitter(self) -> float:
        return 1.0


def add(name: str, **values) -> AddFile:
    values.setdefault("num_records", 1)
    partition = values.pop("partition", {})
    return AddFile(f"splits/{name}.split", partition, values.pop("size", 10), 1, **values)


def paths(snapshot) -> list[str]:
    return sorted(p[len("splits/") : -len(".split")] for p in snapshot.files()["path"].to_pylist())


class Table:
    """A table in memory with shortcuts to change it."""

    def __init__(self, options=None, partition_columns=(), url=None) -> None:
        self.options = options or {}
        self.url = url or f"memory://{uuid.uuid4()}"
        self.clock = SetClock()
        self.log = self.reopen()
        self.log.create(SCHEMA, partition_columns)

    def reopen(self, **options):
        """Open the same table without cached state."""
        settings = resolve({**self.options, **options})
        return open_log(open_store(self.url), settings, self.clock)

    def append(self, *names, **values):
        adds = [add(name, **values) for name in names]
        return self.log.commit(append(self.log.snapshot(), adds))
