"""Statements for Spark from the command line, and the round trip that `doctor` makes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from indextables.errors import IndexTablesError, error
from indextables.spark.failures import original
from indextables.spark.local_session import local_session
from indextables.spark.session import require_pyspark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

_LONGEST = 600


def run_statement(
    text: str, tables: Mapping[str, str], conf: Mapping[str, str], remote: str | None = None
) -> pa.Table:
    """The rows of one statement; `tables` maps names to paths."""
    with _session("sql", conf, remote) as spark, _short_errors():
        for name, path in tables.items():
            spark.read.format("indextables").load(path).createOrReplaceTempView(name)
        return spark.sql(text.strip().rstrip(";")).toArrow()


def round_trip(path: str, conf: Mapping[str, str]) -> str:
    """Write, search and change a table through Spark; return Spark's version."""
    with _session("doctor", conf, None) as spark, _short_errors():
        rows = spark.createDataFrame([(1, "all is well"), (2, "not a word")], "id int, text string")
        rows.write.format("indextables").option("indexing.typemap.text", "text").save(path)
        table = f"indextables.`{path}`"
        spark.sql(f"DELETE FROM {table} WHERE id = 2")  # noqa: S608 (a folder of our own)
        found = spark.table(table).where("text indexquery 'well OR word'").select("id").collect()
        if [row.id for row in found] != [1]:
            raise error("INTERNAL", detail=f"the round trip found {found}")
        return f"Spark {spark.version}: wrote, searched, deleted"


@contextlib.contextmanager
def _session(name: str, conf: Mapping[str, str], remote: str | None) -> Iterator[Any]:
    require_pyspark()
    if remote is not None:
        from pyspark.sql import SparkSession

        with _short_errors():
            spark = SparkSession.builder.remote(remote).getOrCreate()
    else:
        spark = local_session(name, conf)
    try:
        yield spark
    finally:
        spark.stop()


@contextlib.contextmanager
def _short_errors() -> Iterator[None]:
    """Convert Spark's exceptions to a short IndexTables error."""
    try:
        yield
    except IndexTablesError:
        raise
    except Exception as failure:
        found = original(failure)
        if found is not None:
            raise found from failure
        problem = str(failure).split("\n\nJVM stacktrace")[0].split("\n== SQL")[0].strip()
        raise error("STATEMENT_FAILED", problem=problem[:_LONGEST]) from failure
