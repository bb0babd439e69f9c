"""The columns of a split, read from the split itself, for tables whose log is lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from indextables.commands.arrow_names import parse_arrow_name
from indextables.errors import error
from indextables.model.types import Atomic, DataType, Field, Struct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from indextables.commands.split_footer import SplitFooter
    from indextables.storage import Store

_SIDECAR = "_indextables.json"
_META = "meta.json"
_SOURCES = "_indextables_source."
# tantivy's field type -> type in a document mapping, and the column type other writers mean by it
_FIELDS = {
    "text": ("text", "string"),
    "i64": ("i64", "long"),
    "u64": ("u64", "long"),
    "f64": ("f64", "double"),
    "bool": ("bool", "boolean"),
    "date": ("datetime", "timestamp"),
    "bytes": ("bytes", "binary"),
    "ip_addr": ("ip", "string"),
    "json_object": ("object", "string"),
}
_ROLES = {"text": "text", "json": "json", "ip": "ip", "string": "string"}


@dataclass(frozen=True)
class SplitColumns:
    """The columns of a split: types, roles, and the document mapping for the log."""

    rows: int
    schema: Struct
    fields: tuple[Mapping[str, Any], ...]
    doc_mapping: tuple[Mapping[str, Any], ...]
    bounds: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    lean: bool = False


def read_columns(store: Store, footer: SplitFooter) -> SplitColumns:
    """Read the columns of a split of any writer."""
    meta = footer.read_json(store, _META)
    if meta is None:
        raise error("FILE_CORRUPT", path=footer.path, detail="it has no `meta.json`")
    written = [each for each in meta["schema"] if not each["name"].startswith(_SOURCES)]
    mapping = tuple(_mapping(each) for each in written)
    sidecar = footer.read_json(store, _SIDECAR)
    if sidecar is None:
        rows = sum(segment["max_doc"] for segment in meta["segments"])
        schema = Struct(tuple(Field(each["name"], _column_type(each)) for each in written))
        return SplitColumns(rows, schema, tuple(_guess(each) for each in written), mapping)
    columns: Sequence[Mapping[str, Any]] = sidecar["columns"]
    return SplitColumns(
        rows=sidecar["rows"],
        schema=Struct(tuple(Field(c["name"], parse_arrow_name(c["type"])) for c in columns)),
        fields=tuple(_field(c, mapping) for c in columns),
        doc_mapping=mapping,
        bounds={
            c["name"]: (c["min"], c["max"])
            for c in columns
            if c.get("min") is not None and c.get("max") is not None
        },
        lean=sidecar.get("layout") == "lean",
    )


def _column_type(written: Mapping[str, Any]) -> DataType:
    return Atomic(_FIELDS[written["type"]][1])


def _options(written: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = written.get("options") or {}
    return found


def _mapping(written: Mapping[str, Any]) -> dict[str, Any]:
    """Return a field as in the document mapping of the log."""
    options = _options(written)
    indexing = options.get("indexing")
    found = {
        "name": written["name"],
        "type": _FIELDS[written["type"]][0],
        "stored": bool(options.get("stored")),
        "indexed": bool(indexing) or bool(options.get("indexed")),
        "fast": bool(options.get("fast")),
    }
    if isinstance(indexing, dict):
        found["tokenizer"] = indexing.get("tokenizer", "raw")
    if written["type"] == "json_object":
        found |= {
            "expand_dots": bool(options.get("expand_dots_enabled")),
            "fast_tokenizer": "raw",
            "field_mappings": [],
        }
    return found


def _field(column: Mapping[str, Any], mapping: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    role = _ROLES.get(column["encoding"], "auto")
    known = next((each for each in mapping if each["name"] == column["name"]), {})
    return _planned(column["name"], role, known)


def _guess(written: Mapping[str, Any]) -> dict[str, Any]:
    """Infer the role of another writer's column from its index options."""
    known = _mapping(written)
    roles = {"object": "json", "ip": "ip"}
    role = roles.get(known["type"], "auto")
    if known["type"] == "text":
        role = "string" if known.get("tokenizer") == "raw" else "text"
    return _planned(written["name"], role, known)


def _planned(name: str, role: str, known: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: known[key] for key in ("fast", "stored", "indexed") if key in known}
    planned: dict[str, Any] = {"name": name, "role": role, **kept}
    if role == "text":
        planned["tokenizer"] = known.get("tokenizer", "default")
    return planned
