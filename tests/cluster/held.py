"""Spark's worker daemon, in which tasks that write wait for the test before they report.

Named by `spark.python.daemon.module`. While the file `hold` is in the folder that HOLD names, a
task that has written its rows leaves its process id there and waits until `hold` is gone.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from indextables.spark import write_task

_original = write_task._reported


def _held(*args: Any) -> Any:
    report = _original(*args)
    folder = Path(os.environ["HOLD"])
    while (folder / "hold").exists():
        (folder / f"{os.getpid()}.held").touch()
        time.sleep(0.02)
    return report


def held(folder: Path) -> set[int]:
    """The processes that wait."""
    return {int(file.stem) for file in folder.glob("*.held")}


if __name__ == "__main__":
    from pyspark import daemon

    write_task._reported = _held
    daemon.manager()
