"""One of several writers of a table, whose appends and overwrites are named in the history.

Run as `python -m tests.crash.rival PATH WRITER COUNT DOOR`; the door is `plain` or `spark`.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

import pyarrow as pa
from tests.crash.writer import SCHEMA

from indextables.config.settings import resolve
from indextables.log import open_log
from indextables.model.types import render_schema
from indextables.plan.fields import plan_fields
from indextables.save.commit import Save, commit_save
from indextables.save.splits import WriteSpec, write_batches
from indextables.storage import open_store

PATIENT = {
    "spark.indextables.transaction.retry.maxAttempts": "100",
    "spark.indextables.transaction.retry.baseDelayMs": "5",
    "spark.indextables.transaction.retry.maxDelayMs": "200",
}
Door = Callable[[str, list[int], str, bool], None]


def ids_of(name: str) -> list[int]:
    """The rows of an operation, from its name `writer:number:kind`."""
    writer, number, _ = name.split(":")
    return [int(writer) * 1_000_000 + int(number) * 1000 + i for i in range(7)]


def plain(path: str, ids: list[int], name: str, overwrite: bool) -> None:
    settings = resolve({"userMetadata": name}, PATIENT)
    log = open_log(open_store(path, settings), settings)
    fields = tuple(plan_fields(SCHEMA, settings, ()))
    spec = WriteSpec(*log.store.native(), render_schema(SCHEMA), (), fields, settings)
    data = pa.table({"id": ids, "part": pa.array([0] * len(ids), pa.int32())})
    splits = write_batches(spec, data.to_batches())
    mode = "all" if overwrite else "none"
    commit_save(log, Save(mode, SCHEMA, (), fields, splits, settings, {}), log.snapshot())


def spark_door() -> Door:
    from pyspark.sql import SparkSession

    import indextables

    builder = SparkSession.builder.master("local[2,4]").appName("rival")
    for key, value in {**PATIENT, "spark.ui.enabled": "false", "spark.log.level": "OFF"}.items():
        builder = builder.config(key, value)
    spark = indextables.configure(builder).getOrCreate()

    def save(path: str, ids: list[int], name: str, overwrite: bool) -> None:
        rows = spark.createDataFrame([(i, 0) for i in ids], "id long, part int").repartition(2)
        writer = rows.write.format("indextables").option("userMetadata", name)
        writer.mode("overwrite" if overwrite else "append").save(path)

    return save


def main() -> None:
    path, writer, count, door = sys.argv[1:]
    save = plain if door == "plain" else spark_door()
    chance = random.Random(int(writer))
    for number in range(int(count)):
        overwrite = chance.random() < 0.25
        name = f"{writer}:{number}:{'overwrite' if overwrite else 'append'}"
        sys.stdout.write(f"begin {name}\n")
        sys.stdout.flush()
        save(path, ids_of(name), name, overwrite)
        sys.stdout.write(f"done {name}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
