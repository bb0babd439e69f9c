"""Commands that keep a table in shape; none needs Spark."""

from __future__ import annotations

from typing import Annotated

import pyarrow as pa
import typer

from indextables.cli.options import AsJson, Conf, TablePath, Where, settings
from indextables.cli.output import failures, require_success, show
from indextables.cli.progress import followed
from indextables.commands.grammar import Command, Span
from indextables.commands.merge_splits import MergeSplits
from indextables.commands.purge import Purge
from indextables.commands.repair import Repair
from indextables.commands.target import Target
from indextables.log.names import FOLDER
from indextables.sql.execute import execute
from indextables.sql.values import parse_size


def merge(
    table: TablePath,
    where: Where = None,
    target_size: Annotated[
        str | None, typer.Option(help="Size of merged splits, such as 500M or 2G.")
    ] = None,
    max_dest_splits: Annotated[int | None, typer.Option(help="How many merges at most.")] = None,
    max_source_splits: Annotated[
        int | None, typer.Option(help="How many splits one merge joins at most.")
    ] = None,
    conf: Conf = None,
    as_json: AsJson = False,
) -> None:
    """Join small splits into large ones and remove deleted rows for good."""
    with failures():
        size = None if target_size is None else parse_size(target_size)
        command = MergeSplits(Target(table), where, size, max_dest_splits, max_source_splits)
    _run(command, "merging splits", conf, as_json=as_json)


def purge(
    table: TablePath,
    older_than_hours: Annotated[
        int | None, typer.Option(help="Keep files younger than this; 168 unless said.")
    ] = None,
    log_retention_hours: Annotated[
        int | None, typer.Option(help="Keep old versions this long; 720 unless said.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
    conf: Conf = None,
    as_json: AsJson = False,
) -> None:
    """Delete files that nothing refers to any more."""
    data, kept = _hours(older_than_hours), _hours(log_retention_hours)
    _run(Purge(Target(table), data, kept, dry_run), "looking for orphans", conf, as_json=as_json)


def repair(
    table: TablePath,
    to: Annotated[
        str | None, typer.Option(help="Write the log of another table here, from its old log.")
    ] = None,
    conf: Conf = None,
    as_json: AsJson = False,
) -> None:
    """Rebuild a lost log from the splits, or copy what a damaged log still says to a new place."""
    command = Repair(_log_folder(table), None if to is None else _log_folder(to))
    _run(command, "reading splits", conf, as_json=as_json)


def _run(command: Command, title: str, conf: list[str] | None, *, as_json: bool) -> None:
    with failures(), followed(title, settings(conf)) as context:
        answer: pa.Table = execute(command, context)
    require_success(answer)
    show(answer, as_json=as_json, upright=True)


def _hours(amount: int | None) -> Span | None:
    return None if amount is None else Span(amount, "HOURS")


def _log_folder(path: str) -> str:
    trimmed = path.rstrip("/")
    return trimmed if trimmed.endswith(f"/{FOLDER}") else f"{trimmed}/{FOLDER}"
