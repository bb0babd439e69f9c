"""Tasks run where the caches hold their splits."""

from __future__ import annotations

import json

import pytest
from tests.stores.conftest import _numbers
from tests.stores.tables import SCHEMA, make_table

from indextables.plan.tasks import preferred_host
from indextables.spark import scan
from indextables.spark.request import Request

SPLITS = 12
HOSTS = ["one", "two", "three"]


def planned(url, options, hosts):
    body = {
        "options": {
            **options,
            "path": url,
            "read.splitsPerTask": "2",
            "read.local.enabled": "false",
        },
        "session": {"spark.default.parallelism": "4"},
        "executors": [{"id": str(i), "host": host} for i, host in enumerate(hosts)],
        "schema": SCHEMA.to_json(),
        "wire": SCHEMA.to_json(),
        "distributed": True,
    }
    reply, parts = scan.plan(Request(body))
    splits = [[source["path"] for source in json.loads(part)] for part in parts[1:]]
    return list(zip(reply["hosts"], splits, strict=True))


@pytest.fixture(scope="module")
def table(s3) -> str:
    return make_table(f"{s3.root}/placed-{next(_numbers)}", s3.settings, splits=SPLITS, each=5)


def test_every_task_prefers_the_home_of_its_splits_when_there_are_several_hosts(table, s3):
    tasks = planned(table, s3.options, HOSTS)
    assert sum(len(splits) for _, splits in tasks) == SPLITS
    for places, splits in tasks:
        assert places == [preferred_host(splits[0], HOSTS)]
        assert {preferred_host(path, HOSTS) for path in splits} == set(places)
    assert planned(table, s3.options, HOSTS[::-1]) == tasks


def test_splits_stay_where_they_were_when_a_host_leaves(table, s3):
    def homes(hosts):
        tasks = planned(table, s3.options, hosts)
        return {path: places[0] for places, splits in tasks for path in splits}

    before, after = homes(HOSTS), homes(HOSTS[:2])
    moved = {path for path in before if before[path] != after[path]}
    assert moved == {path for path in before if before[path] == "three"}


def test_tasks_run_anywhere_when_there_is_one_host_or_the_table_is_local(table, s3, tmp_path):
    assert {str(places) for places, _ in planned(table, s3.options, ["one"])} == {"[]"}
    local = make_table(str(tmp_path / "t"), s3.settings, splits=3, each=5)
    assert {str(places) for places, _ in planned(local, {}, HOSTS)} == {"[]"}
