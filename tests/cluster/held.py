"""Spark's worker daemon, with tasks that wait for the test: writers at the end, readers halfway.

Set as `spark.python.daemon.module`. While the file `hold-writes` exists in the folder HOLD, a task
that has written its rows writes its process id to the folder and waits until the file is removed.
A task that has read its first rows does the same while `hold-reads` exists.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from indextables.spark import read_task, write_task

_write = write_task._reported
_read = read_task.read_rows


def _held_write(*args: Any) -> Any:
    report = _write(*args)
    _wait_while("hold-writes")
    return report


def _held_read(*args: Any) -> Iterator[Any]:
    for batch in _read(*args):
        yield batch
        _wait_while("hold-reads")


def _wait_while(word: str) -> None:
    folder = Path(os.environ["HOLD"])
    while (folder / word).exists():
        (folder / f"{os.getpid()}.held").touch()
        time.sleep(0.02)


if __name__ == "__main__":
    from pyspark import daemon

    write_task._reported = _held_write
    read_task.read_rows = _held_read
    daemon.manager()
