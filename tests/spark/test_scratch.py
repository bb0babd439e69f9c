"""The scratch files of a JVM are in one folder; the next JVM removes that of a killed one."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from tests.cluster import work
from tests.cluster.driver import driver
from tests.processes import below

pytestmark = pytest.mark.spark
ROWS = 30


@pytest.fixture
def temporary(tmp_path) -> Path:
    """The temporary folder of several sessions."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


@pytest.fixture
def session(tmp_path, temporary):
    """Starts sessions; each ends with its block."""
    options = {"spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={temporary}"}
    return lambda: driver("local[2]", tmp_path, options)


def folders(temporary: Path) -> set[Path]:
    """Make the existing folders look old, and return them."""
    found = set(temporary.glob("indextables-jvm-*"))
    for folder in found:
        os.utime(folder / "jvm.lock", (time.time() - 3600,) * 2)
    return found


def test_the_next_session_removes_what_a_killed_one_left(session, temporary, table_path):
    with session() as killed:
        killed.run(work.save, table_path, 0, ROWS)
        assert len(killed.run(work.ids, table_path)) == ROWS
        left = folders(temporary)
        (jvm,) = (process for process in below(killed.pid) if process.name == "java")
        os.kill(jvm.pid, signal.SIGKILL)
    assert folders(temporary) == left
    assert len(left) == 1
    with session() as living:
        assert len(living.run(work.ids, table_path)) == ROWS
        own = folders(temporary)
        assert (len(own), own & left) == (1, set())
        with session() as another:
            assert len(another.run(work.ids, table_path)) == ROWS
            assert own < folders(temporary)


def test_a_clean_up_of_temporary_files_does_no_harm(session, temporary, table_path):
    with session() as running:
        running.run(work.save, table_path, 0, ROWS)
        running.run(work.ids, table_path)
        (folder,) = folders(temporary)
        (folder / "jvm.lock").unlink()
        folder.rmdir()
        assert len(running.run(work.ids, table_path)) == ROWS
