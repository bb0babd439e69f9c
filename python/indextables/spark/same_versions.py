"""Executors must have the driver's versions: every task compares them first.

`guarded` is pickled by value (see `shipping.py`), so that it runs where the package is missing or
has another version. So it uses only the standard library.
"""

from __future__ import annotations

import contextlib
import pathlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

HOST, FOUND = "<host>", "<found>"


def guarded(
    task: bytes, needed: Mapping[str, str], message: str
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """The pickled task, run only where package and engine have the needed versions.

    `message` is the error to raise elsewhere, with HOST and FOUND to be filled in.
    """

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        import pickle
        import socket
        import sys

        found = []
        try:
            import indextables

            found.append(f"indextables {indextables.__version__}")
            from indextables import _native

            found.append(f"engine {_native.__version__}")
            same = {"package": indextables.__version__, "engine": _native.__version__} == needed
        except ImportError as failure:
            found.append(f"no {'engine' if found else 'indextables'} ({failure})")
            same = False
        if not same:
            there = f"{', '.join(found)} in {sys.executable}"
            text = message.replace(HOST, socket.gethostname()).replace(FOUND, there)
            raise RuntimeError(text)
        with _watched():
            yield from pickle.loads(task)(batches)  # noqa: S301 (Spark ships functions this way)

    return run


@contextlib.contextmanager
def _watched() -> Iterator[None]:
    """Record the id of this process, so that the hooks can end it when the task is canceled."""
    import os

    from pyspark import TaskContext

    context = TaskContext.get()
    folder = None if context is None else context.getLocalProperty("indextables.worker")
    if context is None or folder is None:
        yield
        return
    file = pathlib.Path(folder, f"{context.taskAttemptId()}-{os.getpid()}")
    # without the file, Spark itself ends the worker, a few seconds later
    with contextlib.suppress(OSError):
        file.touch()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            file.unlink()
