"""The commands of `indextables`."""

from __future__ import annotations

from typing import Annotated

import typer

from indextables import __version__
from indextables.cli import companion, doctor, maintenance, search, statements, tables, ui

app = typer.Typer(
    name="indextables",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Full-text search tables for PySpark.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options that come before the command."""


def demo() -> None:
    """Index a sample of log events, search it, and compare with Parquet."""
    from indextables.spark.demo import run_demo

    run_demo()


for command in (
    search.search,
    search.suggest,
    ui.ui,
    statements.sql,
    tables.history,
    tables.detail,
    tables.log,
    tables.splits,
    maintenance.merge,
    maintenance.reindex,
    maintenance.purge,
    maintenance.repair,
    doctor.doctor,
    demo,
):
    app.command()(command)
app.add_typer(companion.companion, name="companion")
