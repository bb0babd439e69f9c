"""Lance with an inverted index (with positions) on the messages and a B-tree on the ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lance
import pyarrow.compute as pc
from lance.query import BooleanQuery, MatchQuery, Occur, PhraseQuery

from benches.peers import changing
from benches.peers import queries as q

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pyarrow as pa

# the first count of a new process
FIRST = f"""
import lance
from lance.query import MatchQuery
query = MatchQuery("{q.FILTERED}", "message")
found = lance.dataset("events.lance").scanner(columns=["id", "_score"], full_text_query=query)
print(found.to_table().num_rows)
"""


def _all_of(words: Sequence[str]) -> BooleanQuery:
    return BooleanQuery([(Occur.MUST, MatchQuery(word, "message")) for word in words])


def _write(rows: pa.Table, path: Path) -> lance.LanceDataset:
    data = lance.write_dataset(rows, str(path))
    data.create_scalar_index(
        "message", "INVERTED", with_position=True, stem=False, remove_stop_words=False,
        ascii_folding=False,
    )  # fmt: skip
    data.create_scalar_index("id", "BTREE")
    return data


def build(rows: pa.Table, folder: Path) -> dict[str, Callable[[], object]]:
    """Write a dataset and query it."""
    data = _write(rows, folder / "events.lance")

    def count(query: object) -> object:
        return (
            data.scanner(columns=["id"], disable_scoring_autoprojection=True, full_text_query=query)
            .to_table()
            .num_rows
        )

    def grouped(**what: object) -> dict[str, int]:
        found = data.scanner(
            columns=["service"], disable_scoring_autoprojection=True, **what
        ).to_table()
        counts = found.group_by("service").aggregate([([], "count_all")])
        return dict(
            zip(counts["service"].to_pylist(), counts["count_all"].to_pylist(), strict=True)
        )

    def newest() -> list[int]:
        found = data.scanner(
            columns=["id"], disable_scoring_autoprojection=True, full_text_query=words(q.FILTERED)
        ).to_table()["id"]
        return pc.take(found, pc.array_sort_indices(found, "descending")[: q.TOP]).to_pylist()

    def best() -> int:
        found = data.scanner(full_text_query=words(q.FILTERED), limit=q.TOP).to_table()
        return int(found.num_rows)

    def lookup() -> list[str]:
        found = data.scanner(filter=f"id = {q.wanted.id}").to_table()
        return list(found["message"].to_pylist())

    def words(*given: str) -> MatchQuery:
        return MatchQuery(" ".join(given), "message")

    contains = f"contains(message, '{q.SUBSTRING}')"
    return {
        q.COUNT_RARE: lambda: count(words(q.wanted.rare)),
        q.COUNT_COMMON: lambda: count(words(q.COMMON)),
        q.COUNT_PHRASE: lambda: count(PhraseQuery(q.PHRASE, "message")),
        q.COUNT_ALL_OF: lambda: count(_all_of(q.ALL_OF)),
        q.COUNT_ANY_OF: lambda: count(words(*q.ANY_OF)),
        q.BEST: best,
        q.NEWEST: newest,
        q.LOOKUP: lookup,
        q.FILTER_GROUP: lambda: grouped(
            full_text_query=words(q.FILTERED), filter="level = 'ERROR'", prefilter=True
        ),
        q.GROUP: grouped,
        q.CONTAINS: lambda: data.count_rows(filter=contains),
    }


def change(rows: pa.Table, folder: Path) -> dict[str, Callable[[pa.Table, str], int]]:
    """Write datasets and change them; Lance scans rows that are not indexed yet."""
    plain, keyed = folder / "plain.lance", folder / "keyed.lance"
    _write(rows, plain)
    _write(rows, keyed)

    def find(data: lance.LanceDataset, word: str) -> int:
        query = MatchQuery(word, "message")
        return int(
            data.scanner(columns=["id"], disable_scoring_autoprojection=True, full_text_query=query)
            .to_table()
            .num_rows
        )

    def append(given: pa.Table, word: str) -> int:
        return find(lance.write_dataset(given, str(plain), mode="append"), word)

    def upsert(given: pa.Table, word: str) -> int:
        merge = lance.dataset(str(keyed)).merge_insert("id")
        merge.when_matched_update_all().when_not_matched_insert_all().execute(given)
        return find(lance.dataset(str(keyed)), word)

    return {changing.APPEND: append, changing.UPSERT: upsert}
