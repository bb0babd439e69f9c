"""Spark's worker daemon, with workers that tests can kill before or after a batch of rows.

Set as `spark.python.daemon.module`. A worker that starts to read removes one of the files `die-*`
from the folder DIE and kills itself; without such a file it reads. The files `late-*` do the same
to a worker that has returned two batches.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from indextables.spark import read_task

_original = read_task.read_rows
LATE = 2


def _dying(*args: Any) -> Iterator[Any]:
    _die("die-*")
    for number, batch in enumerate(_original(*args)):
        if number == LATE:
            _die("late-*")
        yield batch


def _die(words: str) -> None:
    for word in Path(os.environ["DIE"]).glob(words):
        try:
            word.unlink()
        except FileNotFoundError:
            continue  # another worker took it
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    from pyspark import daemon

    read_task.read_rows = _dying
    daemon.manager()
