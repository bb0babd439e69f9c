"""TPC-H through Spark: every query over IndexTables and over Parquet, with the same rows.

`make bench-tpch` installs the data generator. The tables are not tuned: they are written with
default options.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches import corpus
from benches.reading import session, shown
from benches.report import Result, side_by_side_ms
from benches.tpch.queries import QUERIES, TABLES

if TYPE_CHECKING:
    from collections.abc import Callable

SCALE = os.environ.get("INDEXTABLES_TPCH_SCALE", "0.1")
_TOOL = Path(sys.executable).parent / "tpchgen-cli"
_REPEAT = 6
_WARMING = 3


def run() -> list[Result]:
    """Measure each query as a ratio of Parquet, and all together."""
    if not _TOOL.exists():
        print("the TPC-H generator is not installed: skipped")
        return []
    spark = session()
    root = _prepare(spark)
    ours = _views(spark, "indextables", root / "tables")
    theirs = _views(spark, "parquet", root / "parquet")
    taken = {}
    for name, sql in QUERIES.items():
        one, other = _collect(ours, sql), _collect(theirs, sql)
        for _ in range(_WARMING):
            if shown(one()) != shown(other()):
                raise AssertionError(f"answer differs from Parquet: {name}")
        taken[name] = side_by_side_ms(one, other, repeat=_REPEAT)
    all_ours, all_theirs = (sum(times) for times in zip(*taken.values(), strict=True))
    total = f"all queries ({all_ours:.0f} ms, Parquet {all_theirs:.0f} ms)"
    return [
        *(
            Result(f"{name} ({a:.0f} ms, Parquet {b:.0f} ms)", a / b, bar=1.5)
            for name, (a, b) in taken.items()
        ),
        Result(total, all_ours / all_theirs, bar=1.0),
    ]


def _prepare(spark: Any) -> Path:
    """Write the rows in both formats, one file per table; later runs reuse them."""
    root = corpus.folder() / f"tpch-{SCALE}"
    if (root / "done").exists():
        return root
    shutil.rmtree(root, ignore_errors=True)
    rows = root / "rows"
    subprocess.run([_TOOL, "parquet", "-s", SCALE, "--output-dir", rows], check=True)
    for table in TABLES:
        given = spark.read.parquet(str(rows / f"{table}.parquet")).coalesce(1)
        given.write.option("compression", "zstd").parquet(str(root / "parquet" / table))
        given.write.format("indextables").save(str(root / "tables" / table))
    (root / "done").touch()
    return root


def _views(spark: Any, kind: str, folder: Path) -> Any:
    """Open a session in which the table names refer to one format."""
    own = spark.newSession()
    for table in TABLES:
        own.read.format(kind).load(str(folder / table)).createOrReplaceTempView(table)
    return own


def _collect(spark: Any, sql: str) -> Callable[[], list[Any]]:
    return lambda: spark.sql(sql).collect()
