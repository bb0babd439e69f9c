"""A table's schema and files, worked out from its splits alone."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from indextables.commands.split_footer import SplitFooter, read_footer
from indextables.commands.split_schema import SplitColumns, read_columns
from indextables.engine.writer import ColumnStats
from indextables.errors import CorruptError, StorageError, error
from indextables.log.actions import AddFile
from indextables.log.partitions import parse_folder, unescape
from indextables.log.protocol import LEAN_SPLITS
from indextables.model.types import Atomic, DataType, Field, Struct
from indextables.save.statistics import render_extremes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from indextables.config.settings import Settings
    from indextables.storage import ObjectMeta, Store

_log = logging.getLogger("indextables.repair")
_INT_LIMIT = 2**31
_LONG_LIMIT = 2**63


@dataclass(frozen=True)
class RebuildPlan:
    """Everything a new log says."""

    schema: Struct
    partition_columns: tuple[str, ...]
    fields: tuple[Mapping[str, Any], ...]
    adds: tuple[AddFile, ...]
    features: frozenset[str]


def find_splits(store: Store) -> list[ObjectMeta]:
    """All splits in a table's folder; a hidden one was never finished."""
    found = (meta for meta in store.list("") if meta.path.endswith(".split"))
    return [meta for meta in found if not meta.path.rpartition("/")[2].startswith(".")]


def plan_rebuild(store: Store, splits: Sequence[ObjectMeta], settings: Settings) -> RebuildPlan:
    """Read every split's own words; those that cannot be read are left out."""
    read: list[tuple[ObjectMeta, SplitFooter, SplitColumns]] = []
    for meta in splits:
        try:
            footer = read_footer(store, meta.path)
            read.append((meta, footer, read_columns(store, footer)))
        except (CorruptError, StorageError) as problem:
            _log.warning("`%s` is left out: %s", meta.path, problem)
    if not read:
        raise error("REPAIR_NO_SPLITS", path=store.url)
    names = _partition_names(meta.path for meta, _, _ in read)
    # some writers keep partition columns inside splits too
    inside = _merged((columns.schema for _, _, columns in read), names)
    values = [parse_folder(meta.path) for meta, _, _ in read]
    partitions = [Field(name, _inferred([v.get(name) for v in values])) for name in names]
    schema = Struct((*inside.fields, *partitions))
    fields = {field["name"]: field for _, _, columns in read for field in columns.fields}
    lean = any(columns.lean for _, _, columns in read)
    return RebuildPlan(
        schema,
        names,
        tuple(fields[field.name] for field in inside.fields),
        tuple(_add(*each, schema, settings) for each in read),
        frozenset({LEAN_SPLITS} if lean else ()),
    )


def _merged(schemas: Iterable[Struct], without: Sequence[str]) -> Struct:
    """All columns there are; the first split that has one decides its type."""
    fields: dict[str, Field] = {}
    for schema in schemas:
        for field in schema.fields:
            if field.name not in without:
                fields.setdefault(field.name, field)
    return Struct(tuple(fields.values()))


def _partition_names(paths: Iterable[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for path in paths:
        for part in path.split("/")[:-1]:
            name, separator, _ = part.partition("=")
            if separator:
                found[unescape(name)] = None
    return tuple(found)


def _inferred(texts: Sequence[str | None]) -> DataType:
    """The type of a partition column, as Spark infers it from folder names."""
    given = [text for text in texts if text is not None]
    if given and all(_fits(text, _INT_LIMIT) for text in given):
        return Atomic("integer")
    if given and all(_fits(text, _LONG_LIMIT) for text in given):
        return Atomic("long")
    return Atomic(
        "date" if given and all(_parses(date.fromisoformat, t) for t in given) else "string"
    )


def _fits(text: str, limit: int) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and -limit <= int(text) < limit


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _add(
    meta: ObjectMeta, footer: SplitFooter, columns: SplitColumns, schema: Struct, settings: Settings
) -> AddFile:
    stats = {name: ColumnStats(low, high, 0) for name, (low, high) in columns.bounds.items()}
    low, high = render_extremes(stats, schema, settings)
    mapping = json.dumps(list(columns.doc_mapping), separators=(",", ":"), ensure_ascii=False)
    return AddFile(
        path=meta.path,
        partition_values=parse_folder(meta.path),
        size=meta.size,
        modification_time=meta.modified_ms,
        min_values=low or None,
        max_values=high or None,
        num_records=columns.rows,
        footer_start_offset=footer.footer_start,
        footer_end_offset=footer.size,
        has_footer_offsets=True,
        delete_opstamp=0,
        num_merge_ops=0,
        doc_mapping_json=mapping,
        uncompressed_size_bytes=footer.footer_start,
    )
