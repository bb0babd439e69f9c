"""A folder of Parquet files that are added, removed and rewritten under the same name."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from tests.companions.rows import DAYS, Row, RowMaker, to_arrow

# Spark takes the schema of the first file by path
_FIRST = "0000.parquet"
_NULL = "__HIVE_DEFAULT_PARTITION__"


def _escaped(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):02X}"


class ParquetHistory:
    """Files with and without a column, with narrower types, optionally partitioned by day."""

    kind = "PARQUET"
    # older states of a folder are lost with its files
    lossy = True

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.maker, self._clock = RowMaker(rng), 10**9
        self._root = folder / "folder"
        self.location = str(self._root)
        self._days = rng.random() < 0.5
        self._files: dict[Path, list[Row]] = {}
        self._write(self._root / self._folder(None) / _FIRST, None)
        self._write(self._root / self._folder("x") / "b.parquet", "x")

    def change(self) -> str:
        name = self.maker.rng.choice(["add", "add", "remove", "rewrite", "hidden"])
        getattr(self, name)()
        return name

    def now(self) -> tuple[str, list[Row]]:
        """The rows, with the columns that the first file has."""
        first = min(self._files, key=lambda path: str(path.relative_to(self._root)))
        names = [name for name in self._files[first][0] if not (self._days and name == "day")]
        names += ["day"] if self._days else []
        return "", [{n: row.get(n) for n in names} for rows in self._files.values() for row in rows]

    def past(self) -> dict[str, list[Row]]:
        """Return nothing: a folder has no versions."""
        return {}

    def _folder(self, day: str | None) -> str:
        if not self._days:
            return "."
        # escaped as in Hive and Spark: non-ASCII letters stay
        return f"day={_NULL if day is None else re.sub('[/=%]', _escaped, day)}"

    def _write(self, path: Path, day: str | None) -> None:
        rng = self.maker.rng
        first = path.name == _FIRST
        rows = self.maker.rows(extra=first or rng.random() < 0.5)
        if self._days:
            rows = [row | {"day": day} for row in rows]
        table = to_arrow(rows).drop_columns(["day"] if self._days else [])
        if not first and rng.random() < 0.3:
            table = table.set_column(0, "id", table["id"].cast(pa.int32()))
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path, write_page_index=rng.random() < 0.5, row_group_size=5)
        self._clock += 1
        os.utime(path, (self._clock, self._clock))
        self._files[path] = rows

    def add(self) -> None:
        day = self.maker.rng.choice(DAYS)
        self._write(self._root / self._folder(day) / f"f{self.maker.made}.parquet", day)

    def _some(self) -> Path | None:
        others = sorted(path for path in self._files if path.name != _FIRST)
        return self.maker.rng.choice(others) if others else None

    def remove(self) -> None:
        path = self._some()
        if path is not None:
            path.unlink()
            del self._files[path]

    def rewrite(self) -> None:
        path = self._some()
        if path is not None:
            self._write(path, self._files[path][0]["day"])

    def hidden(self) -> None:
        """Add files that Spark does not read."""
        (self._root / "_SUCCESS").write_bytes(b"")
        (self._root / ".part.crc").write_bytes(b"crc")
        (self._root / "_temporary").mkdir(exist_ok=True)
        (self._root / "_temporary" / "x.parquet").write_bytes(b"not yet")
