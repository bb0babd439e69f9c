"""Tasks read the components of many splits; results are in the order of the splits."""

from __future__ import annotations

import pyarrow as pa

import indextables
from indextables.commands import describe_component_sizes
from indextables.commands.describe_component_sizes import run_component_sizes
from indextables.read.table import open_table
from indextables.runtime.steps import finish
from indextables.sql.local import LocalContext


def test_tasks_find_what_one_process_finds(tmp_path, monkeypatch):
    path = str(tmp_path / "t")
    for number in range(5):
        indextables.write(pa.table({"id": [number], "name": [f"n{number}"]}), path)
    ran = []

    class Tasks(LocalContext):
        def run_task(self, kind, payload):
            ran.append((kind, len(payload["splits"])))
            return super().run_task(kind, payload)

    door = Tasks()
    table = open_table(path, door)
    alone = finish(run_component_sizes(table, None), door)
    assert ran == []
    assert len({row["split_path"] for row in alone}) == 5
    monkeypatch.setattr(describe_component_sizes, "_PER_TASK", 2)
    assert finish(run_component_sizes(table, None), door) == alone
    assert sorted(ran) == [("component_sizes", 1), ("component_sizes", 2), ("component_sizes", 2)]
