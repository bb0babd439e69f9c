"""`indextables sql`: IndexTables commands run here, other statements in Spark."""

from __future__ import annotations

import sys
from typing import Annotated

import pyarrow as pa
import typer

from indextables.cli.options import AsJson, Conf, pairs, settings
from indextables.cli.output import failures, require_success, show
from indextables.cli.progress import followed, waiting
from indextables.errors import error
from indextables.sql.execute import execute
from indextables.sql.keywords import is_command
from indextables.sql.parser import parse


def sql(
    statement: Annotated[
        str, typer.Argument(help="One statement; `-` reads it from the standard input.")
    ],
    table: Annotated[
        list[str] | None,
        typer.Option("--table", metavar="NAME=PATH", help="A name for a table; may be repeated."),
    ] = None,
    remote: Annotated[
        str | None, typer.Option(help="Run on a Spark Connect server, such as sc://host:15002.")
    ] = None,
    conf: Conf = None,
    as_json: AsJson = False,
) -> None:
    """Run a statement.

    The commands of docs/sql.md do not need Spark; other statements start a local session.
    """
    text = sys.stdin.read() if statement == "-" else statement
    tables = pairs(table, "--table")
    with failures():
        if not text.strip():
            raise error("ARGUMENT_INVALID", argument="STATEMENT", value="empty", wanted="SQL")
        ours = is_command(text)
        command = parse(text) if remote is None and ours else None
        if command is not None:
            with followed("working", settings(conf)) as context:
                context.tables = tables
                answer = execute(command, context)
        else:
            answer = _through_spark(text, tables, settings(conf), remote)
    if ours:
        require_success(answer)
        show(answer, as_json=as_json, upright=answer.num_rows == 1)
    else:
        rows = answer.rename_columns(_distinct(answer.column_names))
        show(rows, as_json=as_json, columns=rows.column_names)


def _distinct(names: list[str]) -> list[str]:
    """The names, with numbers where several columns have the same one."""
    taken = set(names)
    found: list[str] = []
    for name in names:
        new, number = name, 1
        while new in found or (new != name and new in taken):
            number += 1
            new = f"{name}_{number}"
        found.append(new)
    return found


def _through_spark(
    text: str, tables: dict[str, str], conf: dict[str, str], remote: str | None
) -> pa.Table:
    from indextables.spark.shell import run_statement

    with waiting("starting Spark" if remote is None else "connecting"):
        return run_statement(text, tables, conf, remote)
