"""Every verb on a cluster, on a folder that all hosts see and on an object store."""

from __future__ import annotations

import itertools
import time

import pytest
from tests.cluster import work
from tests.cluster.driver import driver
from tests.connect.server import connect_server
from tests.stores.conftest import minio_server, s3_place

from indextables.config.settings import resolve
from indextables.storage import open_store

__all__ = ["minio_server"]  # a fixture

pytestmark = pytest.mark.spark
KEY = "spark.indextables."
_numbers = itertools.count()


@pytest.fixture(scope="module")
def application(cluster, tmp_path_factory, minio_server):
    """An application with the settings of the store."""
    options = s3_place(minio_server).options
    conf = {KEY + name: value for name, value in options.items()}
    conf |= {f"{KEY}purge.retentionCheckEnabled": "false"}
    with driver(cluster.url, tmp_path_factory.mktemp("application"), conf) as found:
        yield found


@pytest.fixture(params=["folder", pytest.param("store", marks=pytest.mark.slow)])
def path(request, tmp_path, minio_server) -> str:
    """A path without a table."""
    if request.param == "folder":
        return str(tmp_path / "table")
    return f"{s3_place(minio_server).root}/cluster-{next(_numbers)}"


def count(application, path: str) -> int:
    return len(application.run(work.ids, path))


def test_modes_of_writing(application, path):
    application.run(work.save, path, 0, 60)
    application.run(work.save, path, 60, 90, "append")
    assert application.run(work.ids, path) == list(range(90))
    application.run(work.save, path, 0, 30, "ignore")
    assert count(application, path) == 90
    _, problem = application.run(work.attempt, "save", path, 0, 30, "errorifexists")
    assert "TABLE_EXISTS" in problem or "already exists" in problem
    application.run(work.save, path, 30, 60, "overwrite")
    assert application.run(work.ids, path) == list(range(30, 60))
    application.run(work.sql, f"INSERT INTO indextables.`{path}` REPLACE WHERE id < 45 "
                              "SELECT 7L, 'seven', 'INFO', 0.5D, 1")  # fmt: skip
    assert application.run(work.ids, path) == [7, *range(45, 60)]


@pytest.mark.slow
def test_reads(application, path, tmp_path):
    application.run(work.save, path, 0, 600)
    application.run(work.write_parquet, str(tmp_path / "parquet"), 0, 600)
    assert application.run(work.same_as_parquet, path, str(tmp_path / "parquet")) == []
    search = f"SELECT count(*) AS n FROM indextables.`{path}` WHERE message indexquery 'timeout'"
    assert application.run(work.sql, search) == [{"n": len(range(0, 600, 7))}]


@pytest.mark.slow
def test_changes_of_rows(application, path):
    application.run(work.save, path, 0, 90)
    table = f"indextables.`{path}`"
    application.run(work.sql, f"DELETE FROM {table} WHERE pmod(id, 3) = 0")
    application.run(work.sql, f"UPDATE {table} SET id = id + 100 WHERE pmod(id, 3) = 1")
    application.run(
        work.sql,
        f"MERGE INTO {table} t USING (SELECT id FROM range(0, 10)) s ON t.id = s.id "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
    )
    expected = {i for i in range(90) if i % 3 == 2} | {i + 100 for i in range(90) if i % 3 == 1}
    assert application.run(work.ids, path) == sorted(expected ^ set(range(10)))
    kinds = [
        (row["_change_type"], row["n"]) for row in application.run(work.change_counts, path, 1)
    ]
    assert dict(kinds)["delete"] >= 30


def test_upserts(application, path):
    application.run(work.upsert, path, 0, 60)
    application.run(work.upsert, path, 30, 90)
    assert application.run(work.ids, path) == list(range(90))


def test_maintenance(application, path):
    for first in (0, 30, 60):
        application.run(work.save, path, first, first + 30)
    (merged,) = application.run(work.sql, f"MERGE SPLITS '{path}'")
    assert merged["metrics"]["status"] == "success"
    warmed = application.run(work.sql, f"PREWARM INDEXTABLES CACHE '{path}'")
    # the merged split is on one of the hosts
    assert {row["status"] for row in warmed} <= {"success", "no_splits"}
    assert sum(row["splits_prewarmed"] for row in warmed) == 1
    application.run(work.sql, f"CHECKPOINT INDEXTABLES '{path}'")
    application.run(work.sql, f"TRUNCATE INDEXTABLES TIME TRAVEL '{path}'")
    purge = f"PURGE INDEXTABLE '{path}' OLDER THAN 0 HOURS"
    (purged,) = application.run(work.sql, purge)
    assert purged["metrics"]["orphaned_files_deleted"] > 0
    assert application.run(work.ids, path) == list(range(90))


def test_purge_of_a_large_table(application, path, minio_server):
    """Tasks find what a single listing finds, and delete it."""
    application.run(work.save_partitioned, path, 0, 60)
    options = s3_place(minio_server).options if path.startswith("s3") else {}
    store = open_store(path, resolve(options))
    orphans = ["level=INFO/part=0/x.split", "level=NEW/part=7/y.split", "z.split"]
    for name in [*orphans, "level=INFO/notes.txt", "other/notes.txt"]:
        store.put(name, b"x")
    time.sleep(1.1)  # stores round the time of a change down to a second
    purge = f"PURGE INDEXTABLE '{path}' OLDER THAN 0 HOURS DRY RUN"
    (here,) = application.run(work.sql, purge)
    there = application.run(work.purge_by_tasks, path, dry_run=True)
    assert (there["message"], there["orphaned_files_found"]) == (here["metrics"]["message"], 3)
    assert all(name in there["message"] for name in orphans)
    done = application.run(work.purge_by_tasks, path, dry_run=False)
    assert (done["status"], done["orphaned_files_deleted"]) == ("SUCCESS", 3)
    assert there["jobs"] == done["jobs"] == 1
    left = {meta.path for meta in store.list("")}
    assert not left & set(orphans)
    assert {"level=INFO/notes.txt", "other/notes.txt"} < left
    assert application.run(work.ids, path) == list(range(60))


@pytest.mark.slow
def test_streams(application, path, tmp_path):
    application.run(work.save, path, 0, 60)
    for last in (60, 90):
        application.run(work.follow, path, f"{path}-copy", str(tmp_path / "checkpoint"))
        assert application.run(work.ids, f"{path}-copy") == list(range(last))
        application.run(work.save, path, 60, 90)


@pytest.mark.slow
def test_connect(cluster, application, tmp_path):
    """A Connect server whose executors are the cluster's."""
    from pyspark.sql import SparkSession

    path = str(tmp_path / "table")
    with connect_server(tmp_path, {"spark.master": cluster.url, "spark.cores.max": "2",
                                   "spark.executor.cores": "1",
                                   "spark.executor.memory": "512m"}) as url:  # fmt: skip
        client = SparkSession.builder.remote(url).create()
        client.range(0, 90, 1, 3).write.format("indextables").save(path)
        client.sql(f"DELETE FROM indextables.`{path}` WHERE pmod(id, 3) = 0").collect()
        found = client.read.format("indextables").options(**work.TASKS).load(path)
        assert sorted(row.id for row in found.collect()) == [i for i in range(90) if i % 3]
        client.stop()
    assert count(application, path) == 60
