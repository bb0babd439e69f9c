"""The command line: `indextables --help`."""

from __future__ import annotations


def main() -> None:
    """Entry point of the `indextables` command."""
    from indextables.cli.app import app

    app()
