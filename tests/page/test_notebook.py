"""Notebook output of tables, searches, histories and plans; and the page started by a program."""

from __future__ import annotations

import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from IPython.utils.capture import capture_output
from tests.page import tables

import indextables


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    return indextables.open(tables.write_hostile(str(tmp_path_factory.mktemp("n") / "hostile")))


@pytest.fixture
def shell():
    from IPython.core.interactiveshell import InteractiveShell

    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


def test_a_table_shows_its_columns_and_escapes_their_names(hostile):
    shown = hostile._repr_html_()
    assert "<b>12</b> rows" in shown
    assert "&lt;b onclick=" in shown
    assert "<b onclick" not in shown


def test_a_history_is_a_list_that_shows_a_table(hostile):
    history = hostile.history()
    assert isinstance(history, list)
    assert history[0]["version"] == 1
    assert "CREATE TABLE" in history._repr_html_()


def test_a_plan_says_what_is_read(hostile):
    plan = hostile.explain("kind = '<i>a</i>'", "needle", order_by=["_score DESC"], limit=3)
    assert "1 of 1 are read" in str(plan)
    assert "found by the index" in str(plan)
    assert "needle" in plan._repr_html_()
    assert "<i>a" not in plan._repr_html_()


def test_ipython_shows_searches_with_marks_and_other_tables_as_before(shell, hostile):
    opened = indextables.open(hostile.path)
    formatted = shell.display_formatter.format(opened.search("needle", snippet=True, score=True))
    html = formatted[0]["text/html"]
    assert ">needle</mark>" in html
    assert "&lt;script&gt;" in html
    assert "<script>" not in html
    assert "text/html" not in shell.display_formatter.format(pa.table({"a": [1]}))[0]


def test_the_page_runs_beside_a_program(hostile):
    page = hostile.ui()
    try:
        with urllib.request.urlopen(page.url, timeout=60) as answer:
            assert "hostile" in answer.read().decode()
        assert page.url in page._repr_html_()
    finally:
        page.close()
    with pytest.raises(OSError):
        urllib.request.urlopen(page.url, timeout=5)


@pytest.mark.spark
def test_spark_tables_and_searches(spark, tmp_path):
    path = tables.write_partitioned(str(tmp_path / "orders"))
    table = indextables.IndexTable.forPath(spark, path)
    assert "<b>60</b> rows" in table._repr_html_()
    found = table.search("failed", limit=3)
    assert found._repr_html_().count(">failed</mark>") == 3
    assert found.count() == 3
    history = table.history(1)
    assert history.first()["operation"] in history._repr_html_()
    assert "1 of 2 are read" in table.explain("day = '2026-01-01'")._repr_html_()


def counting_begins(spark) -> None:
    while not spark.sparkContext.statusTracker().getActiveStageIds():
        time.sleep(0.05)


@pytest.mark.spark
def test_a_bar_shows_the_tasks_of_jobs_in_notebooks_only(spark, shell, tmp_path):
    go = tmp_path / "go"

    def slow(rows):
        while not go.exists():
            time.sleep(0.05)
        return rows

    work = spark.sparkContext.parallelize(range(4), 4).mapPartitions(slow)
    with (
        ThreadPoolExecutor(1) as pool,
        capture_output() as plain,
        indextables.progress(spark, "indexing"),
    ):
        counting = pool.submit(work.count)
        counting_begins(spark)
        assert "indextables-progress" not in {thread.name for thread in threading.enumerate()}
        go.touch()
        assert counting.result() == 4
    assert not plain.outputs
    go.unlink()
    shell.kernel = object()  # distinguishes a notebook from a terminal
    with (
        ThreadPoolExecutor(1) as pool,
        capture_output() as notebook,
        indextables.progress(spark, "<b>indexing</b>"),
    ):
        counting = pool.submit(work.count)
        while not notebook.outputs and not counting.done():
            time.sleep(0.05)
        go.touch()
        assert counting.result() == 4
    last = notebook.outputs[-1].data["text/html"]
    assert "&lt;b&gt;indexing&lt;/b&gt;: 4 of 4 tasks" in last
    assert notebook.outputs[0].data["text/html"] != last
