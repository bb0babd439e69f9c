"""Spark's worker daemon with the libraries imported once, before it forks.

Named by `spark.python.daemon.module`, it serves every Python worker of the application: a worker
then starts in milliseconds instead of importing Arrow and pandas again.
"""

from __future__ import annotations

import gc
import sys
from importlib import import_module


def preload(worker_module: str) -> None:
    """Import what workers need; the objects are kept out of every later garbage collection."""
    names = [
        "pyarrow",
        "pyarrow.compute",
        "pandas",
        "pyspark.worker",
        "indextables.spark.write_task",
    ]
    if worker_module.startswith("pyspark"):
        names.append(worker_module)
    for name in names:
        import_module(name)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    from pyspark import daemon

    preload(sys.argv[1] if len(sys.argv) > 1 else "")
    daemon.manager()
