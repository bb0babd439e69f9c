"""`indextables companion`: index a table of another format; none of it needs Spark."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import pyarrow as pa
import typer

from indextables.api.ask import open_table
from indextables.cli.options import AsJson, Conf, TablePath, Where, pairs, settings
from indextables.cli.output import failures, show
from indextables.cli.progress import followed
from indextables.commands.build_companion import BuildCompanion
from indextables.commands.grammar import Span
from indextables.errors import error
from indextables.sql.execute import execute

companion = typer.Typer(
    no_args_is_help=True, help="Search a Delta, Iceberg or Parquet table where it is."
)
Source = Annotated[str, typer.Argument(metavar="SOURCE", help="Location of the source table.")]
Format = Annotated[str, typer.Option("--format", help="delta, iceberg or parquet.")]
Modes = Annotated[
    list[str] | None,
    typer.Option("--mode", metavar="COLUMN=MODE", help="How a column is indexed, such as text."),
]
Catalog = Annotated[str | None, typer.Option(help="Catalog that knows SOURCE by its name.")]
CatalogType = Annotated[str | None, typer.Option(help="Kind of the catalog, such as rest.")]
Warehouse = Annotated[str | None, typer.Option(help="Warehouse of the catalog.")]
Included = Annotated[
    list[str] | None, typer.Option("--include", metavar="COLUMN", help="Index this column only.")
]
Excluded = Annotated[
    list[str] | None, typer.Option("--exclude", metavar="COLUMN", help="Leave out this column.")
]


@companion.command()
def build(
    source: Source,
    table: TablePath,
    source_format: Format = "delta",
    catalog: Catalog = None,
    catalog_type: CatalogType = None,
    warehouse: Warehouse = None,
    mode: Modes = None,
    include: Included = None,
    exclude: Excluded = None,
    where: Where = None,
    invalidate_all: Annotated[
        bool, typer.Option("--invalidate-all", help="Build the whole index again.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only plan.")] = False,
    conf: Conf = None,
    as_json: AsJson = False,
) -> None:
    """Index the files that are not indexed yet."""
    with failures():
        command = replace(
            _sync(source, table, source_format, mode),
            catalog=catalog,
            catalog_type=catalog_type,
            warehouse=warehouse,
            include_columns=tuple(include or ()),
            exclude_columns=tuple(exclude or ()),
            where=where,
            invalidate_all=invalidate_all,
            dry_run=dry_run,
        )
        _run(command, conf, as_json=as_json)


@companion.command()
def follow(
    source: Source,
    table: TablePath,
    source_format: Format = "delta",
    mode: Modes = None,
    every: Annotated[int, typer.Option(help="Seconds between two syncs.")] = 60,
    conf: Conf = None,
    as_json: AsJson = False,
) -> None:
    """Index new files continuously, until interrupted."""
    with failures():
        command = _sync(source, table, source_format, mode)
        _run(replace(command, poll_interval=Span(every, "SECONDS")), conf, as_json=as_json)


def _sync(source: str, table: str, source_format: str, mode: list[str] | None) -> BuildCompanion:
    """The command with the options that every sync has."""
    return BuildCompanion(
        source_format=source_format.upper(),
        source=source,
        destination=table,
        indexing_modes=tuple(pairs(mode, "--mode").items()),
    )


def _run(command: BuildCompanion, conf: list[str] | None, *, as_json: bool) -> None:
    with followed("indexing files", settings(conf)) as door:
        result = execute(command, door)
    show(result, as_json=as_json)


@companion.command()
def status(table: TablePath, conf: Conf = None, as_json: AsJson = False) -> None:
    """Show how far the index is behind its source."""
    with failures():
        opened = open_table(table, settings(conf))
        found = opened.companion
        if found is None:
            raise error("COMPANION_REQUIRED", path=opened.path)
        row = {"table_path": opened.path, "status": found.summary, **found.metrics}
        show(pa.Table.from_pylist([row]), as_json=as_json)
