"""Rows of generated sources: few words, few levels, nulls, partitions with unusual names."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import pyarrow as pa

Row = dict[str, Any]

LEVELS = (None, "INFO", "WARN", "ERROR")
DAYS = ("x", "y y", "z/é=%", None)
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("message", pa.string()),
        ("level", pa.string()),
        ("amount", pa.float64()),
        ("seen", pa.date32()),
        ("day", pa.string()),
    ]
)


@dataclass
class RowMaker:
    """Makes rows with unique ids."""

    rng: random.Random
    made: int = field(default=0)

    def rows(self, most: int = 9, day: str | None = None, *, extra: bool = False) -> list[Row]:
        """Make a few rows, all of one day if it is given, optionally with the column `extra`."""
        days = DAYS if day is None else (day,)
        return [self._row(self.rng.choice(days), extra=extra) for _ in range(self._count(most))]

    def _count(self, most: int) -> int:
        return self.rng.randint(1, most)

    def _row(self, day: str | None, *, extra: bool) -> Row:
        self.made += 1
        number, rng = self.made, self.rng
        row: Row = {
            "id": number,
            "message": rng.choice(
                [None, f"word{number % 5} line{number} {'even' if number % 2 == 0 else 'odd'}"]
                if number % 7 == 0
                else [f"word{number % 5} line{number} {'even' if number % 2 == 0 else 'odd'}"]
            ),
            "level": rng.choice(LEVELS),
            "amount": None if number % 6 == 0 else rng.randint(-8, 8) / 4,
            "seen": None if number % 11 == 0 else date(2024, 1, 1) + timedelta(rng.randint(0, 40)),
            "day": day,
        }
        return row | ({"extra": rng.choice([None, number * 10])} if extra else {})


def to_arrow(rows: list[Row]) -> pa.Table:
    """Convert rows to an Arrow table for a writer."""
    kinds = {name: SCHEMA.field(name).type for name in SCHEMA.names} | {"extra": pa.int64()}
    names = list(rows[0]) if rows else SCHEMA.names
    return pa.table(
        {name: pa.array([row.get(name) for row in rows], kinds[name]) for name in names}
    )
