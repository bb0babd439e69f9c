"""Significant words: the words that are typical of the rows of a search."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from indextables.api.ask import plan_exactly, predicates_of
from indextables.engine.query import analyze_rows
from indextables.expr.aggregation import SortKey
from indextables.expr.predicate import Column
from indextables.model import kernels as pc
from indextables.plan.matching import analyzer_of
from indextables.read.request import ScanRequest
from indextables.read.scan import run_scan
from indextables.read.spec import SCORE
from indextables.read.suggest import count_words, require_words
from indextables.read.table import OpenTable

# defaults of `significant_terms`: how many words are returned, and in how many rows each must be
LIMIT, MIN_ROWS = 10, 2
# how many of the most frequent words of the rows are compared with the whole table
_MOST_WORDS = 5_000


@dataclass(frozen=True)
class Sample:
    """The rows whose words are compared: a search, a condition, and how many at most."""

    column: str
    query: str | None = None
    where: str | None = None
    rows: int = 10_000


def significant_words(table: OpenTable, sample: Sample, limit: int, min_rows: int) -> pa.Table:
    """The words of a column that are more frequent in a sample of rows than in all rows.

    A word's score is the difference of its shares (in the sample, in the table) times their ratio.
    """
    require_words(table, sample.column)
    texts = _texts(table, sample)
    words = _rows_by_word(texts, analyzer_of(table.columns, sample.column), min_rows)
    known = count_words(table, sample.column, words["word"].to_pylist())
    total = table.snapshot.num_records or 0
    here = pc.divide(words["rows"].cast(pa.float64()), float(max(len(texts), 1)))
    counts = pc.max_element_wise(pa.array(known, pa.int64()), words["rows"])
    everywhere = pc.divide(counts.cast(pa.float64()), float(max(total, 1)))
    score = pc.multiply(pc.subtract(here, everywhere), pc.divide(here, everywhere))
    found = words.append_column("all_rows", counts).append_column("score", score)
    typical = found.filter(pc.greater(found["score"], 0.0))
    return typical.sort_by([("score", "descending"), ("word", "ascending")]).slice(0, limit)


def _texts(table: OpenTable, sample: Sample) -> pa.Array:
    field = table.snapshot.schema.to_arrow_schema().field(sample.column)
    best_first = SortKey(Column((SCORE,)), ascending=False, nulls_first=False)
    request = ScanRequest(
        output=pa.schema([field]),
        predicates=predicates_of(table, sample.where, sample.query),
        order=(best_first,) if sample.query is not None else (),
        limit=sample.rows,
        here=True,
    )
    return run_scan(plan_exactly(table, request)).column(0).combine_chunks()


def _rows_by_word(texts: pa.Array, tokenizer: str, min_rows: int) -> pa.Table:
    """The number of texts that contain each word, most frequent first."""
    tokens = analyze_rows(tokenizer, texts)
    flat = pc.list_flatten(tokens)
    each = pa.table({"row": pc.list_parent_indices(tokens), "word": pc.struct_field(flat, "text")})
    once = each.group_by(["row", "word"]).aggregate([])
    counted = once.group_by("word").aggregate([("row", "count")]).rename_columns(["word", "rows"])
    enough = counted.filter(pc.greater_equal(counted["rows"], min_rows))
    return enough.sort_by([("rows", "descending"), ("word", "ascending")]).slice(0, _MOST_WORDS)
