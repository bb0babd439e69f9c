"""One frozen value per command about companion indexes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from indextables.sql.commands import Command, Span, require
from indextables.sql.target import Target

_ROOT_NAME = re.compile(r"[a-zA-Z0-9_-]+")


def _require_root_name(name: str) -> None:
    require(
        _ROOT_NAME.fullmatch(name) is not None,
        f"`{name}` is no name of a table root: letters, digits, _ and - are allowed",
    )


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
            _require_root_name(name)

    def _require_one_of_each(self) -> None:
        poll = self.poll_interval
        require(poll is None or poll.amount > 0, "POLL INTERVAL must be positive")
        for one, other, names in (
            (self.include_columns, self.exclude_columns, "INCLUDE COLUMNS and EXCLUDE COLUMNS"),
            (self.hashed_include, self.hashed_exclude, "HASHED FASTFIELDS INCLUDE and EXCLUDE"),
            (self.dry_run, poll, "DRY RUN and WITH STREAMING"),
        ):
            require(not (one and other), f"{names} exclude each other")


@dataclass(frozen=True)
class SetTableRoot(Command):
    """Remember where a companion's source files stand."""

    name: str
    path: str
    target: Target

    def __post_init__(self) -> None:
        _require_root_name(self.name)
        require(bool(self.path.strip()), "the path of a table root must not be empty")


@dataclass(frozen=True)
class UnsetTableRoot(Command):
    """Forget a table root."""

    name: str
    target: Target

    def __post_init__(self) -> None:
        _require_root_name(self.name)


@dataclass(frozen=True)
class DescribeTableRoots(Command):
    """Show the table roots of a companion."""

    target: Target
