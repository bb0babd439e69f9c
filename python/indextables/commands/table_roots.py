"""TABLE ROOT: where a companion's source files stand, by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from indextables.commands.timestamps import moment
from indextables.errors import error
from indextables.log import operations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indextables.log import Metadata
    from indextables.read.table import OpenTable, Row

_PREFIX = "indextables.companion.tableRoots."
_ENABLED = "indextables.companion.enabled"
_SET_AT = ".timestamp"


def run_set_table_root(table: OpenTable, name: str, path: str) -> list[Row]:
    """Remember a root."""
    key, now = _PREFIX + name, str(table.now_ms())
    _change(table, {key: path, key + _SET_AT: now}, name)
    return [{"status": f"Table root '{name}' set to '{path}'"}]


def run_unset_table_root(table: OpenTable, name: str) -> list[Row]:
    """Forget a root; one that does not exist is no failure."""
    _require_companion(table)
    key = _PREFIX + name
    if key not in table.snapshot.metadata.configuration:
        return [{"status": f"Table root '{name}' does not exist (no-op)"}]
    _change(table, {key: None, key + _SET_AT: None}, name)
    return [{"status": f"Table root '{name}' removed"}]


def run_describe_table_roots(table: OpenTable) -> list[Row]:
    """All roots."""
    _require_companion(table)
    found = table.snapshot.metadata.configuration
    names = sorted(
        key.removeprefix(_PREFIX)
        for key in found
        if key.startswith(_PREFIX) and not key.endswith(_SET_AT)
    )
    return [
        {
            "root_name": name,
            "root_path": found[_PREFIX + name],
            "set_timestamp": _shown(found.get(_PREFIX + name + _SET_AT)),
        }
        for name in names
    ]


def _shown(millis: str | None) -> str | None:
    at = moment(int(millis)) if millis is not None and millis.isdigit() else None
    return millis if at is None else at.isoformat()


def _change(table: OpenTable, values: Mapping[str, str | None], name: str) -> None:
    _require_companion(table)

    def change(metadata: Metadata) -> Metadata:
        merged = {**metadata.configuration, **values}
        kept = {key: value for key, value in merged.items() if value is not None}
        return replace(metadata, configuration=kept)

    table.log.commit(
        operations.change_metadata(table.snapshot, change, parameters={"tableRoot": name})
    )


def _require_companion(table: OpenTable) -> None:
    if table.snapshot.metadata.configuration.get(_ENABLED) != "true":
        raise error("COMPANION_REQUIRED", path=table.path)
