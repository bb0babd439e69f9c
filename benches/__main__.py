"""Run the benchmarks named on the command line, or all of them, and print one table."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

import benches

NOT_BENCHES = {"__main__", "report", "corpus", "corpus_log", "corpus_versions"}


def names() -> list[str]:
    """The names of all benchmarks."""
    found = (m.name for m in pkgutil.iter_modules([str(Path(benches.__file__).parent)]))
    return [name for name in found if name not in NOT_BENCHES]


def main() -> int:
    """Run and report; the exit code says whether every bar was met."""
    console = Console()
    table = Table("benchmark", "what", "value", "bar", "")
    missed = 0
    for name in sys.argv[1:] or names():
        for result in importlib.import_module(f"benches.{name}").run():
            sign = "<=" if result.at_most else ">="
            bar = "" if result.bar is None else f"{sign} {result.bar:g}"
            verdict = {None: "", True: "met", False: "MISSED"}[result.met]
            missed += result.met is False
            table.add_row(name, result.what, f"{result.value:.4g} {result.unit}", bar, verdict)
    console.print(table)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
