"""Differences between pyspark 4.0 and 4.3, and tuning of Spark's Python workers."""

from __future__ import annotations

import contextlib
import gc
import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

Serve = Callable[[IO[bytes], IO[bytes]], None]
_DESCRIPTORS = Path("/proc/self/fd")
_calls = 0


def worker_run(serve: Serve, infile: IO[bytes], outfile: IO[bytes]) -> None:
    """Run one call within the protocol of Spark's planner workers."""
    try:
        from pyspark.sql.worker.utils import worker_run as run
    except ImportError:
        _run_by_hand(serve, infile, outfile)
    else:
        run(serve, infile, outfile)


def _run_by_hand(serve: Serve, infile: IO[bytes], outfile: IO[bytes]) -> None:
    """The same protocol for 4.0 and 4.1, which have no function for it."""
    from pyspark.accumulators import _accumulatorRegistry
    from pyspark.serializers import SpecialLengths, read_int, write_int
    from pyspark.util import handle_worker_exception
    from pyspark.worker_util import (
        check_python_version,
        send_accumulator_updates,
        setup_broadcasts,
        setup_memory_limits,
        setup_spark_files,
    )

    try:
        check_python_version(infile)
        setup_memory_limits(int(os.environ.get("PYSPARK_PLANNER_MEMORY_MB", "-1")))
        setup_spark_files(infile)
        setup_broadcasts(infile)
        _accumulatorRegistry.clear()
        serve(infile, outfile)
    except BaseException as failure:  # noqa: BLE001 (the JVM must hear of it, whatever it is)
        handle_worker_exception(failure, outfile)
        sys.exit(-1)
    send_accumulator_updates(outfile)
    if read_int(infile) != SpecialLengths.END_OF_STREAM:
        write_int(SpecialLengths.END_OF_DATA_SECTION, outfile)
        sys.exit(-1)
    write_int(SpecialLengths.END_OF_STREAM, outfile)


@contextlib.contextmanager
def connection() -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The two ends of the JVM's socket, for workers started without the daemon."""
    try:
        from pyspark.worker_util import get_sock_file_to_executor
    except ImportError:
        from pyspark.util import local_connect_and_auth

        port = int(os.environ["PYTHON_WORKER_FACTORY_PORT"])
        stream, _ = local_connect_and_auth(port, os.environ["PYTHON_WORKER_FACTORY_SECRET"])
        yield stream, stream
    else:
        with get_sock_file_to_executor() as stream:
            yield stream, stream


def settle() -> None:
    """Keep the objects of imported libraries out of garbage collection.

    Spark's daemon collects after every call, and the next small call waits for it: with Arrow and
    pandas imported that is tens of milliseconds. Repeated at call 2, 4, 8 ... for late imports.
    """
    global _calls  # noqa: PLW0603 (one counter per process)
    _calls += 1
    if _calls & (_calls - 1) == 0:
        gc.collect()
        gc.freeze()


def acknowledge_at_once() -> None:
    """Stop Linux from delaying acknowledgements on the JVM's socket.

    Spark writes a task's input in several small segments, and each would wait up to 40 ms.
    """
    option = getattr(socket, "TCP_QUICKACK", None)
    try:
        descriptors = list(_DESCRIPTORS.iterdir()) if option is not None else []
    except OSError:
        return
    for descriptor in descriptors:
        with contextlib.suppress(OSError, ValueError):
            if str(descriptor.readlink()).startswith("socket:"):
                _quicken(int(descriptor.name), option)


def _quicken(descriptor: int, option: Any) -> None:
    with socket.socket(fileno=os.dup(descriptor)) as found:
        if found.family in (socket.AF_INET, socket.AF_INET6) and found.type == socket.SOCK_STREAM:
            found.setsockopt(socket.IPPROTO_TCP, option, 1)


def alias_of(frame: Any) -> str | None:
    """The last alias of a DataFrame, in a classic or Connect session."""
    plan = getattr(frame, "_plan", None)
    if plan is not None:
        return plan._alias if type(plan).__name__ == "SubqueryAlias" else None  # noqa: SLF001
    logical = frame._jdf.queryExecution().logical()  # noqa: SLF001
    return logical.alias() if logical.getClass().getSimpleName() == "SubqueryAlias" else None


def expression(session: Any, text: str) -> Any:
    """SQL text as a column, for a session of either kind."""
    if type(session).__module__.startswith("pyspark.sql.connect"):
        from pyspark.sql.connect.functions import expr

        return expr(text)
    from pyspark.sql.classic.column import Column

    return Column(session._jvm.org.apache.spark.sql.functions.expr(text))  # noqa: SLF001
