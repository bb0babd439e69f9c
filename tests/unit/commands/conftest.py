"""Tables without the engine: their splits are files of arbitrary bytes."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from indextables.commands.partition_choice import match_partitions
from indextables.config.settings import resolve
from indextables.log import open_log
from indextables.log.actions import AddFile
from indextables.log.transaction import Operation, Transaction
from indextables.model.types import Atomic, Field, Struct
from indextables.read.table import open_table
from indextables.storage import open_store

SCHEMA = Struct(
    (
        Field("id", Atomic("long")),
        Field("message", Atomic("string")),
        Field("day", Atomic("date")),
        Field("hour", Atomic("integer")),
    )
)
HOUR = 3_600_000


@dataclass
class Clock:
    """A clock that advances by one millisecond per reading, and by sleeping."""

    ms: int = field(default_factory=lambda: int(time.time() * 1000))

    def now_ms(self):
        self.ms += 1
        return self.ms

    def sleep(self, seconds):
        self.ms += int(seconds * 1000)

    def jitter(self):
        return 1.0


@dataclass
class Door:
    """A context over one folder; `merge` replaces the engine's merge."""

    root: Path
    session: dict[str, str] = field(default_factory=dict)
    clock: Clock = field(default_factory=Clock)
    merge: Any = None
    logs_held: dict[str, Any] = field(default_factory=dict)

    def settings(self, configuration):
        return resolve({}, self.session, configuration)

    def log(self, path):
        if path not in self.logs_held:
            settings = self.settings({})
            self.logs_held[path] = open_log(open_store(path, settings), settings, self.clock)
        return self.logs_held[path]

    def logs(self):
        return list(self.logs_held.values())

    def locate(self, name):
        return None

    def matches(self, need):
        return match_partitions(need)

    def tasks(self, kind, payloads, places=()):
        return [self.merge(payload) for payload in payloads]

    def invalidate(self, path):
        return 0, 0


@dataclass
class Made:
    """A table under test."""

    door: Door
    path: str

    @property
    def log(self):
        return self.door.log(self.path)

    def open(self):
        return open_table(self.path, self.door)

    def put(self, name, size=10, *, day="2024-01-01", hour="1", age_hours=0.0, **facts):
        """Put a split into the store and return its action."""
        given = {"day": day, "hour": hour}
        columns = self.log.snapshot().partition_columns
        values = {key: given[key] for key in columns if given[key] is not None}
        folder = "".join(f"{key}={value}/" for key, value in values.items())
        path = f"{folder}splits/split-{name}.split"
        self.write(path, size, age_hours)
        return AddFile(
            path,
            values,
            size,
            self.door.clock.now_ms() - int(age_hours * HOUR),
            num_records=facts.pop("num_records", 5),
            doc_mapping_json='[{"name":"id","type":"i64"}]',
            **facts,
        )

    def write(self, path, size=1, age_hours=0.0):
        file = Path(self.path) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * size)
        at = self.door.clock.ms / 1000 - age_hours * 3600
        os.utime(file, (at, at))

    def commit(self, *actions, operation=Operation.APPEND):
        version = self.log.snapshot().version
        return self.log.commit(Transaction(operation, version, tuple(actions))).version

    def age(self, hours):
        """Set the age of every file of the log."""
        at = self.door.clock.ms / 1000 - hours * 3600
        for file in (Path(self.path) / "_transaction_log").rglob("*"):
            if file.is_file():
                os.utime(file, (at, at))

    def paths(self):
        return sorted(self.log.snapshot().files()["path"].to_pylist())

    def stored(self):
        root = Path(self.path)
        return sorted(str(f.relative_to(root)) for f in root.rglob("*") if f.is_file())


@pytest.fixture
def make(tmp_path):
    """Make tables; `session` holds the session settings."""

    def _make(partition_columns=("day", "hour"), session=None, name="table"):
        door = Door(tmp_path, dict(session or {}))
        made = Made(door, str(tmp_path / name))
        made.log.create(SCHEMA, tuple(partition_columns))
        return made

    return _make
