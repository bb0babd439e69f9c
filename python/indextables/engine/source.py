"""The Parquet files that a companion indexes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from indextables import _native
from indextables.errors import error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


@dataclass(frozen=True)
class SourceFile:
    """The identity of a Parquet file.

    `path` is relative to the source's location, or a whole URL. `stamp` is set for files whose
    names may be reused. `rows` is the number of physical rows, if known.
    """

    path: str
    size: int
    stamp: str | None = None
    rows: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The JSON value for the engine."""
        return {"path": self.path, "size": self.size, "stamp": self.stamp}


@dataclass(frozen=True)
class Run:
    """Consecutive rows of a file that are consecutive documents of a split.

    `footer` is the checksum of the file's footer when it was indexed, `file_rows` are the rows of
    the whole file.
    """

    path: str
    row: int
    rows: int
    size: int
    stamp: str | None = None
    footer: int | None = None
    file_rows: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The JSON value for the engine and the sidecar."""
        return {key: value for key, value in vars(self).items() if value is not None}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The run of a sidecar."""
        return cls(**value)


@dataclass(frozen=True)
class Address:
    """How a column or member is found in files: by field id, by its names there, or by its name."""

    name: str
    names: tuple[str, ...] = ()
    id: int | None = None
    children: tuple[Address, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The JSON value for the engine and for the table's configuration."""
        value: dict[str, Any] = {"name": self.name}
        if self.names:
            value["names"] = list(self.names)
        if self.id is not None:
            value["id"] = self.id
        if self.children:
            value["children"] = [child.to_json() for child in self.children]
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Parse such a value."""
        return cls(
            value["name"],
            tuple(value.get("names", ())),
            value.get("id"),
            tuple(cls.from_json(child) for child in value.get("children", ())),
        )

    @property
    def identity(self) -> dict[str, Any]:
        """What identifies the column after a rename."""
        value = self.to_json()
        return {key: value[key] for key in ("names", "id") if key in value}


@dataclass(frozen=True)
class SourceSpec:
    """The source of a companion's rows; sent to the executors.

    `columns` are the addresses of all columns but the partition columns; if empty, names are used.
    `calendar` is `corrected` if old dates are read without rebasing.
    """

    # contains credentials: never print it
    place: tuple[str, str] = field(repr=False)
    columns: tuple[Address, ...] = ()
    case_sensitive: bool = False
    calendar: str = "exception"

    @property
    def is_remote(self) -> bool:
        """Whether files are remote; the location of a local source is a plain path."""
        return "://" in self.place[0]

    @property
    def lookup(self) -> dict[str, Any]:
        """How the engine finds columns."""
        return {
            "columns": [address.to_json() for address in self.columns],
            "case_sensitive": self.case_sensitive,
            "calendar": self.calendar,
        }

    def to_json(self) -> dict[str, Any]:
        """The JSON value for a task."""
        return {"place": list(self.place), **self.lookup}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Parse such a value."""
        url, options = value["place"]
        columns = tuple(Address.from_json(column) for column in value["columns"])
        return cls((url, options), columns, value["case_sensitive"], value["calendar"])

    def fields(self, fields: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The writer's fields, each with the identity of its column."""
        known = {address.name: address.identity for address in self.columns}
        return [{**field, "address": known.get(field["name"], {})} for field in fields]


@dataclass(frozen=True)
class SourceFacts:
    """The facts in the footer of a file.

    `schema` has the types that Spark gives the columns, `spark_schema` is the schema that Spark
    stored in the file.
    """

    rows: int
    footer: int
    schema: pa.Schema
    spark_schema: str | None


@lru_cache(maxsize=64)
def open_source(spec: SourceSpec) -> _native.Source:
    """The engine's handle of a source; nothing is connected yet."""
    return _native.Source(*spec.place, spec.lookup)


def source_facts(source: _native.Source, file: SourceFile) -> SourceFacts:
    """What the footer of a file says; COMPANION_FILE_MISSING or _CHANGED if it is not that file."""
    found = source.facts(file.to_json())
    return SourceFacts(found.rows, found.footer, pa.schema(found.schema), found.spark_schema)


def expected_facts(source: _native.Source, file: SourceFile) -> SourceFacts:
    """The facts in the footer of a file; its number of rows must be the one its table records."""
    facts = source_facts(source, file)
    if file.rows is not None and file.rows != facts.rows:
        detail = f"it has {facts.rows} rows, the source says {file.rows}"
        raise error("COMPANION_FILE_CHANGED", path=file.path, detail=detail)
    return facts


def read_source(
    source: _native.Source,
    file: SourceFile,
    schema: pa.Schema,
    *,
    first: int = 0,
    batch_rows: int = 8192,
) -> Iterator[pa.RecordBatch]:
    """All rows of a file from `first` on, in the table's types."""
    stream = source.read(file.to_json(), schema, first=first, batch_rows=batch_rows)
    return (pa.record_batch(batch) for batch in stream)
