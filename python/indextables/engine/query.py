"""The query language, parsed by the engine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from indextables import _native

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def parse_query(
    text: str,
    fields: Sequence[Mapping[str, Any]],
    default_fields: Sequence[str] = (),
    mode: str = "any",
) -> dict[str, Any]:
    """The query tree of a search text, or an error that points at the position.

    `fields` are the columns that may be named: `name`, `type` (Spark's name of the type), `role`
    (string, text, json, ip) and, for text, `record`. Words without a field are looked up in
    `default_fields`, or in all fields the mode (any, text, exact) admits.
    """
    options = {"fields": list(default_fields), "mode": mode}
    described = json.dumps([dict(field) for field in fields])
    tree: dict[str, Any] = json.loads(_native.parse_query(text, described, json.dumps(options)))
    return tree
