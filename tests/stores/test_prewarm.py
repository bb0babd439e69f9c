"""Prewarming a table in an object store: what it loads is not requested again."""

from __future__ import annotations

import pytest
from tests.stores.conftest import ACCESS_KEY, SECRET_KEY, _numbers
from tests.stores.proxy import SLOW_DOWN, times
from tests.stores.tables import SCHEMA, make_table

import indextables
from indextables.engine.cache import clear_memory
from indextables.read.rows import split_of
from indextables.runtime import handles
from indextables.runtime.host_files import host_folder
from indextables.spark import scan
from indextables.spark.request import Request
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext

SPLITS, EACH = 3, 5_000


@pytest.fixture(scope="module")
def table(minio_server, s3) -> str:
    url = f"{s3.root}/prewarmed-{next(_numbers)}"
    return make_table(url, s3.settings, splits=SPLITS, each=EACH)


@pytest.fixture
def options(s3, proxy, tmp_path):
    handles.flush()
    yield s3.options | {
        "s3.endpoint": proxy.endpoint,
        "cache.disk.path": str(tmp_path / "cache"),
        "cloud.maxRetries": "0",
    }
    handles.flush()


def run(options, text):
    session = {f"spark.indextables.{key}": value for key, value in options.items()}
    return execute(text, LocalContext(session)).to_pylist()


def of_splits(proxy):
    return [r for r in proxy.requests if ".split" in r.path]


def test_a_query_asks_for_nothing_when_its_parts_were_loaded(table, options, proxy):
    done = run(
        options,
        f"PREWARM INDEXTABLES CACHE '{table}' FOR SEGMENTS (TERM, POSTINGS, FIELDNORM, STORE) "
        "ON FIELDS (id, message)",
    )
    assert [(row["splits_prewarmed"], row["status"]) for row in done] == [(SPLITS, "success")]
    proxy.requests.clear()
    clear_memory()
    found = indextables.open(table, options=options).search("user7", ["id"], limit=1000)
    assert found.num_rows == len([i for i in range(SPLITS * EACH) if i % 97 == 7])
    assert of_splits(proxy) == []


def test_only_the_wanted_partition_is_loaded_when_one_is_chosen(table, options, proxy):
    run(options, f"PREWARM INDEXTABLES CACHE '{table}' WHERE day = 1")
    assert {r.path.split("?")[0].split("/")[-1] for r in of_splits(proxy)} == {"split-1.split"}


def test_a_split_is_tried_again_when_the_store_refused_it(table, options, proxy):
    proxy.rule = times(1, SLOW_DOWN, "GET", ".split")
    done = run(options, f"PREWARM INDEXTABLES CACHE '{table}'")
    assert [(row["splits_prewarmed"], row["retries"]) for row in done] == [(SPLITS, 1)]


def test_it_ends_with_an_error_when_the_store_keeps_refusing(table, options, proxy):
    proxy.rule = times(1000, SLOW_DOWN, "GET", ".split")
    done = run(options | {"prewarm.maxRetries": "2"}, f"PREWARM INDEXTABLES CACHE '{table}'")
    assert done[0]["status"].startswith("error: ")
    assert (done[0]["retries"], done[0]["splits_prewarmed"]) == (2, 0)


def test_a_background_job_fills_the_disk_when_it_is_waited_for(table, options, tmp_path):
    context = LocalContext({f"spark.indextables.{key}": value for key, value in options.items()})
    started = execute(f"PREWARM INDEXTABLES CACHE '{table}' ASYNC MODE", context).to_pylist()
    assert started[0]["status"] == "job_started"
    job = started[0]["job_id"]
    waited = execute(f"WAIT FOR INDEXTABLES PREWARM JOBS JOB '{job}' TIMEOUT 300", context)
    assert [(r["status"], r["splits_prewarmed"]) for r in waited.to_pylist()] == [
        ("COMPLETED", SPLITS)
    ]
    usage = execute("DESCRIBE INDEXTABLES DISK CACHE", context).to_pylist()
    assert usage[0]["splits_cached"] == SPLITS
    # neither the cache nor the shared files of local processes contain credentials
    shared = host_folder(context.app(), "prewarm")
    files = [f for root in (shared, tmp_path) for f in root.rglob("*") if f.is_file()]
    assert any(f.parent == shared for f in files)
    assert not [
        f for f in files for key in (ACCESS_KEY, SECRET_KEY) if key.encode() in f.read_bytes()
    ]
    flushed = execute("FLUSH INDEXTABLES DISK CACHE", context).to_pylist()
    assert flushed[-1]["bytes_freed"] == usage[0]["total_bytes"]
    assert execute("DESCRIBE INDEXTABLES DISK CACHE", context).to_pylist()[0]["total_bytes"] == 0


def planned(table, options):
    """The parts and splits that a query loads first."""
    body = {
        "options": {**options, "path": table},
        "schema": SCHEMA.to_json(),
        "wire": SCHEMA.to_json(),
    }
    found = scan.scan_of(Request(body))
    return found.spec, [source for source in found.sources if source.prewarm]


def test_a_later_machine_loads_what_was_prewarmed_when_it_is_to_catch_up(
    table, options, proxy, tmp_path
):
    command = f"PREWARM INDEXTABLES CACHE '{table}' FOR SEGMENTS (TERM) ON FIELDS (message)"
    catch_up = options | {"prewarm.catchUpNewHosts": "true"}
    run(options, "FLUSH INDEXTABLES DISK CACHE")
    run(options, f"{command} WHERE day = 1")
    assert planned(table, catch_up)[1] == []
    run(catch_up, f"{command} WHERE day = 1")
    assert planned(table, options)[1] == []
    later = catch_up | {"cache.disk.path": str(tmp_path / "another machine")}
    spec, sources = planned(table, later)
    assert spec.prewarm == (("TERM",), ("message",))
    assert [source.path for source in sources] == ["day=1/splits/split-1.split"]
    handles.flush()
    clear_memory()
    proxy.requests.clear()
    split_of(spec, sources[0])
    loaded = len(of_splits(proxy))
    assert loaded > 1
    split_of(spec, sources[0])
    assert len(of_splits(proxy)) == loaded
    run(options, "FLUSH INDEXTABLES DISK CACHE")
    assert planned(table, catch_up)[1] == []
