"""The actions of a log file: those of splits stay columnar until they are requested."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pyarrow as pa

from indextables.log import entries
from indextables.log.actions import Action

# the kinds of lines, as the engine reports them
ADD, REMOVE, OTHER = range(3)
# rows that are converted to actions at a time
_CHUNK = 1000
_NO_REMOVES = pa.Table.from_batches([], entries.REMOVES)


class LogActions(Collection[Action]):
    """The actions of a log file, in order.

    `kinds` has one byte per action. `others` are those that neither add nor remove a split.
    """

    def __init__(
        self,
        kinds: bytes,
        adds: pa.Table | None,
        removes: pa.Table | None,
        others: tuple[Action, ...],
    ) -> None:
        self.kinds = kinds
        self.adds = entries.EMPTY if adds is None else adds
        self.removes = _NO_REMOVES if removes is None else removes
        self.others = others

    def __len__(self) -> int:
        return len(self.kinds)

    def __contains__(self, action: object) -> bool:
        return any(action == each for each in self)

    def __iter__(self) -> Iterator[Action]:
        rows: Mapping[int, Iterator[Any]] = {
            ADD: _made(self.adds, entries.to_adds),
            REMOVE: _made(self.removes, entries.to_removes),
            OTHER: iter(self.others),
        }
        return (next(rows[kind]) for kind in self.kinds)


def _made(table: pa.Table, make: Any) -> Iterator[Action]:
    for start in range(0, table.num_rows, _CHUNK):
        yield from make(table.slice(start, _CHUNK))
