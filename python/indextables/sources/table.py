"""What a companion needs to know about the table it indexes, whatever the format.

A `SourceTable` is where the table is; a `SourceSnapshot` is one version of it. The snapshot decides
what a companion answers: which files are live, and which of their rows are deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol
from urllib.parse import unquote

import pyarrow as pa
from pyroaring import BitMap

from indextables.engine.source import Address
from indextables.errors import error
from indextables.model.types import Array, DataType, Field, Map, Struct
from indextables.storage.address import names_store
from indextables.storage.store import ObjectMeta, check_path

FILES = pa.schema(
    [
        # relative to the location, or a URL
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        # distinguishes files with the same path and size; null if paths are never reused
        pa.field("stamp", pa.string()),
        # physical rows, including deleted ones; null if only the file has the number
        pa.field("rows", pa.int64()),
    ]
)


def _no_deletions() -> Mapping[str, BitMap]:
    return {}


@dataclass(frozen=True)
class SourceSnapshot:
    """One version of a source table.

    `schema` is what Spark shows, `columns` has the addresses of its columns in files.
    `partitions` holds the typed values of the partition columns, one per row of `files`.
    `load_deleted` finds the deleted rows of the files that have any.
    """

    format: str
    location: str
    version: str
    schema: Struct
    files: pa.Table = field(repr=False)
    columns: tuple[Address, ...] = ()
    partitions: Mapping[str, pa.Array] = field(default_factory=dict, repr=False)
    # distinguishes the table from another one at the same location; None if the format has no ids
    id: str | None = None
    load_deleted: Callable[[], Mapping[str, BitMap]] = field(
        default=_no_deletions, repr=False, compare=False
    )

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The columns whose values are not read from the files."""
        return tuple(self.partitions)

    @cached_property
    def deleted(self) -> Mapping[str, BitMap]:
        """The rows deleted in this version by path; files without any are left out."""
        return self.load_deleted()

    def taking(self, rows: pa.Array) -> SourceSnapshot:
        """The same version with only some of its files, by their row in `files`."""
        values = {name: array.take(rows) for name, array in self.partitions.items()}
        return replace(self, files=self.files.take(rows), partitions=values)


class SourceTable(Protocol):
    """A table of another format."""

    @property
    def location(self) -> str:
        """The folder its relative paths start from."""

    def look(self) -> str:
        """A mark of the newest version, found as cheaply as the format allows."""

    def at(self, mark: str) -> SourceSnapshot:
        """The version of a mark."""

    def stamp(self, version: str) -> str:
        """Distinguishes a version from one with the same number of a recreated table."""

    def snapshot(self, version: str | None = None) -> SourceSnapshot:
        """A version of the table, by default the newest."""


def stamp_of(meta: ObjectMeta) -> str:
    """Distinguishes a file from another one with the same path and size.

    A local file has no e-tag, and programs can set its modification time, so its ctime is used.
    """
    return f"{meta.modified_ms}:{meta.e_tag or meta.changed_ns or ''}"


def decode_path(path: str, location: str) -> str:
    """Decode a path of a log (URL-encoded); relative to the location if it is below it."""
    return relative_path(unquote(path), location)


def relative_path(path: str, location: str) -> str:
    """A path relative to the location, or its URL if it is elsewhere."""
    if not names_store(path) and not path.startswith("/"):
        return check_path(path)
    root, plain = _without_scheme(location).rstrip("/") + "/", _without_scheme(path)
    if plain.startswith(root):
        return check_path(plain.removeprefix(root))
    if "/../" in plain or plain.endswith("/.."):
        raise error("STORAGE_BAD_PATH", path=path)
    return path


def _without_scheme(url: str) -> str:
    """A URL normalized for comparison: `file:/a`, `file:///a` and `/a` are the same."""
    if not url.startswith("file:"):
        return url.replace("s3a://", "s3://", 1).replace("s3n://", "s3://", 1)
    return "/" + url.removeprefix("file:").lstrip("/")


def addresses(schema: Struct, names: Callable[[Field], Address]) -> tuple[Address, ...]:
    """The addresses of the columns of a schema; `names` returns those of one field, also nested."""

    def of_field(given: Field) -> Address:
        return replace(names(given), children=inside(given.type))

    def of_type(name: str, kind: DataType) -> Address:
        return Address(name, children=inside(kind))

    def inside(kind: DataType) -> tuple[Address, ...]:
        if isinstance(kind, Struct):
            return tuple(of_field(each) for each in kind.fields)
        if isinstance(kind, Array):
            return _unless_plain(of_type("element", kind.element))
        if isinstance(kind, Map):
            return _unless_plain(of_type("key", kind.key), of_type("value", kind.value))
        return ()

    return tuple(of_field(each) for each in schema.fields)


def _unless_plain(*found: Address) -> tuple[Address, ...]:
    """The addresses, or nothing if they only repeat the names."""
    return found if any(each.children for each in found) else ()
