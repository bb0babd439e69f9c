"""The companion of a generated source: build, kill, merge, drop and query it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.companions.questions import draw, message_column, open_index
from tests.companions.rows import Row
from tests.companions.sources import History

from indextables.errors import IndexTablesError
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext
from indextables.storage.store import Store

INDEXED = {"companion.readVersion": "indexed"}
# the errors a query may raise when files of its version are gone
LOST = ("COMPANION_FILE_MISSING", "COMPANION_FILE_CHANGED", "COMPANION_SOURCE")


class Killed(BaseException):
    """The process was killed: no clean-up may run."""


@contextmanager
def killed_at(step: int, *, before: bool) -> Iterator[None]:
    """Kill at the n-th write to the store, before or after it arrives."""
    whole, left = Store.put, [step]

    def put(store: Store, path: str, data: bytes, **options: Any) -> bool:
        left[0] -= 1
        if left[0] < 0 and before:
            raise Killed
        written = whole(store, path, data, **options)
        if left[0] < 0:
            raise Killed
        return written

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "put", put)
        yield


class Index:
    """An index and the source that it follows."""

    def __init__(self, folder: Path, history: History, clauses: str = "") -> None:
        self.history, self.clauses = history, clauses
        self.location = str(folder / "index")
        # the rows that each version of the index may answer for; None: it may be incomplete
        self.complete: dict[int, list[list[Row] | None]] = {}

    def run(self, text: str) -> list[Row]:
        """Run a command as a new process would."""
        found: list[Row] = execute(text, LocalContext({})).to_pylist()
        return found

    def build(self) -> Row:
        """Sync with the source."""
        (done,) = self.run(
            f"BUILD INDEXTABLES COMPANION FOR {self.history.kind} '{self.history.location}' "
            f"{self.clauses} AT LOCATION '{self.location}'"
        )
        self.complete[self.version()] = [self.history.now()[1]]
        return done

    def version(self) -> int:
        """The newest version of the index."""
        return open_index(self.location).version

    def build_killed(self, step: int, *, before: bool) -> bool:
        """Kill a sync; return whether it died."""
        known = self.complete.get(self.version(), [None])
        try:
            with killed_at(step, before=before):
                self.build()
        except Killed:
            # it may have died after its last commit
            self.complete[self.version()] = [*known, self.history.now()[1]]
            return True
        return False

    def check(self, rng: random.Random, rows: list[Row], **options: str) -> None:
        """Run a random query and compare its answer with rows."""
        table = open_index(self.location, **options)
        case = draw(rng, self.history.maker.made, message_column(table.schema.names))
        assert case.ask(table) == case.truth(rows), f"{case} {options}"

    def check_or_lost(
        self, rng: random.Random, expected: list[list[Row] | None], **options: str
    ) -> None:
        """Query a version whose files may be gone: it may fail, but never return wrong rows."""
        try:
            table = open_index(self.location, **options)
            case = draw(rng, self.history.maker.made, message_column(table.schema.names))
            found = case.ask(table)
        except IndexTablesError as failure:
            lost = self.history.lossy and failure.code in LOST
            if lost or (None in expected and failure.code == "COMPANION_INCOMPLETE"):
                return
            raise
        truths = [case.truth(rows) for rows in expected if rows is not None]
        assert found in truths, f"{case} {options}"

    def drop_partition(self) -> None:
        """Drop the splits of a day if the index is partitioned by day."""
        table = open_index(self.location)
        if table.partition_columns == ("day",):
            self.run(f"DROP INDEXTABLES PARTITIONS FROM '{self.location}' WHERE day = 'x'")
