"""Words of the dictionaries of a table: completions and corrections."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from indextables.config import read as keys
from indextables.errors import error
from indextables.plan.tree import ALL
from indextables.read.rows import ask_splits
from indextables.read.spec import sources_of, spec_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from indextables.engine.split import Split
    from indextables.plan.columns import ColumnInfo
    from indextables.read.table import OpenTable

T = TypeVar("T")
# the number of words of each split that are counted together
_MOST_WORDS = 1000
_MOST_EDITS = 2


def suggest_words(
    table: OpenTable, columns: Sequence[str], text: str, limit: int, *, similar: bool
) -> list[tuple[str, int]]:
    """Words of columns that complete the last word of a text, or are similar to it.

    Each has its number of rows; the word itself is not one of its corrections.
    """
    for column in columns:
        require_words(table, column)
    if not similar:
        return _commonest(_count(table, columns, text, None), limit)
    for distance in range(1, _MOST_EDITS + 1):
        found = _count(table, columns, text, distance)
        found.pop(text.strip().lower(), None)
        if found:
            return _commonest(found, limit)
    return []


def count_words(table: OpenTable, column: str, words: Sequence[str]) -> list[int]:
    """The number of rows that have each word of a column."""
    counts = _ask(table, lambda split: split.frequencies(column, words), most=0)
    return [sum(rows) for rows in zip([0] * len(words), *counts, strict=True)]


def text_columns(table: OpenTable) -> list[str]:
    """The columns whose dictionaries hold words."""
    return [info.name for info in table.columns.searchable if info.tokenized]


def require_words(table: OpenTable, column: str) -> None:
    """Raise an error if a column has no dictionary of words."""
    info = table.columns.get(column)
    if info is None or not _has_words(info):
        names = [i.name for i in table.columns.infos if _has_words(i)]
        raise error("COLUMN_UNKNOWN", columns=column, available=", ".join(names))


def _has_words(info: ColumnInfo) -> bool:
    searched = info.indexed and not info.partition and info.role in ("text", "string")
    return searched and not info.hashed


def _commonest(words: Counter[str], limit: int) -> list[tuple[str, int]]:
    return sorted(words.items(), key=lambda each: (-each[1], each[0]))[:limit]


def _count(
    table: OpenTable, columns: Sequence[str], text: str, distance: int | None
) -> Counter[str]:
    """Words of the largest splits with their number of rows."""

    def words(split: Split) -> Counter[str]:
        counted: Counter[str] = Counter()
        for column in columns:
            if distance is None:
                found = split.complete(column, text, _MOST_WORDS)
            else:
                found = split.similar(column, text, distance, _MOST_WORDS)
            counted.update(dict(found))
        return counted

    most = table.settings.get(keys.SUGGEST_MAX_SPLITS)
    return sum(_ask(table, words, most), Counter[str]())


def _ask(table: OpenTable, ask: Callable[[Split], T], most: int) -> list[T]:
    """The answers of live splits: of all, or of the `most` largest ones."""
    files = table.snapshot.files()
    if 0 < most < files.num_rows:
        largest = files.sort_by([("size", "descending"), ("path", "ascending")])
        files = largest.slice(0, most)
    spec = spec_of(table.store, table.settings, table.snapshot, pa.schema([]), queries=[ALL])
    return ask_splits(spec, sources_of(files, [0] * files.num_rows), ask)
