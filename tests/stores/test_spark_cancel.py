"""Canceled jobs that wait for a silent store: workers end well before Spark would kill them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.processes import all_processes, below, python_workers
from tests.stores.proxy import PASS, SILENT, Proxy
from tests.stores.tables import make_table
from tests.stores.test_hanging import PATIENT

pytestmark = pytest.mark.spark
ROOT = Path(__file__).parents[2]
PATIENCE_S = 400
PLANNER = b"pyspark_indextables.planner"
# Spark would kill the worker of a canceled task after its kill timeout
PROGRAM = """
import json, sys, threading
import indextables
from pyspark.sql import SparkSession

path, options = sys.argv[1], json.loads(sys.argv[2])
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
builder = builder.config("spark.log.level", "OFF").config("spark.python.task.killTimeout", "900s")
for key, value in options.items():
    builder = builder.config("spark.indextables." + key, value)
spark = indextables.configure(builder).getOrCreate()
table = spark.read.format("indextables").load(path)
written = spark.range(9).coalesce(1).write.format("indextables")
WORK = {
    "read": lambda: table.where("id > 7").select("message").collect(),
    "write": lambda: written.save(path + "-written"),
}

context = spark.sparkContext
CANCEL = {
    "group": lambda: context.cancelJobGroup("group"),
    "tag": lambda: context.cancelJobsWithTag("tag"),
    "all": spark.interruptAll,
}

def ask(work):
    context.setJobGroup("group", "slow")
    context.addJobTag("tag")
    try:
        work()
        print("went on", flush=True)
    except Exception as failure:
        print("ended", *str(failure).split(), flush=True)

for line in sys.stdin:
    name, cancel = line.split()
    asking = threading.Thread(target=ask, args=(WORK[name],))
    asking.start()
    sys.stdin.readline()
    CANCEL[cancel]()
    asking.join()
spark.stop()
"""


@dataclass(frozen=True)
class Program:
    """A Spark program that reads from its input what to run and when to cancel it."""

    child: subprocess.Popen[str]
    output: Path

    def tell(self, line: str) -> None:
        self.child.stdin.write(f"{line}\n")
        self.child.stdin.flush()

    def workers(self) -> set[int]:
        """The Python workers of its tasks."""
        everyone = below(self.child.pid)
        return python_workers([p for p in everyone if PLANNER not in p.command])


@pytest.fixture
def program(s3, proxy, tmp_path):
    url = f"{s3.root}/canceled"
    make_table(url, s3.settings, splits=3, each=5_000)
    proxy.rule = lambda request: SILENT if ".split" in request.path else PASS
    given = s3.options | PATIENT | {"s3.endpoint": proxy.endpoint}
    # settings of the whole program: its threads have no session to configure
    given |= {"cache.disk.enabled": "false", "read.local.enabled": "false"}
    with (tmp_path / "output").open("w") as output:
        child = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", PROGRAM, url, json.dumps(given)],
            stdin=subprocess.PIPE,
            stdout=output,
            text=True,
            cwd=ROOT,
        )
    try:
        yield Program(child, tmp_path / "output")
    finally:
        everyone = [child.pid, *(process.pid for process in below(child.pid))]
        for pid in everyone:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        child.wait()


def wait_until(reached: Callable[[], object], program: Program) -> None:
    end = time.monotonic() + PATIENCE_S
    while not reached():
        assert time.monotonic() < end, program.output.read_text()
        time.sleep(0.05)


def check_canceled(program: Program, proxy: Proxy, work: str) -> None:
    """Cancel a job while its workers wait for the store: the workers end, and the job fails."""
    before = program.output.stat().st_size
    proxy.waiting.clear()
    program.tell(work)
    wait_until(proxy.waiting.is_set, program)
    workers = program.workers()
    assert workers, work
    program.tell("cancel")
    wait_until(lambda: workers.isdisjoint(p.pid for p in all_processes()), program)
    wait_until(lambda: program.output.stat().st_size > before, program)
    assert "cancel" in program.output.read_text()[before:].lower()


@pytest.mark.timeout(5 * PATIENCE_S)
def test_the_workers_of_a_canceled_job_end(program, proxy):
    for work in ("read group", "write tag", "read all"):
        check_canceled(program, proxy, work)
