"""The commands of `indextables`."""

from __future__ import annotations

import typer

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Full-text search tables for PySpark."
)


@app.callback()
def _root() -> None:
    """Keep subcommands even while there is only one."""


@app.command()
def demo() -> None:
    """Index a sample of log events, search it, and compare with Parquet."""
    from indextables.spark.demo import run_demo

    run_demo()
