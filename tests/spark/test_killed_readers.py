"""A query continues when Python workers of a local session die while reading."""

from __future__ import annotations

import pytest
from tests.cluster import work
from tests.cluster.driver import driver

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def application(tmp_path_factory, request):
    """A local session, in which Spark retries no task, and the folder that its workers watch."""
    folder = tmp_path_factory.mktemp("dying")
    conf = {
        "spark.python.daemon.module": "tests.cluster.dying",
        "spark.indextables.read.batchRows": "5",
    }
    here = {"DIE": str(folder), "PYTHONPATH": str(request.config.rootpath)}
    with driver("local[2]", folder, conf, here) as found:
        yield found, folder


@pytest.mark.parametrize(
    "words", [("die-1",), ("die-1", "die-2"), ("late-1",), ("late-1", "die-1")]
)
def test_a_read_goes_on_when_its_worker_is_killed(application, table_path, words):
    spark, folder = application
    spark.run(work.save, table_path, 0, 60)
    for word in words:
        (folder / word).touch()
    assert spark.run(work.ids, table_path) == list(range(60))
    assert not list(folder.glob("*-[12]"))


def test_a_worker_that_always_dies_is_an_error(application, table_path):
    spark, folder = application
    spark.run(work.save, table_path, 0, 60)
    for number in range(50):
        (folder / f"die-{number}").touch()
    try:
        _, problem = spark.run(work.attempt, "ids", table_path)
    finally:
        for word in folder.glob("die-*"):
            word.unlink()
    assert "Python worker exited unexpectedly" in problem
