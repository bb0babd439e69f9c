"""Maintenance commands; none needs Spark."""

from __future__ import annotations

from typing import Annotated

import pyarrow as pa
import typer

from indextables.cli.options import AsJson, Conf, TablePath, Where, pairs, settings
from indextables.cli.output import failures, require_success, show
from indextables.cli.progress import followed
from indextables.commands.grammar import Command, Span
from indextables.commands.merge_splits import MergeSplits
from indextables.commands.purge import Purge
from indextables.commands.reindex import Reindex
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
    max_dest_splits: Annotated[int | None, typer.Option(help="Maximum number of merges.")] = None,
    max_source_splits: Annotated[
        int | None, typer.Option(help="Maximum number of splits per merge.")
    ] = None,
    conf: Conf = None,
    as_json: AsJson = False,
) -> None:
    """Merge small splits into larger ones and drop deleted rows."""
    with failures():
        size = None if target_size is None else parse_size(target_size)
        command = MergeSplits(Target(table), where, size, max_dest_splits, max_source_splits)
    _run(command, "merging splits", conf, as_json=as_json)


def reindex(
    table: TablePath,
    mode: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=MODE", help="Index type, such as message=text+ngram."),
    ] = None,
    tokenizer: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=TOKENIZER", help="Tokenizer, such as message=en_stem."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Another indexing key of a column."),
    ] = None,
    conf: Conf = None,
    as_json: AsJson = False,
) -> None:
    """Change how columns of a table are indexed, in one commit."""
    modes, tokenizers = pairs(mode, "--mode"), pairs(tokenizer, "--tokenizer")
    with failures():
        clauses = (tuple(each.items()) for each in (modes, tokenizers, pairs(option, "--option")))
        command = Reindex(Target(table), *clauses)
    _run(command, "writing splits again", conf, as_json=as_json)


def purge(
    table: TablePath,
    older_than_hours: Annotated[
        int | None, typer.Option(help="Keep files younger than this (default: 168).")
    ] = None,
    log_retention_hours: Annotated[
        int | None, typer.Option(help="Keep old versions this long (default: 720).")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
    conf: Conf = None,
    as_json: AsJson = False,
) -> None:
    """Delete files that are no longer referenced."""
    data, kept = _hours(older_than_hours), _hours(log_retention_hours)
    _run(Purge(Target(table), data, kept, dry_run), "looking for orphans", conf, as_json=as_json)


def repair(
    table: TablePath,
    to: Annotated[
        str | None, typer.Option(help="Copy the readable part of a damaged log to this location.")
    ] = None,
    conf: Conf = None,
    as_json: AsJson = False,
) -> None:
    """Rebuild a lost transaction log from the splits, or salvage a damaged one."""
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
