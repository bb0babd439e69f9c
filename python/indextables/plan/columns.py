"""The capabilities of each column: its role in the index, and the predicates it can answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from indextables.engine.query import Fields
from indextables.expr.values import FLOATING, NESTED, UNORDERED, kind_of
from indextables.log.actions import INDEXING_KEY
from indextables.model import kernels as pc
from indextables.model.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa

    from indextables.expr.predicate import Path
    from indextables.model.types import DataType, Struct

MAPPING_PREFIX = "docMappingSchema."
# the default limit of a tokenizer
_TOKEN_LENGTH = 255
# tokenizers with one token per value: the value itself, or its hash
_RAW, HASH = "raw", "hash"
# kinds that other writers store as strings, in string order
AS_TEXT_KINDS = frozenset(kind.name for kind in KINDS.values() if kind.text_elsewhere)


def is_tokenized(role: str, tokenizer: str) -> bool:
    """Whether an index with this role and tokenizer holds words rather than whole values."""
    return role == "text" and tokenizer not in (_RAW, HASH)


@dataclass(frozen=True)
class ColumnInfo:
    """One top-level column. `role` is string, text, json, ip, or auto for all that is not text.

    `as_text` says that another writer stored numbers or timestamps as strings, in string order.
    `trigrams` says that the index finds substrings.
    """

    name: str
    type: DataType
    role: str = "auto"
    tokenizer: str = "raw"
    token_length: int = 255
    record: str = "basic"
    partition: bool = False
    fast: bool = True
    indexed: bool = True
    stored: bool = True
    as_text: bool = False
    known: bool = False
    trigrams: bool = False

    @property
    def analyzer(self) -> str:
        """The tokenizer by its name in the index, with its limit of token bytes."""
        if self.role not in ("text", "json") or self.tokenizer == "raw":
            return "raw"
        limited = self.token_length != _TOKEN_LENGTH
        return f"{self.tokenizer}_limit_{self.token_length}" if limited else self.tokenizer

    @property
    def tokenized(self) -> bool:
        """Whether the index holds words of the value rather than the value."""
        return is_tokenized(self.role, self.tokenizer)

    @property
    def hashed(self) -> bool:
        """Whether the index holds a hash of the value; the value itself decides."""
        return self.role == "text" and self.tokenizer == HASH

    @property
    def columnar(self) -> bool:
        """Whether whole values are columnar, which sorting and aggregating need."""
        kind = kind_of(self.type)
        if not self.fast or self.role in ("text", "json") or kind in NESTED:
            return False
        typed = self.known and not self.as_text
        return typed or self.partition or kind not in AS_TEXT_KINDS

    @property
    def foldable(self) -> bool:
        """Whether the engine groups and compares whole values, column by column or row by row."""
        kind = kind_of(self.type)
        if kind in UNORDERED:
            return False
        # outside of columns, floats have two zeros
        return self.columnar or (self.readable and kind not in FLOATING)

    @property
    def readable(self) -> bool:
        """Whether the engine can read whole values, by column or row by row."""
        return self.stored or self.columnar

    @property
    def ordered(self) -> bool:
        """Whether statistics in the log are known to follow the order of the values read back.

        JSON and IP addresses of other writers are read back in another form than their statistics.
        """
        if self.as_text or self.role in ("json", "ip"):
            return False
        return self.known or kind_of(self.type) not in AS_TEXT_KINDS


@dataclass(frozen=True)
class Columns:
    """All columns of a table, by name."""

    schema: Struct
    infos: tuple[ColumnInfo, ...]

    def get(self, name: str) -> ColumnInfo | None:
        """The column of exactly this name."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, ColumnInfo]:
        return {info.name: info for info in self.infos}

    def at(self, path: Path) -> ColumnInfo | None:
        """The column that a path begins with."""
        return self.get(path[0]) if path else None

    @cached_property
    def partition_names(self) -> tuple[str, ...]:
        """Partition columns, in schema order."""
        return tuple(info.name for info in self.infos if info.partition)

    @cached_property
    def searchable(self) -> tuple[ColumnInfo, ...]:
        """The columns that a search over all fields covers."""
        return tuple(info for info in self.infos if info.indexed and not info.partition)

    @cached_property
    def query_fields(self) -> Fields:
        """The same columns, as the engine's parser of search queries knows them."""
        return Fields(
            [
                {"name": c.name, "type": kind_of(c.type), "role": c.role, "record": c.record}
                for c in self.searchable
            ]
        )

    def comparable(self, path: Path) -> bool:
        """Whether the engine compares the values at a path as Spark does."""
        info = self.at(path)
        found = self.schema.find(path) if info is not None else None
        if info is None or found is None or not info.readable or not self.reachable(path):
            return False
        return kind_of(found.type) not in NESTED and info.role != "ip"

    def foldable(self, path: Path) -> bool:
        """Whether the engine groups, compares and adds the values at a path as Spark does."""
        info = self.at(path)
        if info is None or len(path) == 1:
            return info is not None and info.foldable
        steps = [self.schema.find(path[:depth]) for depth in range(1, len(path) + 1)]
        kinds = ["" if step is None else kind_of(step.type) for step in steps]
        compared = kinds[-1] not in (*UNORDERED, *NESTED, "")
        structs = all(kind == "struct" for kind in kinds[:-1])
        return structs and compared and info.readable and self.reachable(path)

    def testable(self, path: Path) -> bool:
        """Whether the engine distinguishes null from not null at a path."""
        if len(path) == 1:
            return self.at(path) is not None
        found = self.schema.find(path)
        return (
            found is not None
            and self.reachable(path)
            and kind_of(found.type) not in ("array", "map")
        )

    def reachable(self, path: Path) -> bool:
        """Whether the engine's form of a path is unambiguous."""
        return len(path) == 1 or (
            self.get(".".join(path)) is None and not any("\\" in part for part in path)
        )


def field_name(path: Path) -> str:
    """A path as the engine writes it: dots between the parts, escaped inside a part."""
    if len(path) == 1:
        return path[0]
    return ".".join(part.replace(".", "\\.") for part in path)


def file_mappings(files: pa.Table) -> list[str]:
    """Return the document mappings stored in the entries themselves."""
    if "docMappingJson" not in files.column_names:
        return []
    distinct = pc.unique(files.column("docMappingJson")).drop_null()
    return list(distinct.to_pylist())


def describe_columns(
    schema: Struct,
    partition_columns: Sequence[str] = (),
    configuration: Mapping[str, str] | None = None,
    mappings: Iterable[str] = (),
) -> Columns:
    """The columns of a table from its metadata.

    Our writer stores the roles in the configuration. For tables of other writers they follow from
    the document mappings: those of the configuration, and `mappings`, found in entries.
    """
    configuration = configuration or {}
    remembered = json.loads(configuration.get(INDEXING_KEY, "{}"))
    registered = [v for k, v in configuration.items() if k.startswith(MAPPING_PREFIX)]
    mapped = _merge_mappings([*registered, *mappings])
    infos = []
    for field in schema.fields:
        name = field.name
        known = {**mapped.get(name, {}), **remembered.get(name, {})}
        if name in mapped or name in remembered:
            known["known"] = True
        is_partition = field.name in partition_columns
        known = {} if is_partition else known
        infos.append(_info(field.name, field.type, known, partition=is_partition))
    return Columns(schema, tuple(infos))


def _info(
    name: str, column_type: DataType, known: Mapping[str, Any], *, partition: bool
) -> ColumnInfo:
    is_string = kind_of(column_type) == "string"
    role = str(known.get("role", "string")) if is_string else "auto"
    fast_by_nature = role != "text" and kind_of(column_type) != "binary"
    return ColumnInfo(
        name=name,
        type=column_type,
        role=role,
        tokenizer=str(known.get("tokenizer", "default" if role == "text" else "raw")),
        token_length=int(known.get("token_length", _TOKEN_LENGTH)),
        record=str(known.get("record", "position" if role == "text" else "basic")),
        partition=partition,
        fast=bool(known.get("fast", fast_by_nature)) and fast_by_nature,
        indexed=bool(known.get("indexed", True)),
        stored=bool(known.get("stored", True)),
        as_text=bool(known.get("as_text")) and kind_of(column_type) != "string",
        known=bool(known.get("known")),
        trigrams=bool(known.get("trigrams")),
    )


def _merge_mappings(texts: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Roles by column from document mappings; a column tokenized anywhere counts as tokenized."""
    merged: dict[str, dict[str, Any]] = {}
    for text in dict.fromkeys(texts):
        for field in read_mapping(text):
            known = _known(field)
            before = merged.get(field["name"])
            if before is not None:
                known = _weaker(before, known)
            merged[field["name"]] = known
    return merged


def read_mapping(text: str) -> list[Mapping[str, Any]]:
    """The fields of a document mapping; none if it is not one, which nothing may refer to."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    fields = value.get("field_mappings") if isinstance(value, dict) else value
    listed = fields if isinstance(fields, list) else []
    return [f for f in listed if isinstance(f, dict) and isinstance(f.get("name"), str)]


def _known(field: Mapping[str, Any]) -> dict[str, Any]:
    tokenizer = str(field.get("tokenizer") or "raw")
    known: dict[str, Any] = {
        "fast": bool(field.get("fast", True)),
        "indexed": bool(field.get("indexed", True)),
        "stored": bool(field.get("stored", True)),
    }
    if field.get("type") == "text" and tokenizer != "raw":
        known |= {"role": "text", "tokenizer": tokenizer, "record": field.get("record", "position")}
    elif field.get("type") == "text":
        known["as_text"] = True
    elif field.get("type") in ("ip", "ip_addr"):
        known["role"] = "ip"
    elif field.get("type") in ("object", "json"):
        known["role"] = "json"
    return known


def _weaker(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**one, **{k: v for k, v in other.items() if k not in one}}
    for flag in ("fast", "indexed", "stored"):
        merged[flag] = one[flag] and other[flag]
    return merged
