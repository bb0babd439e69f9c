"""`indextables_analyze`: the tokens of texts, computed by Spark's Python workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.engine.query import analyze, analyze_rows
from indextables.plan.matching import analyzer_of
from indextables.spark.warm import open_table

if TYPE_CHECKING:
    import pyarrow as pa

    from indextables.spark.planner import Answer
    from indextables.spark.request import Request


@dataclass(frozen=True)
class TextAnalyzer:
    """A function of Arrow arrays: the tokens of each text."""

    tokenizer: str

    def __call__(self, texts: pa.Array) -> pa.Array:
        """A list of tokens for each text."""
        return analyze_rows(self.tokenizer, texts)


def analyzer(request: Request) -> Answer:
    """The pickled function that divides texts as a column or a tokenizer does."""
    from pyspark.sql.types import ArrayType, IntegerType, StringType, StructType
    from pyspark.worker_util import pickleSer

    body = request.body
    tokenizer = body.get("tokenizer")
    if tokenizer is None:
        tokenizer = analyzer_of(open_table(request).columns, body["column"])
    analyze(tokenizer, "")  # an unknown tokenizer fails before any task starts
    token = StructType().add("text", StringType())
    for name in ("position", "start", "end"):
        token = token.add(name, IntegerType())
    return {}, [pickleSer.dumps((TextAnalyzer(tokenizer), ArrayType(token)))]
