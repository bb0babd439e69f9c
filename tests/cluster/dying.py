"""Spark's worker daemon, whose workers die when the test says so, before they read a row.

Named by `spark.python.daemon.module`. A worker that begins to read removes one of the files `die-*`
of the folder that DIE names, and kills itself; without such a file it reads.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from indextables.spark import read_task

_original = read_task.read_rows


def _dying(*args: Any) -> Any:
    for word in Path(os.environ["DIE"]).glob("die-*"):
        try:
            word.unlink()
        except FileNotFoundError:
            continue  # another worker took it
        os.kill(os.getpid(), signal.SIGKILL)
    return _original(*args)


if __name__ == "__main__":
    from pyspark import daemon

    read_task.read_rows = _dying
    daemon.manager()
