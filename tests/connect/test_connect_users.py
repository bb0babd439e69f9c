"""First steps of a user, through Spark Connect."""

from __future__ import annotations

import os
import subprocess

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.connect.session import SparkSession
from tests.processes import Process, all_processes, below, kill

from indextables import IndexTable

pytestmark = pytest.mark.spark
EVENTS = [
    (1, "ERROR", "timeout waiting for payment", ("web-1", 80), "2026-01-05 10:00:00"),
    (2, "INFO", "cart opened", ("web-2", 81), "2026-01-20 11:00:00"),
    (3, "ERROR", "connection reset by 10.0.0.7:8080", ("db-1", 82), "2026-02-01 12:00:00"),
]
SCHEMA = "id long, level string, message string, attrs struct<host: string, port: int>, ts string"


@pytest.fixture
def events(remote, table_path):
    """A table of three events with the view `day`."""
    frame = remote.createDataFrame(EVENTS, SCHEMA).selectExpr(
        "* EXCEPT (ts)", "timestamp(ts) AS ts"
    )
    writer = frame.write.format("indextables").option("indexing.typemap.message", "text")
    writer.save(table_path)
    remote.read.format("indextables").load(table_path).createOrReplaceTempView("day")
    return table_path


def column(frame) -> list:
    return [row[0] for row in frame.collect()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT message indexquery 'timeout' FROM day ORDER BY id", [True, False, False]),
        (
            "SELECT CASE WHEN message indexquery 'cart' THEN 'c' ELSE 'x' END FROM day ORDER BY id",
            ["x", "c", "x"],
        ),
        ("SELECT count(*) FILTER (WHERE message indexquery 'reset OR cart') FROM day", [2]),
        (
            "SELECT level FROM day GROUP BY level HAVING bool_or(message indexquery 'reset')",
            ["ERROR"],
        ),
        ("SELECT id FROM day WHERE message indexquery 'cart' OR hash(id) = hash(1L)", [1, 2]),
        ("SELECT id FROM day WHERE attrs.host indexquery 'db-1'", [3]),
        ("SELECT id FROM day WHERE message indexquery 'attrs.host:\"web-2\"'", [2]),
        (
            "SELECT count(*) FROM day GROUP BY indextables_date_histogram(ts, '1 month')",
            [1, 2],
        ),
    ],
)
def test_search_stands_anywhere(remote, events, text, expected):
    assert sorted(column(remote.sql(text)), key=str) == sorted(expected, key=str)


def test_session_variables_and_cached_frames(remote, events):
    remote.sql("DECLARE OR REPLACE words = 'cart'")
    assert column(remote.sql("SELECT id FROM day WHERE message indexquery words")) == [2]
    cached = remote.table("day").cache()
    try:
        assert cached.count() == 3
        assert column(cached.where("message indexquery 'timeout'").select("id")) == [1]
    finally:
        cached.unpersist()


def refused(remote, text) -> str:
    with pytest.raises(PySparkException) as caught:
        remote.sql(text).collect()
    message = str(caught.value)
    assert "Traceback" not in message
    return message


def test_errors_are_one_message(remote, events, tmp_path):
    keyed = f"indextables.`{tmp_path / 'keyed'}`"
    remote.sql(f"CREATE TABLE {keyed} (id LONG) TBLPROPERTIES ('primary-key' = 'id')")
    assert "PRIMARY_KEY_NULL" in refused(remote, f"INSERT INTO {keyed} VALUES (NULL)")
    assert "TABLE_NOT_FOUND" in refused(remote, f"SELECT * FROM indextables.`{tmp_path}/wrong`")
    assert "nope_table" in refused(remote, "DESCRIBE INDEXTABLES STATE nope_table")
    message = refused(remote, "SELECT * FROM day WHERE message indexquery '10.0.0.7:8080'")
    assert "non-existent field '10.0.0.7'" in message
    assert "quote" in message


def test_the_statements_of_delta(remote, events):
    target = f"indextables.`{events}`"
    before = remote.sql(f"DESCRIBE HISTORY {target}").first().version
    assert remote.sql(f"DESCRIBE DETAIL {target}").first().num_records == 3
    remote.sql(f"DELETE FROM {target} WHERE id = 1")
    remote.sql(f"RESTORE TABLE {target} TO VERSION AS OF {before}")
    assert remote.table("day").count() == 3
    assert remote.sql(f"OPTIMIZE {target}").count() == 1
    assert remote.sql(f"VACUUM {target} DRY RUN").count() == 1


def test_merge_by_its_builder(remote, events):
    table = IndexTable.forPath(remote, events)
    more = remote.createDataFrame([(2, "WARN"), (9, "NEW")], "id long, level string")
    (
        table.alias("t")
        .merge(more.alias("s"), "t.id = s.id")
        .whenMatchedUpdate(set={"level": "s.level"})
        .whenNotMatchedInsert(values={"id": "s.id", "level": "s.level"})
        .whenNotMatchedBySourceDelete("t.level = 'ERROR'")
        .execute()
    )
    found = sorted(tuple(row) for row in table.toDF().select("id", "level").collect())
    assert found == [(2, "WARN"), (9, "NEW")]


def test_explain_shows_what_was_pushed(remote, events):
    plan = "\n".join(
        column(remote.sql("EXPLAIN FORMATTED SELECT id FROM day WHERE message indexquery 'cart'"))
    )
    assert "cart" in plan


def planner_processes(address: str) -> list[Process]:
    """The planner processes of the server, and the daemons that fork them."""
    port = address.rpartition(":")[2].encode()
    (server,) = (
        p for p in all_processes() if b"SparkConnectServer" in p.command and port in p.command
    )
    return [p for p in below(server.pid) if b"pyspark_indextables.planner" in p.command]


def test_sessions_share_one_planner(address, remote, events):
    """Only one daemon is kept alive; a planner of another one would end after an idle minute."""
    assert remote.table("day").count() == 3
    before = planner_processes(address)
    daemons = {p.pid for p in before} & {p.parent for p in before}
    kill(*(p.pid for p in before if p.parent in daemons))
    other = SparkSession.builder.remote(address).create()
    assert other.read.format("indextables").load(events).count() == 3
    after = planner_processes(address)
    assert {p.parent for p in after} & {p.pid for p in after} == daemons
    assert len(daemons) == 1


def test_a_client_does_not_abort_other_processes(remote):
    """The tests of other folders start a classic session in the process of this client."""
    assert remote.range(3).count() == 3
    ended = [subprocess.run("true", check=False, preexec_fn=os.getpid) for _ in range(100)]
    assert {done.returncode for done in ended} == {0}
