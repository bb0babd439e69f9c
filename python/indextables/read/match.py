"""Searches of rows without an index, also of members of structs, maps and arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from indextables.engine.query import Fields, Query, match_rows, parse_query
from indextables.errors import error
from indextables.expr.values import NESTED, kind_of
from indextables.model import kernels as pc
from indextables.model.types import Array, DataType, Map, Struct
from indextables.plan.matching import Described, field_path, query_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from indextables.model.types import Field
    from indextables.plan.tree import Tree

Path = tuple[str, ...]
# the role of a value that words without a field are not looked up in
MEMBER = "member"


@dataclass(frozen=True)
class _Member:
    """A nested field that a query names: its column, the way to its values, and their type."""

    column: str
    path: Path
    kind: str


@dataclass(frozen=True)
class RowSearch:
    """A search of rows: their columns, how each is searched, and the fields of plain words."""

    fields: tuple[Field, ...]
    described: tuple[Described, ...]
    field: str | None
    mode: str

    def match(self, text: str, batch: pa.RecordBatch) -> pa.Array:
        """Which rows of a batch a query matches, as an index with the same rows would."""
        members = self.members(text)
        if not members:
            return match_rows(Query(query_tree(text, self.field, self.mode)), batch, self.described)
        tree = self._parsed(text, members)
        found: dict[str, pa.Array] = {}

        def answered(leaf: Tree) -> Tree:
            member = members.get(leaf["field"])
            if member is None:
                return leaf
            # no column has a name that begins so
            name = f"\1{len(found)}"
            found[name] = _hits(leaf, batch.column(member.column), member)
            return {"type": "term", "field": name, "value": True}

        tree = _with_leaves(tree, answered)
        for name, hits in found.items():
            batch = batch.append_column(name, hits)
        truths: list[Described] = [{"name": name, "type": "boolean"} for name in found]
        return match_rows(Query(tree), batch, [*self.described, *truths])

    def members(self, text: str) -> dict[str, _Member]:
        """The nested fields that a query names; an error if only an index has them."""
        nested = {d["name"]: d for d in self.described if d["type"] in NESTED or _is_json(d)}
        if not nested:
            return {}
        types = {field.name: field.type for field in self.fields}
        found: dict[str, _Member] = {}
        for leaf in _leaves(self._parsed(text, {})):
            path = field_path(leaf["field"], types)
            if path[0] not in nested:
                continue
            if _is_json(nested[path[0]]):
                raise error("SEARCH_NOT_PUSHED", search=f"{leaf['field']}:...")
            found[leaf["field"]] = _Member(path[0], path[1:], _kind(types[path[0]], path[1:]))
        return found

    def _parsed(self, text: str, members: Mapping[str, _Member]) -> Tree:
        """The query as a tree, by the types of its fields."""
        typed: list[Described] = [
            {"name": name, "type": member.kind, "role": MEMBER} for name, member in members.items()
        ]
        others = [d for d in self.described if d["name"] not in members]
        wanted = [] if self.field is None else [self.field]
        return parse_query(text, Fields([*others, *typed]), wanted, self.mode).tree


def _is_json(described: Described) -> bool:
    return described.get("role") == "json"


def _kind(data_type: DataType, path: Path) -> str:
    """The kind of the values at the end of a path; those of a list are its elements."""
    while isinstance(data_type, Array):
        data_type = data_type.element
    if not path:
        return kind_of(data_type)
    if isinstance(data_type, Map):
        return _kind(data_type.value, path[1:])
    if isinstance(data_type, Struct):
        member = next((f for f in data_type.fields if f.name == path[0]), None)
        return "struct" if member is None else _kind(member.type, path[1:])
    return "struct"  # nothing is there


def _leaves(tree: Tree) -> Iterator[Tree]:
    for arg in _arguments(tree):
        yield from _leaves(arg)
    if "field" in tree:
        yield tree


def _arguments(tree: Tree) -> list[Tree]:
    return tree.get("args") or ([tree["arg"]] if "arg" in tree else [])


def _with_leaves(tree: Tree, change: Callable[[Tree], Tree]) -> Tree:
    if "args" in tree:
        return {**tree, "args": [_with_leaves(arg, change) for arg in tree["args"]]}
    if "arg" in tree:
        return {**tree, "arg": _with_leaves(tree["arg"], change)}
    return change(tree) if "field" in tree else tree


def _hits(leaf: Tree, values: pa.Array, member: _Member) -> pa.Array:
    """Which rows have a value at the end of the path for which a condition holds."""
    if leaf["type"] == "exists" and not member.path:
        return values.is_valid()
    return _inside(leaf, values, member.path, member.kind)


def _inside(leaf: Tree, values: pa.Array, path: Path, kind: str) -> pa.Array:
    if pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        hits = _inside(leaf, pc.list_flatten(values), path, kind)
        rows = pc.unique(pc.list_parent_indices(values).filter(hits))
        return pc.is_in(_row_numbers(len(values), rows.type), rows)
    if path:
        found = _member(values, path[0])
        return _nowhere(values) if found is None else _inside(leaf, found, path[1:], kind)
    if pa.types.is_nested(values.type):
        return values.is_valid() if leaf["type"] == "exists" else _nowhere(values)
    batch = pa.RecordBatch.from_arrays([values], ["value"])
    described: list[Described] = [{"name": "value", "type": kind}]
    return match_rows(Query({**leaf, "field": "value"}), batch, described)


def _member(values: pa.Array, name: str) -> pa.Array | None:
    """The member or the values of a key; None if there can be none."""
    if pa.types.is_struct(values.type):
        known = values.type.get_field_index(name) >= 0
        return pc.struct_field(values, [name]) if known else None
    if pa.types.is_map(values.type):
        key = _key(name, values.type.key_type)
        return None if key is None else pc.map_lookup(values, key, "first")
    return None


def _nowhere(values: pa.Array) -> pa.Array:
    return pa.repeat(pa.scalar(value=False), len(values))


def _row_numbers(count: int, data_type: pa.DataType) -> pa.Array:
    ones = pa.repeat(pa.scalar(1, data_type), count)
    return pc.subtract(pc.cumulative_sum(ones), pa.scalar(1, data_type))


def _key(text: str, data_type: pa.DataType) -> pa.Scalar | None:
    """A key of a map as a query writes it; None if no key is written so."""
    try:
        return pa.scalar(text).cast(data_type)
    except pa.ArrowInvalid:
        return None
