"""Terminal output: tables for people, JSON for programs, one line for a failure."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from indextables.errors import IndexTablesError
from indextables.expr.objects import to_rows
from indextables.show.values import finite, plain, text

_PLAIN_WIDTH = 160  # width of output to a file or a pipe
_FAILED = ("error", "failed")


def console(*, stderr: bool = False) -> Console:
    """Return a console for the terminal, or of a fixed width for files and pipes."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else _PLAIN_WIDTH, highlight=False)


@contextlib.contextmanager
def failures() -> Iterator[None]:
    """Turn an error inside the block into one message and exit code 1."""
    try:
        yield
    except BrokenPipeError:  # nobody reads the results any more: not a failure
        raise
    except (IndexTablesError, OSError, pa.ArrowInvalid) as failure:
        fail(str(failure))


def fail(message: str) -> None:
    """Print an error and exit with code 1."""
    console(stderr=True).print(Text.assemble(("error:", "red"), f" {message}"), soft_wrap=True)
    raise typer.Exit(1)


def show(
    answer: pa.Table,
    *,
    as_json: bool,
    columns: Sequence[str] | None = None,
    upright: bool = False,
) -> None:
    """Print a result; `columns` selects the columns of tables, `upright` prints one per line."""
    rows = to_rows(answer)
    if as_json:
        # what follows a table may never end: a reader of a pipe gets each answer at once
        print(json.dumps(finite(rows), default=plain, ensure_ascii=False, indent=2), flush=True)
        return
    # metrics of a command are shown as columns; rows of a table are shown unchanged
    flat = [flattened(row) for row in rows] if columns is None else rows
    if upright and len(flat) == 1:
        table = Table("", Column(overflow="fold"), show_header=False)
        for name, value in flat[0].items():
            table.add_row(Text(name, "bold"), Text(text(value)))
        console().print(table)
        return
    names = list(columns or dict.fromkeys(name for row in flat for name in row))
    names = names or answer.column_names
    table = Table(caption=_count(len(rows)), caption_justify="left")
    for name in names:
        numeric = all(isinstance(row.get(name), int | float | None) for row in flat)
        table.add_column(Text(name), justify="right" if numeric else "left", overflow="fold")
    for row in flat:
        table.add_row(*(Text(text(row.get(name))) for name in names))
    console().print(table)


def _count(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"


def flattened(row: dict[str, Any]) -> dict[str, Any]:
    """Flatten the struct members of a row into columns."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        flat.update(value if isinstance(value, dict) else {name: value})
    return flat


def require_success(answer: pa.Table) -> None:
    """Exit with code 1 if the result of a command reports a failure."""
    for row in to_rows(answer):
        flat = flattened(row)
        status = str(flat.get("status") or "")
        if status.lower().startswith(_FAILED):
            fail(str(flat.get("message") or status))
