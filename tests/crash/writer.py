"""A writer that runs numbered operations on a table until it is done or killed.

Run as `python -m tests.crash.writer PATH FIRST LAST KILL_AT`: it kills itself with SIGKILL at the
n-th access to the store, before the access if n is odd and after it if n is even.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from typing import Any

import pyarrow as pa

from indextables.commands.merge_splits import MergeRequest, run_merge
from indextables.commands.purge import run_purge
from indextables.config.settings import resolve
from indextables.engine.writer import SplitWriter
from indextables.expr.where import parse_where
from indextables.log import Operation, open_log
from indextables.model.types import Atomic, Field, Struct, render_schema
from indextables.plan.fields import plan_fields
from indextables.read.request import ScanRequest
from indextables.read.scan import plan_scan, run_scan
from indextables.read.spec import ROW_ID
from indextables.read.table import OpenTable, open_table
from indextables.rows.change_rows import positions
from indextables.rows.commit_rows import RowChange, commit_rows
from indextables.runtime.steps import finish
from indextables.save.commit import Save, commit_save
from indextables.save.condition import Condition
from indextables.save.splits import WriteSpec, sorted_by_partition, write_batches
from indextables.sql.local import LocalContext
from indextables.storage import open_store
from indextables.storage.store import Store

SCHEMA = Struct((Field("id", Atomic("long")), Field("part", Atomic("integer"))))
PARTITIONS = ("part",)
OPTIONS = {
    "spark.indextables.checkpoint.interval": "4",
    "spark.indextables.purge.retentionCheckEnabled": "false",
}


def rows_of(number: int) -> list[int]:
    """The rows of an operation."""
    chance = random.Random(number)
    return [number * 100 + i for i in range(chance.randint(5, 30))]


def kind_of(number: int) -> str:
    """The kind of an operation."""
    kinds = ("append", "append", "overwrite", "replace", "delete", "merge", "purge")
    return "append" if number == 0 else random.Random(-number).choice(kinds)


def expected(last: int) -> list[int]:
    """The ids in the table after an operation."""
    ids: list[int] = []
    for number in range(last + 1):
        kind = kind_of(number)
        if kind == "overwrite":
            ids = []
        elif kind == "replace":
            ids = [i for i in ids if not number * 100 - 200 <= i < number * 100 + 100]
        elif kind == "delete":
            ids = [i for i in ids if i % 10 != number % 10]
        if kind in ("append", "overwrite", "replace"):
            ids += rows_of(number)
    return sorted(ids)


def operate(path: str, number: int) -> None:
    """Run one operation; a row change is one commit, which carries the number."""
    kind = kind_of(number)
    context = LocalContext(OPTIONS)
    if kind == "merge":
        request = MergeRequest(target_bytes=1 << 30)
        finish(run_merge(lambda: open_table(path, context), request), context)
    elif kind == "purge":
        finish(run_purge(open_table(path, context), older_than_hours=0), context)
    elif kind == "delete":
        _delete(path, number)
    else:
        _save(path, number, kind)


def _save(path: str, number: int, kind: str) -> None:
    settings = resolve({"userMetadata": str(number)}, OPTIONS)
    log = open_log(open_store(path, settings), settings)
    table = log.snapshot() if log.exists() else None
    fields = tuple(plan_fields(SCHEMA, settings, PARTITIONS))
    spec = WriteSpec(*log.store.native(), render_schema(SCHEMA), PARTITIONS, fields, settings)
    ids = rows_of(number)
    data = pa.table({"id": ids, "part": pa.array([i % 3 for i in ids], pa.int32())})
    splits = write_batches(spec, sorted_by_partition(spec, data.to_batches()))
    condition = None
    if kind == "replace" and table is not None:
        text = f"id >= {number * 100 - 200} AND id < {number * 100 + 100}"
        condition = Condition.of(OpenTable(log, table, settings), [parse_where(text, SCHEMA)])
    overwrite = {"append": "none", "overwrite": "all", "replace": "where"}[kind]
    save = Save(overwrite, SCHEMA, PARTITIONS, fields, splits, settings, {}, condition)
    commit_save(log, save, table)


def _delete(path: str, number: int) -> None:
    settings = resolve({}, OPTIONS)
    log = open_log(open_store(path, settings), settings)
    table = log.snapshot()
    output = pa.schema([pa.field("id", pa.int64()), *ROW_ID])
    request = ScanRequest(output, here=True)
    found = run_scan(plan_scan(OpenTable(log, table, settings), request))
    wanted = [i % 10 == number % 10 for i in found["id"].to_pylist()]
    change = RowChange(Operation.DELETE, positions(found.filter(pa.array(wanted, pa.bool_()))))
    if change.deleted:
        commit_rows(log, change, table, settings)


def kill_at(step: int) -> None:
    """Kill this process at an access to the store."""
    count = 0

    def deadly(function: Any) -> Any:
        def run(*args: Any, **named: Any) -> Any:
            nonlocal count
            count += 1
            if count == step and step % 2:
                os.kill(os.getpid(), signal.SIGKILL)
            answer = function(*args, **named)
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return answer

        return run

    for owner, name in ((Store, "put"), (Store, "delete"), (SplitWriter, "finish")):
        setattr(owner, name, deadly(getattr(owner, name)))


def main() -> None:
    """Print each finished operation, so that the parent process knows the progress."""
    path, first, last, step = sys.argv[1], *map(int, sys.argv[2:])
    if step:
        kill_at(step)
    for number in range(first, last + 1):
        operate(path, number)
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
