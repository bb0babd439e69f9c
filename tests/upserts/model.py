"""A model of a table with a primary key: a dictionary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.upserts.tables import ARROW, Row

_AT = {name: at for at, name in enumerate(ARROW.names)}


@dataclass
class Model:
    """Rows by key."""

    options: dict[str, str]
    rows: dict[Row, Row] = field(default_factory=dict)

    def key(self, row: Row) -> Row:
        return tuple(row[_AT[name]] for name in self.options["primary-key"].split(","))

    def upsert(self, tasks: Sequence[Sequence[Row]], overwrite: bool = False) -> None:
        if overwrite:
            self.rows.clear()
        engine = self.options.get("merge-engine", "deduplicate")
        by_key: dict[Row, list[Row]] = {}
        for task in tasks:
            for row in task:
                by_key.setdefault(self.key(row), []).append(row)
        for key, new in by_key.items():
            old = [self.rows.pop(key)] if key in self.rows else []
            left = self._left(old, new, engine)
            if left is not None:
                self.rows[key] = left

    def _left(self, old: list[Row], new: list[Row], engine: str) -> Row | None:
        if self.options.get("ignore-delete") == "true" or engine == "first-row":
            new = [row for row in new if not self._deletes(row)]
        if engine == "first-row":
            return (old + new)[0] if old + new else None
        order = old + new
        if "sequence.field" in self.options:
            order = sorted(order, key=lambda row: (row[4] is not None, row[4] or 0))
        left: list[Row] = []
        for row in order:
            # existing rows are live, whatever their column says
            gone = self._deletes(row) and not any(row is each for each in old)
            left = [] if gone else [*left, row]
        if not left:
            return None
        if engine != "partial-update":
            return left[-1] if order[-1] is left[-1] else None
        return tuple(_last(column) for column in zip(*left, strict=True))

    def _deletes(self, row: Row) -> bool:
        return "rowkind.field" in self.options and row[_AT["op"]] in ("-D", "-U")

    def list(self) -> list[Row]:
        return sorted(self.rows.values(), key=str)


def _last(column: Sequence[object]) -> object:
    known = [value for value in column if value is not None]
    return known[-1] if known else None
