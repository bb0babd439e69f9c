"""Facts about a table: columns and their indexing, splits, partitions, properties, protocol."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indextables.engine.split import Split
from indextables.expr.values import NESTED, kind_of
from indextables.log import entries
from indextables.log.actions import INDEXING_KEY
from indextables.plan.columns import MAPPING_PREFIX
from indextables.runtime.handles import native_store
from indextables.show.values import UNKNOWN

if TYPE_CHECKING:
    from indextables.log import AddFile
    from indextables.plan.columns import ColumnInfo
    from indextables.read.table import OpenTable

MOST_SPLITS = 300
# footers are read one by one; the largest splits are representative
MOST_FOOTERS = 40
MOST_PARTITIONS = 200


@dataclass(frozen=True)
class ColumnFacts:
    """A column: its type, how it is indexed, what it can be used for."""

    name: str
    type: str
    index: str
    tokenizer: str
    flags: tuple[str, ...]


@dataclass(frozen=True)
class SplitFacts:
    """A live split."""

    path: str
    partition: str
    size: int
    rows: int | None
    deleted: int

    @property
    def deleted_share(self) -> float:
        """The share of its rows that are deleted."""
        return self.deleted / self.rows if self.rows else 0.0


@dataclass(frozen=True)
class PartitionFacts:
    """The splits of a partition, added up."""

    name: str
    splits: int
    rows: int
    size: int
    deleted: int


@dataclass(frozen=True)
class TableFacts:
    """A table at a version."""

    path: str
    version: int
    newest: int
    timestamp_ms: int
    created_ms: int | None
    rows: int | None
    deleted: int
    size: int
    splits: tuple[SplitFacts, ...]
    columns: tuple[ColumnFacts, ...]
    partition_columns: tuple[str, ...]
    partitions: tuple[PartitionFacts, ...]
    properties: tuple[tuple[str, str], ...]
    reader: int
    writer: int
    features: tuple[str, ...]


@dataclass(frozen=True)
class Components:
    """Bytes by part of the index, and by column where a part belongs to one."""

    parts: tuple[tuple[str, int], ...]
    columns: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    splits: int
    of: int


def table_facts(table: OpenTable) -> TableFacts:
    """The facts of a table from its log."""
    snapshot = table.snapshot
    splits = sorted(map(_split, entries.to_adds(snapshot.files())), key=lambda s: -s.size)
    protocol, metadata = snapshot.protocol, snapshot.metadata
    shown = {
        key: value
        for key, value in sorted(metadata.configuration.items())
        if not key.startswith(MAPPING_PREFIX) and key != INDEXING_KEY
    }
    return TableFacts(
        path=table.path,
        version=snapshot.version,
        newest=table.log.snapshot().version,
        timestamp_ms=snapshot.timestamp_ms,
        created_ms=metadata.created_time,
        rows=snapshot.num_records,
        deleted=sum(split.deleted for split in splits),
        size=snapshot.size_bytes,
        splits=tuple(splits),
        columns=tuple(map(_column, table.columns.infos)),
        partition_columns=snapshot.partition_columns,
        partitions=_partitions(splits) if snapshot.partition_columns else (),
        properties=tuple(shown.items()),
        reader=protocol.min_reader_version,
        writer=protocol.min_writer_version,
        features=tuple(sorted({*protocol.reader_features, *protocol.writer_features})),
    )


def components(table: OpenTable) -> Components:
    """The bytes of index components in the largest splits."""
    adds = sorted(entries.to_adds(table.snapshot.files()), key=lambda add: -add.size)
    parts: Counter[str] = Counter()
    columns: dict[str, Counter[str]] = {}
    for add in adds[:MOST_FOOTERS]:
        for found in _described(table, add):
            kind, size = found["component_type"], int(found["size_bytes"])
            parts[kind] += size
            if found["field_name"] is not None:
                columns.setdefault(found["field_name"], Counter())[kind] += size
    return Components(
        tuple(parts.most_common()),
        tuple((name, tuple(found.most_common())) for name, found in columns.items()),
        min(len(adds), MOST_FOOTERS),
        len(adds),
    )


def _described(table: OpenTable, add: AddFile) -> list[dict[str, Any]]:
    start, end = add.footer_start_offset, add.footer_end_offset
    footer = (start, end) if start is not None and end is not None else None
    return Split(native_store(*table.store.native()), add.path, footer).components()


def _split(add: AddFile) -> SplitFacts:
    deleted = add.deletion_vector.cardinality if add.deletion_vector else 0
    return SplitFacts(add.path, _partition(add), add.size, add.num_records, deleted)


def _partition(add: AddFile) -> str:
    return ", ".join(f"{name}={value}" for name, value in add.partition_values.items())


def _partitions(splits: list[SplitFacts]) -> tuple[PartitionFacts, ...]:
    grouped: dict[str, list[SplitFacts]] = {}
    for split in splits:
        grouped.setdefault(split.partition, []).append(split)
    return tuple(
        PartitionFacts(
            name,
            len(found),
            sum((split.rows or 0) - split.deleted for split in found),
            sum(split.size for split in found),
            sum(split.deleted for split in found),
        )
        for name, found in sorted(grouped.items())
    )


def _column(info: ColumnInfo) -> ColumnFacts:
    kind = kind_of(info.type)
    shown = str(info.type.to_arrow()) if kind in NESTED else str(info.type.to_json())
    flags = {"indexed": info.indexed, "fast": info.columnar, "stored": info.stored}
    index = "partition" if info.partition else info.role if info.role != "auto" else kind
    return ColumnFacts(
        info.name,
        shown,
        index=UNKNOWN if not (info.indexed or info.partition) else index,
        tokenizer=info.tokenizer if info.role == "text" else "",
        flags=() if info.partition else tuple(name for name, is_on in flags.items() if is_on),
    )
