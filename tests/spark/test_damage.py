"""A split is missing, truncated or changed: queries that read it fail and name it."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from tests.oracle.compare import multiset
from tests.oracle.paths import PATHS, load

QUERIES = (
    "SELECT * FROM {t}",
    "SELECT id, message FROM {t} WHERE message indexquery 'timeout'",
    "SELECT count(*) FROM {t} WHERE level = 'ERROR'",
    "SELECT sum(id), min(score), max(score), count(DISTINCT level) FROM {t} WHERE id >= 0",
    "SELECT level, count(*), avg(score) FROM {t} GROUP BY level",
    "SELECT id, score FROM {t} WHERE level <> 'x' ORDER BY score DESC, id LIMIT 5",
)


@pytest.fixture(scope="module")
def whole(spark: Any, tmp_path_factory: Any) -> Path:
    """A table of three splits."""
    folder: Path = tmp_path_factory.mktemp("damage") / "table"
    for first in (0, 1000, 2000):
        rows = spark.range(first, first + 1000, 1, 1).selectExpr(
            "id",
            "concat(if(id % 7 = 0, 'timeout of ', 'request '), id) AS message",
            "element_at(array('ERROR', 'INFO', 'WARN'), cast(id % 3 AS int) + 1) AS level",
            "id * 0.5D AS score",
        )
        writer = rows.write.format("indextables").mode("append")
        writer.option("indexing.typemap.message", "text").save(str(folder))
    return folder


def answers(spark: Any, table: Path, path: str) -> dict[str, Any]:
    """The result of each query: its rows, or its error message."""
    load(spark, str(table), path).createOrReplaceTempView("damaged")
    found: dict[str, Any] = {}
    for query in QUERIES:
        try:
            found[query] = multiset(spark.sql(query.format(t="damaged")).collect())
        except PySparkException as failure:
            found[query] = str(failure)
    return found


def harm(whole: Path, target: Path) -> tuple[Path, Path]:
    """Copy the table; return the copy and one of its splits to damage."""
    table = target / "table"
    shutil.copytree(whole, table)
    return table, sorted(table.rglob("*.split"))[1]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("how", ["gone", "empty", "cut", "longer"])
def test_a_lost_or_cut_split_fails_every_query(spark, whole, tmp_path, path, how):
    table, split = harm(whole, tmp_path)
    data = split.read_bytes()
    if how == "gone":
        split.unlink()
    else:
        split.write_bytes({"empty": b"", "cut": data[:-100], "longer": data + b"x"}[how])
    for query, answer in answers(spark, table, path).items():
        assert isinstance(answer, str), f"{query} answered"
        assert split.name in answer, query


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("seed", range(6))
def test_a_changed_bit_fails_a_query_or_changes_nothing(spark, whole, tmp_path, path, seed):
    table, split = harm(whole, tmp_path)
    right = answers(spark, table, path)
    source = random.Random(seed)
    data = bytearray(split.read_bytes())
    # the first half has the index and the columns, the second the documents and the footer
    for half in (0, 1):
        at = source.randrange(len(data) // 2) + half * (len(data) // 2)
        data[at] ^= 1 << source.randrange(8)
    harmed, split = harm(whole, tmp_path / "harmed")
    split.write_bytes(data)
    failed = 0
    for query, answer in answers(spark, harmed, path).items():
        failed += isinstance(answer, str)
        assert split.name in answer if isinstance(answer, str) else answer == right[query], query
    assert failed, "no query noticed"
