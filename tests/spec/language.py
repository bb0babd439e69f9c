"""Parse spec files into blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Block:
    """One block: the words of its first line, the lines after it, and its line number."""

    line: int
    head: str
    body: tuple[str, ...]

    @property
    def kind(self) -> str:
        return self.head.split()[0]

    @property
    def rest(self) -> str:
        return self.head.partition(" ")[2].strip()

    @property
    def command(self) -> str:
        lines = self.body[: self.body.index("----")] if "----" in self.body else self.body
        return "\n".join(lines)

    @property
    def expected(self) -> list[list[str]]:
        """The header and rows after the line of dashes."""
        lines = self.body[self.body.index("----") + 1 :]
        return [[cell.strip() for cell in line.split("|")] for line in lines]


def read_blocks(path: Path) -> list[Block]:
    blocks, current, start = [], [], 0
    for number, line in enumerate([*path.read_text().splitlines(), ""], 1):
        if line.startswith("#"):
            continue
        if line.strip():
            start = start if current else number
            current.append(line.rstrip())
        elif current:
            blocks.append(Block(start, current[0], tuple(current[1:])))
            current = []
    return blocks


_CREATE = re.compile(r"(\w+) \((.*?)\)(?: partitioned by \((.*?)\))?$")


@dataclass(frozen=True)
class TableSpec:
    """The table of a `create` block."""

    name: str
    columns: tuple[tuple[str, str], ...]
    partition_columns: tuple[str, ...]


def read_table(text: str) -> TableSpec:
    found = _CREATE.match(text)
    assert found, text
    columns = tuple(tuple(part.split()) for part in found[2].split(", "))
    partitions = tuple(part.strip() for part in (found[3] or "").split(",") if part.strip())
    return TableSpec(found[1], columns, partitions)


def shown(value) -> str:
    """A value of an answer in the notation of spec files."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
