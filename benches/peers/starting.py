"""The first answer of a new process, next to other tools: import, open, count once."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FIRST = "first answer of a new process"
_TURNS = 5


def measure(rows: int, scripts: Mapping[str, str], folders: Mapping[str, Path]) -> dict[str, float]:
    """Median CPU milliseconds by peer; each of `scripts` prints the count of the word."""
    taken: dict[str, list[float]] = {name: [] for name in scripts}
    for turn in range(_TURNS + 1):
        for name, script in scripts.items():
            before = _used()
            found = _run(script, folders[name])
            if turn:  # the first turn compiles modules and fills the caches of the operating system
                taken[name].append(_used() - before)
            if found != rows:
                raise AssertionError(f"{FIRST}: {name} counts {found} rows, not {rows}")
    return {name: statistics.median(values) for name, values in taken.items()}


def _run(script: str, folder: Path) -> int:
    # with compiled modules, as installed; a developer's environment may disable them
    known = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=folder, env=known, capture_output=True, check=True)
    return int(done.stdout)


def _used() -> float:
    """CPU milliseconds of all child processes that have been waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (usage.ru_utime + usage.ru_stime) * 1000
