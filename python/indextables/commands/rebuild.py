"""Rebuild a table's schema and entries from its splits alone."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from indextables.engine.split import Split
from indextables.engine.writer import ColumnStats
from indextables.errors import CorruptError, StorageError, error
from indextables.log.actions import AddFile
from indextables.log.partitions import parse_folder, unescape
from indextables.log.protocol import LEAN_SPLITS
from indextables.model.types import Atomic, DataType, Field, Struct, parse_type
from indextables.runtime.handles import native_store
from indextables.save.statistics import render_extremes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from indextables.config.settings import Settings
    from indextables.storage import ObjectMeta, Store

_log = logging.getLogger("indextables.repair")
_INT_LIMIT = 2**31
_LONG_LIMIT = 2**63
# encodings of columns that are more than their type says
_ROLES = frozenset({"string", "text", "json", "ip"})


@dataclass(frozen=True)
class DescribedSplit:
    """A split and what it says about itself, see `_native.Split.describe`."""

    meta: ObjectMeta
    said: Mapping[str, Any]

    @property
    def schema(self) -> Struct:
        """The columns in it."""
        columns = self.said["columns"]
        return Struct(tuple(Field(c["name"], parse_type(c["type"], c["name"])) for c in columns))

    @property
    def fields(self) -> list[Mapping[str, Any]]:
        """How its columns were indexed, in the form of the writer."""
        mapped = {each["name"]: each for each in self.said["doc_mapping"]}
        return [_field(column, mapped.get(column["name"], {})) for column in self.said["columns"]]

    @property
    def bounds(self) -> Mapping[str, ColumnStats]:
        """The bounds of the columns that have any."""
        return {
            column["name"]: ColumnStats(column["min"], column["max"], column["nulls"])
            for column in self.said["columns"]
            if column.get("min") is not None and column.get("max") is not None
        }


def _field(column: Mapping[str, Any], mapped: Mapping[str, Any]) -> Mapping[str, Any]:
    role = column["encoding"] if column["encoding"] in _ROLES else "auto"
    kept = {key: mapped[key] for key in ("fast", "stored", "indexed") if key in mapped}
    tokenizer = {"tokenizer": mapped.get("tokenizer", "default")} if role == "text" else {}
    return {"name": column["name"], "role": role, **kept, **tokenizer}


@dataclass(frozen=True)
class RebuildPlan:
    """The contents of a new log."""

    schema: Struct
    partition_columns: tuple[str, ...]
    fields: tuple[Mapping[str, Any], ...]
    adds: tuple[AddFile, ...]
    features: frozenset[str]


def find_splits(store: Store) -> list[ObjectMeta]:
    """Return all splits in a table's folder, except hidden ones, which are unfinished."""
    found = (meta for meta in store.list("") if meta.path.endswith(".split"))
    return [meta for meta in found if not meta.path.rpartition("/")[2].startswith(".")]


def plan_rebuild(store: Store, splits: Sequence[ObjectMeta], settings: Settings) -> RebuildPlan:
    """Read the metadata of every split, skipping those that cannot be read."""
    read: list[DescribedSplit] = []
    native = native_store(*store.native())
    for meta in splits:
        try:
            read.append(DescribedSplit(meta, Split(native, meta.path).describe()))
        except (CorruptError, StorageError) as problem:
            _log.warning("skipping `%s`: %s", meta.path, problem)
    if not read:
        raise error("REPAIR_NO_SPLITS", path=store.url)
    names = _partition_names(split.meta.path for split in read)
    # some writers also store partition columns in splits
    inside = _merged((split.schema for split in read), names)
    values = [parse_folder(split.meta.path) for split in read]
    partitions = [Field(name, _inferred([v.get(name) for v in values])) for name in names]
    schema = Struct((*inside.fields, *partitions))
    fields = {field["name"]: field for split in read for field in split.fields}
    lean = any(split.said["layout"] == "lean" for split in read)
    return RebuildPlan(
        schema,
        names,
        tuple(fields[field.name] for field in inside.fields),
        tuple(_add(split, schema, settings) for split in read),
        frozenset({LEAN_SPLITS} if lean else ()),
    )


def _merged(schemas: Iterable[Struct], without: Sequence[str]) -> Struct:
    """Return all columns; the first split that has a column determines its type."""
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
    """Infer the type of a partition column from folder names, as Spark does."""
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


def _add(split: DescribedSplit, schema: Struct, settings: Settings) -> AddFile:
    meta, said = split.meta, split.said
    low, high = render_extremes(split.bounds, schema, settings)
    mapping = json.dumps(said["doc_mapping"], separators=(",", ":"), ensure_ascii=False)
    return AddFile(
        path=meta.path,
        partition_values=parse_folder(meta.path),
        size=meta.size,
        modification_time=meta.modified_ms,
        min_values=low or None,
        max_values=high or None,
        num_records=said["num_docs"],
        footer_start_offset=said["footer_start"],
        footer_end_offset=said["footer_end"],
        has_footer_offsets=True,
        delete_opstamp=0,
        num_merge_ops=0,
        doc_mapping_json=mapping,
        uncompressed_size_bytes=said["footer_start"],
    )
