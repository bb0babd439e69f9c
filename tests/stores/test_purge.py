"""PURGE on every store: tasks find what a single listing finds."""

from __future__ import annotations

import itertools
import time

from tests.stores.tables import make_table

from indextables.commands.purge_plan import plan_purge, plan_purge_by_tasks
from indextables.config.settings import resolve
from indextables.log import open_log
from indextables.log.retention import Policy
from indextables.read.table import OpenTable
from indextables.runtime.steps import finish
from indextables.sql.local import LocalContext
from indextables.storage import open_store

_numbers = itertools.count()
ORPHANS = ["day=1/splits/a.split", "day=77/b.split", "day=%20 é/c#1?.split", "d.split"]
OTHERS = ["day=1/notes.txt", "other/notes.txt", "day=0/splits/.split-0.split.crc"]


class Counting(LocalContext):
    """Runs tasks in this process and counts the folders that they list."""

    folders = 0

    def run_task(self, kind, payload):
        self.folders += len(payload["folders"])
        return super().run_task(kind, payload)


def test_tasks_find_what_one_listing_finds(place):
    url = make_table(f"{place.root}/purge-{next(_numbers)}", place.settings, splits=3, each=5)
    settings = resolve(place.options | {"purge.maxFilesListedByPlanner": "0"})
    log, context = open_log(open_store(url, settings), settings), Counting()
    table = OpenTable(log, log.snapshot(), settings)
    for name in [*ORPHANS, *OTHERS]:
        table.store.put(name, b"x")
    policy, too_old_ms = Policy.of(table.settings), (time.time() + 60) * 1000
    here = plan_purge(table, policy, too_old_ms)
    assert sorted(file.path for file in here.orphans) == sorted(ORPHANS)
    assert finish(plan_purge_by_tasks(table, policy, too_old_ms), context) == here
    assert context.folders == 6
