"""Write golden tables of this version: `python -m tests.data.make_golden [NAME ...]`.

Each is kept permanently under `own-<version>/<name>/`, as `table/` and the rows it must return
(`expected.parquet`). Run it when a persisted structure changes and add the tables under a new
name. Never rewrite an existing table: it shows what older versions wrote.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import indextables

HERE = Path(__file__).parent
ALL_TYPES = """SELECT id,
    CAST(id % 3 = 0 AS BOOLEAN) AS flag, CAST(id - 100 AS BYTE) AS tiny,
    CAST(id * 300 - 30000 AS SHORT) AS small, CAST(id AS INT) AS number,
    CAST(id / 7 AS FLOAT) AS single, IF(id = 5, double('NaN'), -id / 3) AS double,
    CAST(id / 8 AS DECIMAL(10, 3)) AS price, CAST(id AS DECIMAL(38, 6)) AS huge,
    CONCAT('name ', id % 5) AS name, CONCAT('request ', id, ' timeout after ', id % 7) AS message,
    CAST(CONCAT('b', id) AS BINARY) AS blob, DATE_ADD(DATE'1999-12-30', CAST(id AS INT)) AS day,
    TIMESTAMP_MICROS(id * 1000000007) AS at,
    CAST(TIMESTAMP_MICROS(id * 7) AS TIMESTAMP_NTZ) AS local,
    CONCAT('10.0.0.', id % 250) AS address, NAMED_STRUCT('age', id % 90, 'city', 'x') AS person,
    ARRAY('a', NULL, CONCAT('t', id % 4)) AS tags, MAP('k', id, 'n', NULL) AS scores,
    IF(id % 4 = 0, NULL, CONCAT('maybe ', id)) AS maybe
    FROM RANGE(0, 200)"""
TYPEMAPS = {
    "indexing.typemap.message": "text",
    "indexing.typemap.address": "ip",
}


def _save(frame: DataFrame, path: str, *, by: tuple[str, ...] = (), **options: str) -> None:
    maps = {key: kind for key, kind in TYPEMAPS.items() if key.split(".")[-1] in frame.columns}
    writer = frame.coalesce(1).write.format("indextables").mode("append").options(**maps)
    writer.options(**options).partitionBy(*by).save(path)


def types_compatible(spark: SparkSession, path: str) -> DataFrame:
    """Every type in the layout that other readers support."""
    frame = spark.sql(ALL_TYPES)
    _save(frame, path)
    return frame


def types_lean(spark: SparkSession, path: str) -> DataFrame:
    """Every type in the lean layout."""
    frame = spark.sql(ALL_TYPES)
    _save(frame, path, **{"indexing.layout": "lean"})
    return frame


def sidecar_2(spark: SparkSession, path: str) -> DataFrame:
    """Sidecars that name types as the log does; a merge has folded some of them."""
    for start in (0, 100):
        _save(spark.sql(ALL_TYPES).where(f"id >= {start} AND id < {start} + 100"), path)
    spark.sql(f"MERGE SPLITS '{path}'")
    _save(spark.sql(ALL_TYPES).selectExpr("id + 1000 AS id", "* EXCEPT (id)"), path)
    frame = spark.sql(ALL_TYPES)
    return frame.union(frame.selectExpr("id + 1000 AS id", "* EXCEPT (id)"))


def trigrams(spark: SparkSession, path: str) -> DataFrame:
    """Fields of trigrams for a text and a string column; words by a filtered analyzer."""
    options = {"indexing.typemap.message": "text+ngram", "indexing.typemap.name": "string+ngram"}
    options |= {"indexing.tokenizer.message": "identifiers", "indexing.stopwords.message": "en"}
    frame = spark.sql(ALL_TYPES)
    _save(frame, path, **options)
    return frame


def trigrams_placed(spark: SparkSession, path: str) -> DataFrame:
    """Trigrams with positions, some of them in capitals."""
    options = {"indexing.typemap.message": "text+ngram", "indexing.typemap.name": "string+ngram"}
    frame = spark.sql(ALL_TYPES).selectExpr("* EXCEPT (name)", "INITCAP(name) AS name")
    _save(frame, path, **options)
    return frame


def capitals(spark: SparkSession, path: str) -> DataFrame:
    """Words with and without capitals; a merge has folded some of them, without deleted rows."""
    message = "CONCAT(IF(id % 2 = 0, 'Request ', 'request '), id, ' TimeOut after Größe ', id % 7)"
    frame = spark.range(200).selectExpr("id", f"{message} AS message")
    for part in ("id < 100", "id >= 100"):
        _save(frame.where(part), path)
    spark.sql(f"DELETE FROM indextables.`{path}` WHERE id % 10 = 3")
    spark.sql(f"MERGE SPLITS '{path}'")
    more = frame.selectExpr("id + 1000 AS id", "message")
    _save(more, path)
    return frame.where("id % 10 <> 3").union(more)


def doubles_lean(spark: SparkSession, path: str) -> DataFrame:
    """Doubles of few digits as the lean layout wrote them at the time; some rows deleted."""
    frame = spark.sql("""SELECT id, CONCAT('m ', id) AS message, id / 7 AS ratio,
        IF(id % 13 = 0, NULL, id * 37 % 5000 / IF(id < 100, 10, 1000)) AS value
        FROM RANGE(0, 200)""")
    for part in ("id < 100", "id >= 100"):
        _save(frame.where(part), path, **{"indexing.layout": "lean"})
    spark.sql(f"DELETE FROM indextables.`{path}` WHERE id % 10 = 3")
    return frame.where("id % 10 <> 3")


def doubles_whole(spark: SparkSession, path: str) -> DataFrame:
    """The same, with doubles as integers of one and of three digits."""
    return doubles_lean(spark, path)


def partitioned(spark: SparkSession, path: str) -> DataFrame:
    """Partition values of several types, special characters, null."""
    frame = spark.sql("""SELECT id, CONCAT('request ', id) AS message,
        CASE id % 4 WHEN 1 THEN 'a=b' WHEN 2 THEN 'c/d' WHEN 3 THEN 'ü %' END AS place,
        DATE_ADD(DATE'2024-01-01', CAST(id % 3 AS INT)) AS day FROM RANGE(0, 60)""")
    _save(frame.sort("place", "day"), path, by=("place", "day"))
    return frame


def changed(spark: SparkSession, path: str) -> DataFrame:
    """Deleted and updated rows in a table of several splits; one split merged."""
    for start in (0, 100):
        _save(spark.sql(ALL_TYPES).where(f"id >= {start} AND id < {start} + 100"), path)
    spark.sql(f"DELETE FROM indextables.`{path}` WHERE id % 10 = 3")
    spark.sql(f"UPDATE indextables.`{path}` SET name = 'new' WHERE id % 10 = 4")
    spark.sql(f"MERGE SPLITS '{path}'")
    spark.sql(f"DELETE FROM indextables.`{path}` WHERE message indexquery 'after'  AND id > 150")
    frame = spark.sql(ALL_TYPES).where("id % 10 <> 3 AND id <= 150")
    return frame.selectExpr(
        *("IF(id % 10 = 4, 'new', name) AS name" if c == "name" else c for c in frame.columns)
    )


def changed_64(spark: SparkSession, path: str) -> DataFrame:
    """Deletion vectors in their 64-bit form."""
    _save(spark.range(500).selectExpr("id", "CONCAT('m ', id) AS message"), path)
    bitmap64 = "'deletion-vectors.bitmap64' = 'true'"
    spark.sql(f"ALTER TABLE indextables.`{path}` SET TBLPROPERTIES ({bitmap64})")
    spark.sql(f"DELETE FROM indextables.`{path}` WHERE id % 2 = 0")
    return spark.range(500).selectExpr("id", "CONCAT('m ', id) AS message").where("id % 2 = 1")


def keyed(spark: SparkSession, path: str) -> DataFrame:
    """A primary key, upserts, hash indexes."""
    frame = spark.range(300).selectExpr("id", "CONCAT('first ', id) AS message", "id % 3 AS part")
    _save(frame, path, **{"primary-key": "id"})
    later = spark.range(100, 150).selectExpr("id", "CONCAT('later ', id) AS message", "7L AS part")
    _save(later, path)
    return frame.where("id < 100 OR id >= 150").union(later)


def many_versions(spark: SparkSession, path: str) -> DataFrame:
    """A state with manifests and tombstones, and versions after it."""
    for part in range(13):
        _save(spark.range(part * 10, part * 10 + 10).selectExpr("id", "'m' AS message"), path)
    spark.sql(f"DELETE FROM indextables.`{path}` WHERE id BETWEEN 20 AND 29")
    return spark.range(130).selectExpr("id", "'m' AS message").where("id NOT BETWEEN 20 AND 29")


def json_checkpoint(spark: SparkSession, path: str) -> DataFrame:
    """A checkpoint in JSON instead of a state."""
    spark.conf.set("spark.indextables.state.format", "json")
    for part in range(12):
        _save(spark.range(part * 10, part * 10 + 10).selectExpr("id", "'m' AS message"), path)
    spark.conf.unset("spark.indextables.state.format")
    return spark.range(120).selectExpr("id", "'m' AS message")


TABLES: tuple[Callable[[SparkSession, str], DataFrame], ...] = (
    types_compatible, types_lean, sidecar_2, trigrams, trigrams_placed, capitals, doubles_lean,
    doubles_whole, partitioned, changed, changed_64, keyed, many_versions, json_checkpoint,
)  # fmt: skip


def main(names: list[str]) -> None:
    """Write the named tables, or all that do not exist yet."""
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC")
    spark = indextables.configure(builder).getOrCreate()
    for make in TABLES:
        folder = HERE / f"own-{indextables.__version__}" / make.__name__
        if folder.exists() or (names and make.__name__ not in names):
            continue
        expected = make(spark, str(folder / "table"))
        _write_expected(expected, folder / "expected.parquet")
    spark.stop()


def _write_expected(frame: DataFrame, file: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(frame.toArrow(), file, compression="zstd")


if __name__ == "__main__":
    main(sys.argv[1:])
