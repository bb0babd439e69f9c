"""`indextables search`: the best rows, bars over time and by value, and rows as they arrive."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

import pyarrow as pa
import typer
from rich.table import Table as Grid
from rich.text import Text

from indextables.api.ask import open_table, plan_exactly, predicates_of
from indextables.api.local import Table
from indextables.api.overview import count_over_time, count_values, time_range
from indextables.cli.options import AsJson, Conf, TablePath, Timestamp, Version, Where, settings
from indextables.cli.output import console, failures, show
from indextables.errors import error
from indextables.expr.calendar import render_timestamp
from indextables.expr.objects import to_rows
from indextables.read.changes import CHANGE, INSERT, changes_of, plan_changes, read_changes
from indextables.read.changes import COLUMNS as CHANGE_COLUMNS
from indextables.read.request import ScanRequest
from indextables.read.spec import SCORE, SNIPPET
from indextables.read.table import OpenTable
from indextables.show.snippets import spans
from indextables.show.values import counted, text

_BARS, _TOP, _WIDTH = 40, 10, 50
_EIGHTHS = " ▏▎▍▌▋▊▉"
_AFTER_UPDATE = "update_postimage"


def search(
    table: TablePath,
    query: Annotated[str, typer.Argument(help="Search query, such as `timeout AND payment`.")],
    columns: Annotated[
        str | None, typer.Option(help="Columns to show, separated by commas.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of rows.")] = 10,
    where: Where = None,
    histogram: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Bars of all matches over this time column."),
    ] = None,
    facet: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Bars of all matches by value; may be repeated."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Then show new matches as they are committed.")
    ] = False,
    interval: Annotated[
        float, typer.Option(min=0.1, help="Seconds between two checks for new commits.")
    ] = 1.0,
    version: Version = None,
    timestamp: Timestamp = None,
    conf: Conf = None,
    as_json: AsJson = False,
) -> None:
    """Show the best matches for a query, best first."""
    if as_json and (histogram or facet):
        raise typer.BadParameter("bars are not JSON; leave out --histogram and --facet")
    with failures():
        opened = open_table(table, settings(conf), version, timestamp)
        reader = Table(opened)
        _check_bars(reader, histogram, facet or [])
        wanted = [name.strip() for name in columns.split(",")] if columns else None
        found = reader.search(query, wanted, limit, where, score=True, snippet=True)
        if as_json:
            show(found, as_json=True)
        else:
            shown = [name for name in found.column_names if name != SNIPPET]
            console().print(_hits(found, shown))
            better = None if found.num_rows else reader.did_you_mean(query, where)
            if better is not None:
                console().print(Text.assemble("did you mean: ", (better, "bold")))
        if histogram is not None:
            _over_time(reader, histogram, where, query)
        for column in facet or ():
            _by_value(reader, column, where, query)
        if follow:
            known = reader.schema.names
            shown = [name for name in dict.fromkeys(wanted or known) if name in known]
            _follow(opened, shown, where, query, interval, as_json=as_json)


def suggest(
    table: TablePath,
    text: Annotated[str, typer.Argument(help="A text; its last word is completed.")],
    column: Annotated[
        str | None, typer.Option(help="Words of this column; all text columns by default.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of words.")] = 10,
    similar: Annotated[
        bool, typer.Option("--similar", help="Suggest corrections of the word.")
    ] = False,
    version: Version = None,
    timestamp: Timestamp = None,
    conf: Conf = None,
    as_json: AsJson = False,
) -> None:
    """Complete a word, or correct it, from the words of the index."""
    with failures():
        reader = Table(open_table(table, settings(conf), version, timestamp))
        show(reader.suggest(text, column, limit, similar=similar), as_json=as_json)


def _check_bars(table: Table, histogram: str | None, facets: list[str]) -> None:
    """Raise an error before anything is shown if a column cannot have bars."""
    names = table.schema.names
    named = facets if histogram is None else [histogram, *facets]
    unknown = [name for name in named if name not in names]
    if unknown:
        raise error("COLUMN_UNKNOWN", columns=", ".join(unknown), available=", ".join(names))
    if histogram is not None and not pa.types.is_temporal(table.schema.field(histogram).type):
        wanted = "a column of dates or timestamps"
        raise error(
            "ARGUMENT_INVALID", argument="--histogram", value=repr(histogram), wanted=wanted
        )


def _hits(found: pa.Table, names: list[str]) -> Grid:
    """Rows with the words that matched in bold."""
    grid = Grid(caption=counted(found.num_rows, "row"), caption_justify="left")
    for name in names:
        number = pa.types.is_integer(found.schema.field(name).type) or name == SCORE
        grid.add_column(Text(name), justify="right" if number else "left", overflow="fold")
    for row in to_rows(found):
        words = {piece for piece, matched in spans(row.get(SNIPPET) or "") if matched}
        grid.add_row(*(_cell(row[name], words, name) for name in names))
    return grid


def _cell(value: object, words: set[str], name: str) -> Text:
    score = name == SCORE and isinstance(value, float)
    shown = Text(f"{value:g}" if score else text(value))
    if isinstance(value, str) and words:
        shown.highlight_words(sorted(words), "bold yellow")
    return shown


def _over_time(table: Table, column: str, where: str | None, query: str) -> None:
    ends = time_range(table, column, where, query)
    if ends is None:
        console().print("no times to draw")
        return
    found = count_over_time(table, column, ends, _BARS, where=where, query=query)
    most = max(bar.rows for bar in found.bars)
    grid = Grid(box=None, show_header=False, title=Text(f"{column}, one bar is {found.step}"),
                title_justify="left")  # fmt: skip
    for bar in found.bars:
        grid.add_row(render_timestamp(int(bar.low)), Text(_bar(bar.rows / most), "cyan"),
                     f"{bar.rows:,}" if bar.rows else "")  # fmt: skip
    console().print(grid)


def _by_value(table: Table, column: str, where: str | None, query: str) -> None:
    found = count_values(table, column, where, query)
    top = to_rows(found.slice(0, _TOP))
    most = max((row["rows"] for row in top), default=1)
    more = found.num_rows - len(top)
    caption = f"and {counted(more, 'other value')}" if more else None
    grid = Grid(box=None, show_header=False, title=Text(column), title_justify="left",
                caption=caption, caption_justify="left")  # fmt: skip
    for row in top:
        name = "null" if row["value"] is None else text(row["value"])
        grid.add_row(Text(name), Text(_bar(row["rows"] / most), "cyan"), f"{row['rows']:,}")
    console().print(grid)


def _bar(share: float) -> str:
    eighths = round(share * _WIDTH * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip() or ("▏" if share else "")


def _follow(
    table: OpenTable,
    names: list[str],
    where: str | None,
    query: str,
    interval: float,
    *,
    as_json: bool,
) -> None:
    """Print matching rows of new commits until Ctrl-C."""
    if not as_json:
        console(stderr=True).print("waiting for commits; Ctrl-C ends it")
    with contextlib.suppress(KeyboardInterrupt):
        for rows in new_matches(table, names, where, query, interval):
            if as_json:
                show(rows, as_json=True)
            elif rows.num_rows:
                console().print(_hits(rows, names))


def new_matches(
    table: OpenTable, names: list[str], where: str | None, query: str, interval: float
) -> Iterator[pa.Table]:
    """Matching rows of every commit after a version, as they were inserted or updated."""
    seen = table.snapshot.version
    while True:
        newest = table.log.snapshot()
        if newest.version < seen:
            raise error("TABLE_NOT_FOUND", path=table.path)
        if newest.version > seen:
            now = OpenTable(table.log, newest, table.settings)
            yield _matches(now, names, where, query, seen + 1)
            seen = newest.version
        else:
            time.sleep(interval)


def _matches(
    table: OpenTable, names: list[str], where: str | None, query: str, first: int
) -> pa.Table:
    changed = [
        each
        for each in changes_of(table, first, table.snapshot.version)
        if each.kind in (INSERT, _AFTER_UPDATE)
    ]
    schema = table.snapshot.schema.to_arrow_schema()
    if gone := [name for name in names if name not in schema.names]:
        available = ", ".join(schema.names)
        raise error("COLUMN_UNKNOWN", columns=", ".join(gone), available=available)
    fields = [schema.field(name) for name in names]
    mark = pa.field(CHANGE, CHANGE_COLUMNS[CHANGE])
    request = ScanRequest(pa.schema([*fields, mark]), predicates_of(table, where, query), here=True)
    plan_exactly(table, replace(request, output=pa.schema([])))
    scan = plan_changes(table, request, changed)
    batches = list(read_changes(scan.spec, scan.sources))
    return pa.Table.from_batches(batches, schema=request.output).select(names)
