"""Tasks that run twice, by retry or speculation, add no row twice; PURGE finds the leftovers.

Spark speculates only across hosts, so these tests run two attempts by hand; tests/crash kills the
workers of real jobs.
"""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from tests.crash.test_kill import check_purge, ids
from tests.crash.writer import OPTIONS

from indextables.commands.purge_plan import plan_purge
from indextables.config.settings import resolve
from indextables.log import open_log
from indextables.log.retention import Policy
from indextables.model.types import Atomic, Field, Struct
from indextables.read.table import open_table
from indextables.save.commit import Save, commit_save
from indextables.save.spec import spec_of_write
from indextables.save.splits import WrittenSplit
from indextables.spark.write_task import WriteTask
from indextables.sql.local import LocalContext
from indextables.storage import open_store

SCHEMA = Struct((Field("id", Atomic("long")),))


def attempt(spec, ids: range) -> list[WrittenSplit]:
    """Run one attempt of a task, as an executor does."""
    (report,) = WriteTask(spec)([pa.record_batch({"id": list(ids)})])
    return [WrittenSplit(**split) for split in json.loads(report["message"][0].as_py())["splits"]]


@pytest.mark.parametrize("options", [{}, {"primary-key": "id"}], ids=["plain", "keyed"])
def test_splits_of_an_attempt_that_lost_are_orphans(table_path, options):
    settings = resolve(options)
    log = open_log(open_store(table_path), settings)
    spec = spec_of_write(log, None, SCHEMA, (), settings)
    winner, loser = attempt(spec, range(10)), attempt(spec, range(10))
    keyed = spec if spec.key is not None else None
    save = Save("none", SCHEMA, (), spec.fields, winner, settings, {}, keyed=keyed)
    commit_save(log, save, None)
    assert ids(table_path) == list(range(10))
    table = open_table(table_path, LocalContext(OPTIONS))
    plan = plan_purge(table, Policy.of(settings), table.now_ms() + 1000)
    orphans = {orphan.path for orphan in plan.orphans}
    assert {split.path for split in loser} <= orphans
    assert not {split.path for split in winner} & orphans
    check_purge(table_path)
