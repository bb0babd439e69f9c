"""`indextables companion` builds, shows and follows without Spark."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
from tests.unit.commands.test_build_companion import rows
from typer.testing import CliRunner

from indextables.cli.app import app
from indextables.commands import companion_follow


def run(*words):
    done = CliRunner().invoke(app, ["companion", *words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)[0]


def test_build_status_and_follow(tmp_path, monkeypatch):
    source, index = str(tmp_path / "src"), str(tmp_path / "ix")
    (tmp_path / "src").mkdir()
    pq.write_table(rows(1, 2), tmp_path / "src" / "a.parquet")
    how = [source, index, "--format", "parquet"]
    planned = run("build", *how, "--mode", "message=text", "--dry-run")
    assert planned["message"] == "Would create 1 companion splits from 1 parquet files"
    assert run("build", *how, "--mode", "message=text")["status"] == "success"
    assert "indexed" in run("status", index)["status"]
    pq.write_table(rows(3), tmp_path / "src" / "b.parquet")
    shown = run("status", index)
    assert (shown["pendingFiles"], shown["goneFiles"]) == (1, 0)
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 1:
            (tmp_path / "src" / "b.parquet").write_bytes(b"damaged")  # the next sync fails
        elif len(pauses) == 2:
            pq.write_table(rows(3, 4), tmp_path / "src" / "b.parquet")
        else:
            raise KeyboardInterrupt

    # replaces only the pause between syncs: other threads sleep too
    monkeypatch.setattr(companion_follow, "sleep", pause)
    last = run("follow", *how, "--every", "5")
    assert last["status"] == "success"
    # after a failure the pause is longer
    assert pauses == [5.0, 10.0, 5.0]
    assert "pendingFiles" not in run("status", index)


def test_build_takes_the_clauses_of_the_command(tmp_path):
    source, index = str(tmp_path / "src"), str(tmp_path / "ix")
    (tmp_path / "src").mkdir()
    pq.write_table(rows(1, 2), tmp_path / "src" / "a.parquet")
    how = [source, index, "--format", "parquet"]
    run("build", *how, "--include", "message")
    again = run("build", *how, "--exclude", "message", "--invalidate-all")
    assert (again["status"], again["splits_invalidated"]) == ("success", 1)
    done = CliRunner().invoke(app, ["companion", "build", *how, "--catalog", "c"])
    assert done.exit_code == 1
    assert "CATALOG is only for DELTA and ICEBERG" in done.stderr
