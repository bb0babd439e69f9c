"""Rebuild a table's schema and entries from its splits alone."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from indextables.config import log as keys
from indextables.engine.source import Run
from indextables.engine.split import Split
from indextables.engine.writer import ColumnStats
from indextables.errors import CorruptError, StorageError, error
from indextables.log.actions import AddFile, CompanionRun
from indextables.log.names import tables_below
from indextables.log.partitions import parse_folder, unescape
from indextables.log.protocol import COMPANION, LEAN_SPLITS
from indextables.model.types import Atomic, DataType, Field, Struct, parse_schema, parse_type
from indextables.plan.companion import (
    Companion,
    TableShape,
    plan_companion_fields,
    same_index,
)
from indextables.plan.fields import remember_fields
from indextables.runtime.handles import native_store
from indextables.runtime.side_by_side import side_by_side
from indextables.save.statistics import render_extremes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from indextables.config.settings import Settings
    from indextables.storage import ObjectMeta, Store

_log = logging.getLogger("indextables.repair")
_INT_LIMIT = 2**31
_LONG_LIMIT = 2**63
# encodings that are not determined by the column's type
_ROLES = frozenset({"string", "text", "json", "ip"})


@dataclass(frozen=True)
class DescribedSplit:
    """A split and what it says about itself, see `_native.Split.describe`."""

    meta: ObjectMeta
    facts: Mapping[str, Any]

    @property
    def schema(self) -> Struct:
        """The columns in it."""
        columns = self.facts["columns"]
        return Struct(tuple(Field(c["name"], parse_type(c["type"], c["name"])) for c in columns))

    @property
    def fields(self) -> list[Mapping[str, Any]]:
        """How its columns were indexed, in the form of the writer."""
        mapped = {each["name"]: each for each in self.facts["doc_mapping"]}
        return [_field(column, mapped.get(column["name"], {})) for column in self.facts["columns"]]

    @property
    def bounds(self) -> Mapping[str, ColumnStats]:
        """The bounds of the columns that have any."""
        return {
            column["name"]: ColumnStats(column["min"], column["max"], column["nulls"])
            for column in self.facts["columns"]
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
    configuration: Mapping[str, str]
    adds: tuple[AddFile, ...]
    features: frozenset[str]
    companion: bool = False


def find_splits(store: Store) -> list[ObjectMeta]:
    """Return all splits in a table's folder, except hidden ones, which are unfinished."""
    listed = list(store.list(""))
    others = tables_below(meta.path for meta in listed)
    found = (meta for meta in listed if meta.path.endswith(".split"))
    own = (meta for meta in found if not meta.path.startswith(others))
    return [meta for meta in own if not meta.path.rpartition("/")[2].startswith(".")]


def plan_rebuild(store: Store, splits: Sequence[ObjectMeta], settings: Settings) -> RebuildPlan:
    """Read the metadata of every split, skipping those that are damaged or gone."""
    read = _describe(store, splits, settings.get(keys.MAX_CONCURRENT_READS))
    if not read:
        raise error("REPAIR_NO_SPLITS", path=store.url)
    if any(split.facts["layout"] == "companion" for split in read):
        return _plan_companion(store.url, read, settings)
    names = _partition_names(split.meta.path for split in read)
    # some writers also store partition columns in splits
    inside = _merged((split.schema for split in read), names)
    values = [parse_folder(split.meta.path) for split in read]
    partitions = [Field(name, _inferred([v.get(name) for v in values])) for name in names]
    schema = Struct((*inside.fields, *partitions))
    fields = {field["name"]: field for split in read for field in split.fields}
    lean = any(split.facts["layout"] == "lean" for split in read)
    return RebuildPlan(
        schema,
        names,
        remember_fields([fields[field.name] for field in inside.fields]),
        tuple(_add(split, schema, settings) for split in read),
        frozenset({LEAN_SPLITS} if lean else ()),
    )


def _describe(store: Store, splits: Sequence[ObjectMeta], readers: int) -> list[DescribedSplit]:
    """Describe the splits; a store failure is an error, so that no split is left out."""
    native = native_store(*store.native())

    def one(meta: ObjectMeta) -> DescribedSplit | None:
        try:
            return DescribedSplit(meta, Split(native, meta.path).describe())
        except (CorruptError, StorageError) as problem:
            if not problem.is_lasting:
                raise
            _log.warning("skipping `%s`: %s", meta.path, problem)
            return None

    return [found for found in side_by_side(one, splits, readers) if found is not None]


def _plan_companion(path: str, splits: Sequence[DescribedSplit], settings: Settings) -> RebuildPlan:
    """The log of a companion; it matches no version of the source until the next BUILD.

    The newest split records the source and its schema. Splits that were built differently are left
    out, so that their files are indexed again. Splits of files that the source no longer has are
    harmless: the source decides what is read.
    """
    known = [(split, _BuiltAs.of(split)) for split in splits]
    ours = [(split, built) for split, built in known if built is not None]
    if len(ours) < len(splits):
        raise error("REPAIR_COMPANION", path=path)
    _, newest = max(ours, key=lambda each: each[0].meta.modified_ms)
    schema, names = newest.shape.schema, newest.shape.partition_columns
    fields = plan_companion_fields(newest.companion, schema, names, settings, bounded=False)
    alike = [split for split, built in ours if built.serves(newest)]
    return RebuildPlan(
        schema,
        names,
        {**newest.companion.to_configuration(), **remember_fields(fields)},
        tuple(_companion_add(split, schema, settings) for split in alike),
        frozenset({COMPANION}),
        companion=True,
    )


@dataclass(frozen=True)
class _BuiltAs:
    """The table that a split of a companion was built for."""

    companion: Companion
    shape: TableShape

    @classmethod
    def of(cls, split: DescribedSplit) -> _BuiltAs | None:
        table = (split.facts["source"] or {}).get("table")
        if table is None:
            return None
        companion = Companion.of(table["configuration"])
        names = tuple(table["partition_columns"])
        return cls(companion, TableShape(parse_schema(table["schema"]), companion.columns, names))

    def serves(self, newest: _BuiltAs) -> bool:
        """Whether the split can be used with the newest definition."""
        one, other = self.companion, newest.companion
        same_table = one.source_id == other.source_id
        return same_table and same_index(one, other) and self.shape.fits(newest.shape)


def _companion_add(split: DescribedSplit, schema: Struct, settings: Settings) -> AddFile:
    runs = [Run.from_json(value) for value in split.facts["source"]["runs"]]
    paths = list(dict.fromkeys(run.path for run in runs))
    return replace(
        _add(split, schema, settings),
        companion_source_files=tuple(paths),
        companion_runs=tuple(
            CompanionRun(
                paths.index(run.path), run.row, run.rows, run.file_rows or 0, run.size, run.stamp
            )
            for run in runs
        ),
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
    meta, facts = split.meta, split.facts
    low, high = render_extremes(split.bounds, schema, settings)
    mapping = json.dumps(facts["doc_mapping"], separators=(",", ":"), ensure_ascii=False)
    return AddFile(
        path=meta.path,
        partition_values=parse_folder(meta.path),
        size=meta.size,
        modification_time=meta.modified_ms,
        min_values=low or None,
        max_values=high or None,
        num_records=facts["num_docs"],
        footer_start_offset=facts["footer_start"],
        footer_end_offset=facts["footer_end"],
        has_footer_offsets=True,
        delete_opstamp=0,
        num_merge_ops=0,
        doc_mapping_json=mapping,
        uncompressed_size_bytes=facts["footer_start"],
    )
