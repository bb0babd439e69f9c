"""BUILD COMPANION: an index beside another table. Understood, and refused until companions work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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
from indextables.errors import error

if TYPE_CHECKING:
    from indextables.read.table import Row
    from indextables.runtime.context import Context
_TEXT = TextKind()
_TEXTS = ListKind()


@dataclass(frozen=True)
class BuildCompanion(Command):
    """Index the files of another table where they are.

    Not available in this version: the command is understood and refused.
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


def run(command: BuildCompanion, _: Context) -> list[Row]:
    """Refuse."""
    raise error("COMMAND_UNSUPPORTED", command=f"BUILD COMPANION FOR {command.source_format}")


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
