"""The command line: `indextables --help`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Entry point of the `indextables` command."""
    # a stream that is closed is None
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: PTH123, SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: PTH123, SIM115
    from indextables.cli.app import app

    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except OSError as failure:
        # what is buffered cannot be written: Python must not try it again when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # a pipe that nobody reads any more is no failure to tell of
        if not isinstance(failure, BrokenPipeError):
            sys.stderr.write(f"error: {failure}\n")
        sys.exit(1)
