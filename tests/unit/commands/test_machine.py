"""All operations that change a table, in any order, compared with a model that is a list of rows.

Splits are files that list their rows; a simulated merge replaces the engine's. After each step,
every readable version must have exactly the rows that it had when it was committed.
"""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
import uuid
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pyroaring import BitMap
from tests.log.changes import change_rows
from tests.unit.commands.conftest import SCHEMA, Door, Made

from indextables.commands.checkpoint import run_checkpoint
from indextables.commands.drop_partitions import run_drop_partitions
from indextables.commands.merge_splits import MergeRequest, run_merge
from indextables.commands.purge import run_purge
from indextables.commands.restore import run_restore
from indextables.commands.truncate_time_travel import run_truncate
from indextables.index.deletion_vectors import write_files
from indextables.index.vectors import load_deletions
from indextables.log import DeletionVector, Operation
from indextables.log.entries import to_adds
from indextables.runtime.steps import finish

SESSION = {
    "spark.indextables.purge.retentionCheckEnabled": "false",
    "spark.indextables.checkpoint.interval": "4",
    "spark.indextables.skippedFiles.trackingEnabled": "false",
}


class Table(RuleBasedStateMachine):
    @initialize()
    def make(self):
        self.root = Path(tempfile.mkdtemp())
        self.door = Door(self.root, SESSION, merge=self.merge_task)
        self.table = Made(self.door, str(self.root / "t"))
        self.table.log.create(SCHEMA, ("day", "hour"))
        self.next_row = 0
        self.during_merge = None
        self.expected = {0: frozenset()}

    def teardown(self):
        shutil.rmtree(self.root)

    # --- the replacement of the engine

    def write_split(self, path, rows):
        file = Path(self.table.path) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(rows))
        return file.stat().st_size

    def read_split(self, path):
        return json.loads((Path(self.table.path) / path).read_text())

    def merge_task(self, payload):
        if self.during_merge is not None:
            change, self.during_merge = self.during_merge, None
            change()
        rows = []
        for each in payload["inputs"]:
            deleted = (
                BitMap.deserialize(base64.b64decode(each["deleted"])) if each["deleted"] else ()
            )
            rows += [r for i, r in enumerate(self.read_split(each["path"])) if i not in deleted]
        size = self.write_split(payload["output"], rows)
        info = {
            "size": size,
            "footer_start": 1,
            "footer_end": 2,
            "num_records": len(rows),
            "uncompressed_size": size,
            "runs": [],
            "doc_mapping": [],
            "columns": {},
        }
        return {"info": info, "skipped": {}}

    def rows_at(self, version=None):
        found = []
        for add in to_adds(self.table.log.snapshot(version).files()):
            gone = (
                load_deletions(self.table.log.store, add.deletion_vector)
                if add.deletion_vector
                else ()
            )
            found += [r for i, r in enumerate(self.read_split(add.path)) if i not in gone]
        return found

    def committed(self):
        version = self.table.log.snapshot().version
        rows = self.rows_at()
        assert len(rows) == len(set(rows)), "a row occurs twice"
        self.expected[version] = frozenset(rows)
        return self.expected[version]

    # --- operations

    @rule(count=st.integers(1, 4), hour=st.sampled_from("12"))
    def append(self, count, hour):
        before = frozenset(self.rows_at())
        rows = list(range(self.next_row, self.next_row + count))
        self.next_row += count
        name = str(uuid.uuid4())
        add = self.table.put(name, hour=hour, num_records=count)
        self.write_split(add.path, rows)
        self.table.commit(add)
        assert self.committed() == before | {*rows}

    def delete_some(self, pick):
        """Delete a row of a split with a new deletion vector, as DELETE does."""
        log = self.table.log
        read = log.snapshot()
        files = to_adds(read.files())
        if not files:
            return None
        add = files[pick % len(files)]
        old = load_deletions(log.store, add.deletion_vector) if add.deletion_vector else BitMap()
        live = [i for i in range(add.num_records) if i not in old]
        if not live:
            return None
        position = live[pick % len(live)]
        file = next(iter(write_files([(add.path, old | BitMap([position]))], self.index_name)))
        log.store.put(file.name, file.data)
        where = file.ranges[add.path]
        vector = DeletionVector(file.name, where.offset, where.length, where.cardinality)
        log.commit(change_rows(Operation.DELETE, read, {add.path: vector}))
        return self.read_split(add.path)[position]

    def index_name(self):
        return f"index/index-{uuid.uuid4()}-0"

    @rule(pick=st.integers(0, 50))
    def delete(self, pick):
        before = frozenset(self.rows_at())
        row = self.delete_some(pick)
        if row is not None:
            assert self.committed() == before - {row}

    @rule()
    def merge(self):
        before = frozenset(self.rows_at())
        finish(run_merge(self.table.open, MergeRequest()), self.door)
        assert self.committed() == before

    @rule(pick=st.integers(0, 50))
    def merge_while_rows_are_deleted(self, pick):
        before = frozenset(self.rows_at())
        gone = []
        self.during_merge = lambda: gone.append(self.delete_some(pick))
        finish(run_merge(self.table.open, MergeRequest()), self.door)
        self.during_merge = None
        assert self.committed() == before - {*gone}

    @rule(hour=st.sampled_from("12"))
    def drop(self, hour):
        finish(run_drop_partitions(self.table.open(), f"hour = {hour}"), self.door)
        self.committed()

    @rule(compact=st.booleans())
    def checkpoint(self, compact):
        before = frozenset(self.rows_at())
        run_checkpoint(self.table.open(), keep=not compact)
        assert self.committed() == before

    @precondition(lambda self: len(self.expected) > 1)
    @rule(pick=st.integers(0, 50))
    def restore(self, pick):
        # between two retained states, old version files may be gone
        runs = self.table.log.reader.listing().readable
        readable = [v for v in self.expected if any(v in run for run in runs)]
        version = readable[pick % len(readable)]
        run_restore(self.table.open(), version=version)
        assert self.committed() == self.expected[version]

    @rule(age=st.sampled_from([0, 1000]))
    def purge(self, age):
        before = frozenset(self.rows_at())
        if age:
            self.table.age(age)
        finish(run_purge(self.table.open(), older_than_hours=0), self.door)
        assert self.committed() == before

    @rule()
    def truncate(self):
        before = frozenset(self.rows_at())
        run_truncate(self.table.open())
        assert self.committed() == before

    # --- invariants

    @invariant()
    def every_version_there_is_holds_its_rows(self):
        if not hasattr(self, "expected"):
            return
        listing = self.table.log.reader.listing()
        for version in sorted({*listing.versions, *listing.states}):
            if version in self.expected and _readable(listing, version):
                assert frozenset(self.rows_at(version)) == self.expected[version], version


def _readable(listing, version):
    return any(
        all(v in listing.versions for v in range(base + 1, version + 1))
        for base in listing.bases
        if base <= version
    )


_QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
TestTable = Table.TestCase
TestTable.settings = settings(
    max_examples=5,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=_QUIET,
    # failing examples are short enough without shrinking
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)


@pytest.mark.slow
class TestTableLong(Table.TestCase):
    settings = settings(
        max_examples=200, stateful_step_count=40, deadline=None, suppress_health_check=_QUIET
    )
