"""Several processes append to one table on disk: no commit is lost or doubled, and reads agree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.log.changes import append
from tests.log.tables import SCHEMA, add

from indextables.config.settings import resolve
from indextables.log import open_log
from indextables.storage import open_store

ROOT = Path(__file__).parents[2]
WRITERS, APPENDS = 8, 50


def write(path: str, writer: str) -> None:
    """Commit repeatedly, with the default of ten attempts each."""
    log = open_log(open_store(path), resolve({}))
    for number in range(APPENDS):
        adds = [add(f"w{writer}n{number}{half}") for half in "ab"]
        log.commit(append(log.snapshot(), adds))


def test_no_commit_is_lost_or_torn_when_eight_processes_append(tmp_path):
    path = str(tmp_path / "t")
    open_log(open_store(path)).create(SCHEMA)
    code = "import sys; from tests.log.test_processes import write; write(sys.argv[1], sys.argv[2])"
    writers = [
        subprocess.Popen([sys.executable, "-W", "ignore", "-c", code, path, str(writer)], cwd=ROOT)
        for writer in range(WRITERS)
    ]
    problems: list[str] = []
    try:
        while any(w.poll() is None for w in writers):
            snapshot = open_log(open_store(path)).snapshot()
            found = snapshot.files()["path"].to_pylist()
            if len(found) != len(set(found)) or len(found) != 2 * snapshot.version:
                problems.append(f"{len(found)} files at version {snapshot.version}")
    finally:
        for writer in writers:
            writer.wait(300)
    assert [w.returncode for w in writers] == [0] * WRITERS
    log = open_log(open_store(path))
    assert problems == []
    assert log.snapshot().version == WRITERS * APPENDS
    expected = {
        f"splits/w{w}n{n}{half}.split"
        for w in range(WRITERS)
        for n in range(APPENDS)
        for half in "ab"
    }
    assert set(log.snapshot().files()["path"].to_pylist()) == expected
    ids = [log.reader.commit(v).info.id for v in range(WRITERS * APPENDS + 1)]
    assert len(set(ids)) == len(ids)
    for version in (1, 137, 399):
        assert log.snapshot(version).num_files == 2 * version
