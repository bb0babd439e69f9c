"""The `indextables` command with values and readers that terminals rarely see."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from tests.unit.doors.test_cli import TEXT
from tests.unit.expr.test_objects import strings
from typer.testing import CliRunner

import indextables
from indextables.api.ask import open_table
from indextables.cli import output
from indextables.cli.app import app
from indextables.cli.search import new_matches
from indextables.cli.statements import _distinct
from indextables.errors import IndexTablesError
from indextables.show.values import text

FULL = Path("/dev/full")
COMMAND = (sys.executable, "-m", "indextables")


@pytest.fixture
def table(tmp_path) -> str:
    days = pa.array([2_932_897, 0], pa.int32()).cast(pa.date32())
    rows = pa.table({"id": [1, 2], "message": ["timeout", "timeout :cat: [bold]x[/]"], "day": days,
                     "raw": strings(b"\xffbad", b"good"), ":cat:": ["[red]", ":cat:"]})  # fmt: skip
    path = str(tmp_path / "logs")
    indextables.write(rows, path, partition_by=[":cat:"], options=TEXT)
    return path


def shown(*arguments: str) -> str:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_any_bytes_and_years_are_shown(table):
    found = shown("search", table, "message:timeout", "--facet", "raw", "--facet", "day")
    assert "+10000-01-01" in found
    assert "�bad" in found
    rows = json.loads(shown("search", table, "message:timeout", "--json"))
    assert {(row["day"], row["raw"]) for row in rows} == {
        ("+10000-01-01", "�bad"), ("1970-01-01", "good")}  # fmt: skip
    explained = indextables.open(table).explain_score("message:timeout")
    assert {each["row"]["raw"] for each in explained} == {"�bad", "good"}


def test_texts_are_not_markup(table, monkeypatch):
    monkeypatch.setattr(output, "_PLAIN_WIDTH", 400)
    assert "timeout :cat: [bold]x[/]" in shown("search", table, "message:timeout")
    splits = shown("splits", table)
    assert '":cat:", "[red]"' in splits
    assert '":cat:", ":cat:"' in splits
    detail = shown("detail", table)
    assert '[":cat:"]' in detail
    assert "…" not in detail


def test_thousands_of_years_are_few_bars(table):
    found = shown("search", table, "message:timeout", "--histogram", "day")
    assert "day, one bar is 365000d" in found


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(1234567.891, "1234567.891"), (0.1 + 0.2, "0.30000000000000004"), (0.10000000149011612, "0.1"),
     (1e300, "1e+300"), (-0.0, "-0"), (float("inf"), "inf"), (1.5, "1.5")],
)  # fmt: skip
def test_numbers_keep_their_digits(value, wanted):
    assert text(value) == wanted


def test_columns_of_equal_names_are_told_apart():
    assert _distinct(["a", "b", "a", "a_2", "a"]) == ["a", "b", "a_3", "a_2", "a_4"]


def test_a_reader_that_leaves_is_no_failure(table):
    for reader in ("head -n 1", "true"):
        line = f'"{sys.executable}" -m indextables history "{table}" --json | {reader}'
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
        assert done.stderr == ""


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_an_output_that_is_full_is_one_message(table):
    with FULL.open("w") as full:
        done = subprocess.run(
            [*COMMAND, "splits", table, "--json"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("error: ")


def test_follow_says_that_a_column_is_gone(table):
    found = new_matches(open_table(table, {}), ["raw"], None, "timeout", 0.01)
    rows = pa.table({"id": [1], "message": ["timeout"], ":cat:": ["x"]})
    options = {"overwriteSchema": "true", **TEXT}
    indextables.write(rows, table, "overwrite", ":cat:", options=options)
    with pytest.raises(IndexTablesError, match=r"COLUMN_UNKNOWN.*raw"):
        next(found)


def test_a_column_may_not_hide_the_score(table_path):
    table = indextables.write(pa.table({"m": ["a", "b a"], "_score": [1, 2]}), table_path)
    with pytest.raises(IndexTablesError, match=r"COLUMN_RESERVED.*_score"):
        table.search("m:a")
    assert table.search("m:a", order_by=["m"])["_score"].to_pylist() == [1]


def test_rows_that_follow_are_written_at_once(table):
    command = [*COMMAND, "search", table, "message:timeout", "--follow", "--json"]
    buffered = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=buffered) as following:
        assert following.stdout is not None
        ready, _, _ = select.select([following.stdout], [], [], 60)
        following.terminate()
    assert ready
    assert following.returncode != 0
