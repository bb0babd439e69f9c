"""Writes to a table with a primary key equal writes to a dictionary."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from tests.upserts.model import Model
from tests.upserts.tables import KeyTable

import indextables
from indextables.commands.purge import run_purge
from indextables.expr.where import parse_where
from indextables.log import open_log
from indextables.read.table import OpenTable
from indextables.runtime.steps import finish
from indextables.save.table import run_write_table
from indextables.sql.local import LocalContext
from indextables.storage import open_store

ENGINES = ("deduplicate", "first-row", "partial-update")


def draw_options(rng: random.Random) -> tuple[dict[str, str], tuple[str, ...]]:
    """A kind of table: engine, sequence, deletes, buckets, partitions."""
    key, partitions = rng.choice([("id", ()), ("p,id", ("p",)), ("id", ("p",)), ("p,id", ())])
    options = {"primary-key": key, "merge-engine": rng.choice(ENGINES)}
    if rng.random() < 0.4:
        options["sequence.field"] = "seq"
    if rng.random() < 0.5:
        options["rowkind.field"] = "op"
        options["ignore-delete"] = rng.choice(["true", "false"])
    options["dynamic-bucket.target-row-num"] = str(rng.choice([1, 3, 10, 2_000_000]))
    if rng.random() < 0.5:
        options["dynamic-bucket.initial-buckets"] = str(rng.choice([2, 3]))
    if rng.random() < 0.3:
        options["dynamic-bucket.max-buckets"] = "2"
    if rng.random() < 0.3:
        options["deletion-vectors.bitmap64"] = "true"
    return options, partitions


def draw_rows(rng: random.Random, token: str, most: int = 8) -> list[tuple]:
    return [
        (
            rng.randrange(3),
            rng.randrange(12),
            rng.choice([f"{token}.{i}", None]),
            rng.choice([f"{token}/{i}", None]),
            rng.choice([None, 1, 2, 3]),
            rng.choice(["+I", "+U", "-D", "-U", None]),
        )
        for i in range(rng.randrange(1, most))
    ]


def run(seed: int, folder) -> None:
    rng = random.Random(seed)
    options, partitions = draw_options(rng)
    table = KeyTable(open_log(open_store(str(folder))), options, partitions)
    model = Model(options)
    for step in range(5):
        tasks = [draw_rows(rng, f"{step}-{task}") for task in range(rng.randrange(1, 4))]
        overwrite = rng.random() < 0.1
        table.upsert(*tasks, overwrite="all" if overwrite else "none")
        model.upsert(tasks, overwrite)
        here = table.log.snapshot()
        assert table.rows(here) == model.list(), (seed, step, options)
        table.check_index(here)
        assert here.num_records == len(model.rows)


@pytest.mark.parametrize("block", range(2))
def test_a_table_equals_a_dictionary_when_rows_are_upserted(block, tmp_path):
    for seed in range(block * 8, block * 8 + 8):
        run(seed, tmp_path / str(seed))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_a_table_equals_a_dictionary_for_long(block, tmp_path):
    for seed in range(1000 + block * 50, 1050 + block * 50):
        run(seed, tmp_path / str(seed))


def test_index_files_of_kept_versions_stay_when_the_table_is_purged(tmp_path):
    options = {"primary-key": "id", "purge.retentionCheckEnabled": "false"}
    table = KeyTable(open_log(open_store(str(tmp_path))), options)
    table.upsert([(0, 1, "a", None, 1, None), (0, 2, "b", None, 1, None)])
    table.upsert([(0, 1, "c", None, 2, None), (0, 3, "d", None, 1, None)])
    before = [table.rows(table.log.snapshot(version)) for version in range(1, 3)]
    here = table.log.snapshot()
    settings = table.spec(here).settings
    finish(run_purge(OpenTable(table.log, here, settings), older_than_hours=0), LocalContext())
    assert [table.rows(table.log.snapshot(version)) for version in range(1, 3)] == before
    stored = {meta.path for meta in table.log.store.list("index")}
    vectors = {v["file"] for v in here.files()["deletionVector"].to_pylist() if v}
    old = {index.file for index in table.log.snapshot(1).hash_indexes}
    noted = table.log.reader.commit(2).info.extra["updatedRows"].values()
    updates = {vector["file"] for vector in noted}
    assert stored == vectors | updates | {index.file for index in here.hash_indexes} | old


def test_a_table_written_without_spark_knows_its_key(tmp_path):
    log = open_log(open_store(str(tmp_path)))
    for texts in (["a", "b", "c"], ["B", "C"]):
        data = pa.table({"id": list(range(3))[-len(texts) :], "v": texts})
        run_write_table(log, data, "append", (), {"primary-key": "id"}, parse=parse_where)
    here = indextables.open(str(tmp_path)).scan()
    assert sorted(here.column("v").to_pylist()) == ["B", "C", "a"]
