"""The actions of the log: one frozen class per kind of action in a version file.

Each action keeps unknown members in `extra`, so that rewriting a file loses nothing that a newer
writer put there.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from json import dumps, loads
from typing import Any, Self, TypeAlias

from indextables.errors import IndexTablesError, error
from indextables.model.types import Struct, parse_schema

JsonObject: TypeAlias = dict[str, Any]
# the member of commitInfo that names changed rows: split path -> bitmap in an index file
UPDATED_ROWS = "updatedRows"
# the member of a table's configuration that says how its columns are indexed
INDEXING_KEY = "indextables.indexing"


@dataclass(frozen=True)
class Protocol:
    """The versions and features that readers and writers must support."""

    min_reader_version: int
    min_writer_version: int
    reader_features: frozenset[str] = frozenset()
    writer_features: frozenset[str] = frozenset()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Metadata:
    """Schema, partitioning and configuration of the table."""

    id: str
    schema_string: str
    partition_columns: tuple[str, ...] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    description: str | None = None
    provider: str = "indextables"
    format_options: Mapping[str, str] = field(default_factory=dict)
    created_time: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    # the log file it was read from, for error messages
    file: str = field(default="_transaction_log", compare=False, repr=False)

    @cached_property
    def schema(self) -> Struct:
        """The parsed schema."""
        try:
            return parse_schema(self.schema_string)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as cause:
            if isinstance(cause, IndexTablesError):
                raise
            detail = f"`schemaString` is not a schema: {type(cause).__name__} {cause}"
            raise error("FILE_CORRUPT", path=self.file, detail=detail) from None


@dataclass(frozen=True)
class DeletionVector:
    """The location of a split's deletion vector inside a file of `index/`."""

    file: str
    offset: int
    length: int
    cardinality: int


@dataclass(frozen=True, slots=True)
class CompanionRun:
    """Rows of a source file that are consecutive rows of a companion's split.

    `file` is a position in the split's `companionSourceFiles`. `file_rows` is the
    number of rows of the whole file, 0 if unknown.
    """

    file: int
    row: int
    rows: int
    file_rows: int
    size: int
    stamp: str | None = None


@dataclass(frozen=True, slots=True)
class AddFile:
    """A split of the table. A partition column missing in `partition_values` is null."""

    path: str
    partition_values: Mapping[str, str]
    size: int
    modification_time: int
    data_change: bool = True
    stats: str | None = None
    min_values: Mapping[str, str] | None = None
    max_values: Mapping[str, str] | None = None
    num_records: int | None = None
    footer_start_offset: int | None = None
    footer_end_offset: int | None = None
    has_footer_offsets: bool = False
    delete_opstamp: int | None = None
    split_tags: tuple[str, ...] | None = None
    num_merge_ops: int | None = None
    doc_mapping_json: str | None = None
    doc_mapping_ref: str | None = None
    uncompressed_size_bytes: int | None = None
    time_range_start: str | None = None
    time_range_end: str | None = None
    added_at_version: int = 0
    added_at_timestamp: int = 0
    companion_source_files: tuple[str, ...] | None = None
    companion_delta_version: int | None = None
    companion_fast_field_mode: str | None = None
    # the source rows of the split, in the order of its own rows
    companion_runs: tuple[CompanionRun, ...] | None = None
    deletion_vector: DeletionVector | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RemoveFile:
    """A split that is no longer part of the table."""

    path: str
    deletion_timestamp: int | None = None
    data_change: bool = True
    partition_values: Mapping[str, str] | None = None
    size: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SkipFile:
    """A split that an operation must skip for a while."""

    path: str
    skip_timestamp: int
    reason: str
    operation: str
    retry_after: int | None = None
    skip_count: int = 1
    partition_values: Mapping[str, str] | None = None
    size: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Txn:
    """The latest committed batch of a streaming query: replaying a batch changes nothing."""

    app_id: str
    version: int
    last_updated: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class IndexFile:
    """The hash index file of one bucket of a partition, in `index/`.

    It replaces the previous file of the bucket; without a file the bucket is removed.
    """

    partition_values: Mapping[str, str]
    bucket: int
    file: str | None = None
    size: int | None = None
    row_count: int | None = None
    type: str = "HASH"
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def partition(self) -> tuple[tuple[str, str], ...]:
        """The partition as a dictionary key."""
        return tuple(sorted(self.partition_values.items()))

    @property
    def place(self) -> tuple[str, tuple[tuple[str, str], ...], int]:
        """The partition and bucket it describes: each has one file."""
        return self.type, self.partition, self.bucket


@dataclass(frozen=True)
class CommitInfo:
    """Who did what and when; `id` is unique per commit and resolves unknown outcomes."""

    id: str | None
    timestamp: int
    operation: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    engine_info: str | None = None
    read_version: int | None = None
    is_blind_append: bool | None = None
    user_metadata: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UnknownAction:
    """An action of an unknown kind: ignored, but kept when a checkpoint is written.

    Its value is kept as JSON text, which takes a fraction of the memory of the parsed value.
    """

    kind: str
    text: str

    @classmethod
    def of(cls, kind: str, value: Any) -> Self:
        """An action with a JSON value."""
        return cls(sys.intern(kind), dumps(value, separators=(",", ":"), ensure_ascii=False))

    @property
    def value(self) -> Any:
        """The JSON value."""
        return loads(self.text)


Action: TypeAlias = (
    Protocol
    | Metadata
    | AddFile
    | RemoveFile
    | SkipFile
    | IndexFile
    | Txn
    | CommitInfo
    | UnknownAction
)
