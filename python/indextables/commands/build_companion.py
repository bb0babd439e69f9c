"""BUILD COMPANION: an index for a Delta, Iceberg or Parquet table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.commands.companion_build import BuildRequest, build
from indextables.commands.companion_follow import follow
from indextables.commands.grammar import (
    WHERE,
    Clause,
    Command,
    Flag,
    ListKind,
    NumberKind,
    Part,
    Rule,
    SizeKind,
    Span,
    SpanKind,
    TextKind,
    WordKind,
    Words,
    columns,
    require,
)
from indextables.commands.table_roots import require_root_name
from indextables.plan.companion import Companion

if TYPE_CHECKING:
    from indextables.read.table import Row
    from indextables.runtime.context import Context
    from indextables.runtime.steps import Steps

_TEXT = TextKind()
_TEXTS = ListKind()


@dataclass(frozen=True)
class BuildCompanion(Command):
    """Index the files of a Delta, Iceberg or Parquet table where they are.

    The index holds no rows: a match is a row of a source file. Repeat the command to index new
    files; indexed files are not read again. Queries see the newest version of the source, indexed
    or not. Clauses are remembered; INVALIDATE ALL PARTITIONS allows others and rebuilds the index.
    WHERE may name partition columns only and restricts the companion to these partitions. DRY RUN
    shows what would be indexed. WITH STREAMING repeats the command until it is interrupted.
    """

    source_format: str
    source: str
    destination: str
    schema_source: str | None = None
    catalog: str | None = None
    catalog_type: str | None = None
    warehouse: str | None = None
    include_columns: tuple[str, ...] = ()
    exclude_columns: tuple[str, ...] = ()
    indexing_modes: tuple[tuple[str, str], ...] = ()
    fastfields_mode: str | None = None
    hashed_include: tuple[str, ...] = ()
    hashed_exclude: tuple[str, ...] = ()
    target_input_size: int | None = None
    writer_heap_size: int | None = None
    from_version: int | None = None
    from_snapshot: int | None = None
    where: str | None = None
    invalidate_all: bool = False
    table_roots: tuple[tuple[str, str], ...] = ()
    dry_run: bool = False
    poll_interval: Span | None = None

    def __post_init__(self) -> None:
        self._require_one_of_each()
        for clause, value, formats in (
            ("SCHEMA SOURCE", self.schema_source, ("PARQUET",)),
            ("CATALOG", self.catalog, ("DELTA", "ICEBERG")),
            ("WAREHOUSE", self.warehouse, ("ICEBERG",)),
            ("FROM VERSION", self.from_version, ("DELTA",)),
            ("FROM SNAPSHOT", self.from_snapshot, ("ICEBERG",)),
        ):
            require(
                value is None or self.source_format in formats,
                f"{clause} is only for {' and '.join(formats)}",
            )
        require(
            self.catalog_type is None or self.catalog is not None, "TYPE needs a CATALOG before it"
        )
        fields = [name.lower() for name, _ in self.indexing_modes]
        require(len(set(fields)) == len(fields), "INDEXING MODES names a field twice")
        for name, _ in self.table_roots:
            require_root_name(name)

    def _require_one_of_each(self) -> None:
        poll = self.poll_interval
        require(poll is None or poll.amount > 0, "POLL INTERVAL must be positive")
        for one, other, names in (
            (self.include_columns, self.exclude_columns, "INCLUDE COLUMNS and EXCLUDE COLUMNS"),
            (self.hashed_include, self.hashed_exclude, "HASHED FASTFIELDS INCLUDE and EXCLUDE"),
            (self.dry_run, poll, "DRY RUN and WITH STREAMING"),
        ):
            require(not (one and other), f"{names} exclude each other")


def run(command: BuildCompanion, context: Context) -> Steps[list[Row]]:
    """Build or sync a companion; with STREAMING, until it is stopped."""
    request = _request(command)
    if command.poll_interval is None:
        return [(yield from build(request, context))]
    seconds = command.poll_interval.hours * 3600
    return [(yield from follow(request, context, seconds))]


def _request(command: BuildCompanion) -> BuildRequest:
    return BuildRequest(
        destination=command.destination,
        given=Companion(
            source_table_path=command.source,
            source_format=command.source_format.lower(),
            iceberg_catalog=command.catalog,
            iceberg_catalog_type=command.catalog_type,
            iceberg_warehouse=command.warehouse,
            schema_source=command.schema_source,
            fast_field_mode=command.fastfields_mode or "",
            indexing_modes=command.indexing_modes,
            include_columns=command.include_columns,
            exclude_columns=command.exclude_columns,
            hashed_fastfields_include=command.hashed_include,
            hashed_fastfields_exclude=command.hashed_exclude,
            where_clause=command.where,
        ),
        target_bytes=command.target_input_size,
        heap_bytes=command.writer_heap_size,
        since=command.from_version if command.from_version is not None else command.from_snapshot,
        invalidate_all=command.invalidate_all,
        roots=command.table_roots,
        dry_run=command.dry_run,
    )


RULES = (
    Rule(
        BuildCompanion,
        "BUILD IX COMPANION FOR",
        (
            Part("source_format", WordKind(("DELTA", "PARQUET", "ICEBERG"))),
            Part("source", _TEXT),
            Clause("SCHEMA SOURCE", "schema_source", _TEXT),
            Clause("CATALOG", "catalog", _TEXT),
            Clause("TYPE", "catalog_type", _TEXT),
            Clause("WAREHOUSE", "warehouse", _TEXT),
            Clause("INCLUDE COLUMNS", "include_columns", _TEXTS),
            Clause("EXCLUDE COLUMNS", "exclude_columns", _TEXTS),
            Clause("INDEXING MODES", "indexing_modes", ListKind(separator=":")),
            Clause(
                "FASTFIELDS MODE",
                "fastfields_mode",
                WordKind(("HYBRID", "DISABLED", "PARQUET_ONLY")),
            ),
            Clause("HASHED FASTFIELDS INCLUDE", "hashed_include", _TEXTS),
            Clause("HASHED FASTFIELDS EXCLUDE", "hashed_exclude", _TEXTS),
            Clause("TARGET INPUT SIZE", "target_input_size", SizeKind("target input size")),
            Clause("WRITER HEAP SIZE", "writer_heap_size", SizeKind("writer heap size")),
            Clause("FROM VERSION", "from_version", NumberKind()),
            Clause("FROM SNAPSHOT", "from_snapshot", NumberKind()),
            WHERE,
            Flag("INVALIDATE ALL PARTITIONS", "invalidate_all"),
            Clause("TABLE ROOTS", "table_roots", ListKind(separator="=")),
            Words("AT LOCATION"),
            Part("destination", _TEXT),
            Flag("DRY RUN", "dry_run"),
            Clause(
                "WITH STREAMING POLL INTERVAL",
                "poll_interval",
                SpanKind(("SECONDS", "MINUTES")),
            ),
        ),
        columns(
            "table_path string, source_path string, status string, source_version bigint, "
            "splits_created int, splits_invalidated int, parquet_files_indexed int, "
            "parquet_bytes_downloaded bigint, split_bytes_uploaded bigint, duration_ms bigint, "
            "message string"
        ),
        run,
    ),
)
