"""Arrow's kernels: the functions of `pyarrow.compute`, imported when the first of them is called.

Importing them takes a tenth of the time of a new process to its first answer, which needs none.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    import pyarrow.compute

    found = getattr(pyarrow.compute, name)
    globals()[name] = found  # the next call finds it at once
    return found
