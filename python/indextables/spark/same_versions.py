"""Executors must have the driver's versions: every task compares them first.

`guarded` is pickled by value (see `shipping.py`), so that it runs where the package is missing or
has another version. So it uses only the standard library.
"""

from __future__ import annotations

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
        yield from pickle.loads(task)(batches)  # noqa: S301 (Spark ships functions this way)

    return run
