"""Answers on the terminal: tables for people, JSON for programs, one line for a failure."""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import decimal
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from indextables.errors import IndexTablesError

_PLAIN_WIDTH = 160  # of output that goes to a file or a pipe
_FAILED = ("error", "failed")


def console(*, stderr: bool = False) -> Console:
    """The terminal, or a file of a fixed width."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else _PLAIN_WIDTH, highlight=False)


@contextlib.contextmanager
def failures() -> Iterator[None]:
    """End with code 1 and one message for what goes wrong inside."""
    try:
        yield
    except (IndexTablesError, OSError, pa.ArrowInvalid) as failure:
        fail(str(failure))


def fail(message: str) -> None:
    """Say what went wrong and end with code 1."""
    console(stderr=True).print(f"[red]error:[/] {escape(message)}", soft_wrap=True)
    raise typer.Exit(1)


def show(
    answer: pa.Table,
    *,
    as_json: bool,
    columns: Sequence[str] | None = None,
    upright: bool = False,
) -> None:
    """Print an answer; `columns` chooses what people see, `upright` is one line per column."""
    rows = answer.to_pylist()
    if as_json:
        print(json.dumps(rows, default=plain, ensure_ascii=False, indent=2))
        return
    # metrics of a command stand beside its columns; rows of a table are shown as they are
    flat = [flattened(row) for row in rows] if columns is None else rows
    if upright and len(flat) == 1:
        table = Table(show_header=False)
        for name, value in flat[0].items():
            table.add_row(f"[bold]{escape(name)}", escape(text(value)))
        console().print(table)
        return
    names = list(columns or dict.fromkeys(name for row in flat for name in row))
    names = names or answer.column_names
    table = Table(caption=_count(len(rows)), caption_justify="left")
    for name in names:
        numeric = all(isinstance(row.get(name), int | float | None) for row in flat)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in flat:
        table.add_row(*(escape(text(row.get(name))) for name in names))
    console().print(table)


def _count(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"


def flattened(row: dict[str, Any]) -> dict[str, Any]:
    """A row with the members of structs beside its columns."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        flat.update(value if isinstance(value, dict) else {name: value})
    return flat


def text(value: Any) -> str:
    """A value as people read it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | dict | tuple):
        return json.dumps(value, default=plain, ensure_ascii=False)
    return str(plain(value)) if not isinstance(value, str | int) else str(value)


def plain(value: Any) -> Any:
    """A value that JSON has no word for."""
    if isinstance(value, dt.datetime | dt.date):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, decimal.Decimal | dt.timedelta):
        return str(value)
    raise TypeError(type(value).__name__)


def require_success(answer: pa.Table) -> None:
    """End with code 1 when a command's answer says that it failed."""
    for row in answer.to_pylist():
        flat = flattened(row)
        status = str(flat.get("status") or "")
        if status.lower().startswith(_FAILED):
            fail(str(flat.get("message") or status))
