"""The `indextables` command in a shell: output, JSON, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import indextables
from indextables.cli import output
from indextables.cli.app import app

TEXT = {"indexing.typemap.message": "text"}


@pytest.fixture
def run(monkeypatch):
    """Run the command; return its exit code, standard output and standard error."""
    monkeypatch.setattr(output, "_PLAIN_WIDTH", 300)

    def _run(*arguments: str, given: str | None = None):
        done = CliRunner().invoke(app, list(arguments), input=given)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.stdout, done.stderr

    return _run


@pytest.fixture
def table(tmp_path) -> str:
    """A table of log lines in two splits."""
    path = str(tmp_path / "logs")
    first = {"id": [1, 2], "level": ["ERROR", "INFO"], "message": ["timeout of pay", "cart"]}
    second = {"id": [3], "level": ["WARN"], "message": ["slow timeout"]}
    indextables.write(pa.table(first), path, options=TEXT)
    indextables.write(pa.table(second), path)
    return path


def rows(text: str) -> list[dict]:
    return json.loads(text)


def test_structs_of_rows_are_shown_whole(run, tmp_path):
    path = str(tmp_path / "nested")
    people = pa.array([{"name": "Ann"}, None], pa.struct([("name", pa.string())]))
    indextables.write(pa.table({"id": [1, 2], "state": ["up", "up"], "who": people}), path)
    code, out, _ = run("search", path, "state:up")
    assert code == 0
    assert '{"name": "Ann"}' in out


def test_values_without_json_numbers_are_strings(run, tmp_path):
    path = str(tmp_path / "readings")
    values = [float("nan"), float("inf"), float("-inf"), 1.5]
    inner = pa.array([{"at": [value]} for value in values])
    indextables.write(pa.table({"id": [1, 2, 3, 4], "v": values, "s": inner}), path)
    code, out, _ = run("search", path, "id:[1 TO 4]", "--json")
    found = {row["id"]: (row["v"], row["s"]["at"][0]) for row in rows(out)}
    names = ["NaN", "Infinity", "-Infinity", 1.5]
    assert (code, [found[n] for n in (1, 2, 3, 4)]) == (0, [(name, name) for name in names])


def test_version_is_printed(run):
    assert run("--version") == (0, f"{indextables.__version__}\n", "")


def test_search_prints_the_best_rows(run, table):
    code, out, _ = run("search", table, "timeout", "--columns", "id, message")
    assert code == 0
    assert "slow timeout" in out
    assert "2 rows" in out
    assert "cart" not in out


def test_search_answers_as_json(run, table):
    code, out, _ = run("search", table, "timeout", "--limit", "1", "--json")
    (best,) = rows(out)
    assert code == 0
    assert {*best} == {"id", "level", "message", "_score", "_snippet"}
    assert best["message"] in ("slow timeout", "timeout of pay")
    assert "<b>timeout</b>" in best["_snippet"]


def test_search_narrows_by_condition_and_version(run, table):
    where = run("search", table, "timeout", "--where", "level = 'ERROR'", "--json")
    assert [row["id"] for row in rows(where[1])] == [1]
    older = run("search", table, "timeout", "--version", "1", "--json")
    assert [row["id"] for row in rows(older[1])] == [1]


def test_suggest_completes_and_corrects(run, table):
    code, out, _ = run("suggest", table, "the ti", "--json")
    assert (code, rows(out)) == (0, [{"word": "timeout", "rows": 2}])
    code, out, _ = run("suggest", table, "tmieout", "--similar", "--column", "message")
    assert (code, "timeout" in out) == (0, True)
    code, _, err = run("suggest", table, "x", "--column", "id")
    assert (code, "COLUMN_UNKNOWN" in err) == (1, True)


def test_a_search_without_matches_says_what_may_be_meant(run, table):
    code, out, _ = run("search", table, "tiemout AND pay")
    assert (code, "did you mean: timeout AND pay" in out) == (0, True)
    for fine in ("timeout", "wholly unknown", "timeout AND cart", "tiemout*"):
        assert "did you mean" not in run("search", table, fine)[1]
    json_only = run("search", table, "tiemout", "--json")[1]
    assert rows(json_only) == []


def test_history_detail_log_and_splits(run, table):
    code, out, _ = run("history", table, "--limit", "2", "--json")
    assert code == 0
    assert [row["version"] for row in rows(out)] == [2, 1]
    (facts,) = rows(run("detail", table, "--json")[1])
    assert (facts["num_records"], facts["num_files"], facts["version"]) == (3, 2, 2)
    actions = rows(run("log", table, "--all", "--json")[1])
    assert {a["action_type"] for a in actions if a["version"] == 0} >= {"protocol", "metadata"}
    found = rows(run("splits", table, "--json")[1])
    assert sorted(split["rows"] for split in found) == [1, 2]
    assert {split["deleted_rows"] for split in found} == {0}


@pytest.mark.parametrize("command", ["history", "detail", "log", "splits"])
def test_text_is_a_table(run, table, command):
    code, out, err = run(command, table)
    assert (code, err) == (0, "")
    assert "│" in out


def test_merge_joins_splits(run, table):
    code, out, _ = run("merge", table, "--target-size", "100M", "--json")
    (answer,) = rows(out)
    assert code == 0
    assert answer["metrics"]["status"] == "success"
    assert indextables.open(table).num_files == 1
    code, out, _ = run("merge", table)
    assert (code, "no_action" in out) == (0, True)


def test_purge_deletes_what_is_left_only_without_dry_run(run, table):
    run("merge", table)
    check = "spark.indextables.purge.retentionCheckEnabled=false"
    dry = run("purge", table, "--older-than-hours", "0", "--dry-run", "--conf", check, "--json")
    assert rows(dry[1])[0]["metrics"]["status"] == "DRY_RUN"
    code, out, _ = run("purge", table, "--older-than-hours", "0", "--conf", check)
    assert (code, "SUCCESS" in out) == (0, True)


def test_purge_refuses_a_short_retention(run, table):
    code, out, err = run("purge", table, "--older-than-hours", "1")
    assert (code, out) == (1, "")
    assert "PURGE_RETENTION" in err
    assert err.count("\n") == 1


def test_repair_rebuilds_a_lost_log(run, table):
    import shutil

    shutil.rmtree(f"{table}/_transaction_log")
    code, out, _ = run("repair", table, "--json")
    assert code == 0
    assert rows(out)[0]["status"] == "SUCCESS"
    assert indextables.open(table).num_rows == 3


def test_repair_says_why_it_cannot(run, table):
    code, out, err = run("repair", table)
    assert (code, out) == (1, "")
    assert "ERROR" in err


def test_sql_runs_commands_by_path_and_by_name(run, table):
    code, out, _ = run("sql", f"DESCRIBE INDEXTABLES HISTORY '{table}'", "--json")
    assert (code, len(rows(out))) == (0, 3)
    statement = "MERGE SPLITS logs TARGET SIZE 100M;"
    code, out, _ = run("sql", "-", "--table", f"logs={table}", "--json", given=statement)
    assert rows(out)[0]["metrics"]["merged_files"] == 2


def test_sql_points_at_the_error_of_a_command(run, table):
    code, _, err = run("sql", f"PURGE INDEXTABLE '{table}' OLDER")
    assert code == 1
    assert "SQL_SYNTAX" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "{none}", "x"),
        ("history", "{none}"),
        ("detail", "{none}"),
        ("log", "{none}"),
        ("splits", "{none}"),
        ("merge", "{none}"),
        ("purge", "{none}"),
        ("repair", "{none}"),
        ("search", "{table}", "message:(a"),
        ("search", "{table}", "a", "--columns", "nope"),
        ("search", "{table}", "a", "--version", "99"),
        ("merge", "{table}", "--target-size", "5K"),
        ("merge", "{table}", "--where", "id = 1"),
        ("detail", "{table}", "--conf", "spark.indextables.read.mode=nonsense"),
    ],
)
def test_a_failure_is_one_message_and_code_1(run, table, tmp_path, arguments):
    given = [a.format(table=table, none=tmp_path / "none") for a in arguments]
    code, out, err = run(*given)
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("search",),
        ("nonsense",),
        ("search", "{table}", "x", "--limit", "0"),
        ("search", "{table}", "x", "--limit", "many"),
        ("detail", "{table}", "--conf", "novalue"),
        ("sql", "SELECT 1", "--table", "noequals"),
    ],
)
def test_wrong_usage_is_code_2(run, table, arguments):
    code, _, err = run(*(a.format(table=table) for a in arguments))
    assert code == 2
    assert "Usage" in err


def test_doctor_without_spark_makes_a_round_trip(run):
    code, out, _ = run("doctor", "--no-spark", "--json")
    assert code == 0
    assert {row["status"] for row in rows(out)} == {"ok"}
    assert rows(out)[-1]["check"] == "round trip without Spark"


def test_doctor_names_what_is_missing(run, monkeypatch, tmp_path):
    from indextables.cli import doctor
    from indextables.errors import error

    def broken() -> str:
        raise error("JAR_MISSING", path="nowhere")

    monkeypatch.setattr(
        doctor, "_checks", lambda with_spark: [("jar", broken), ("java", doctor._java)]
    )
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    code, out, _ = run("doctor", "--json")
    assert code == 1
    assert [row["status"] for row in rows(out)] == ["failed", "failed"]
    assert "make setup" in rows(out)[0]["hint"]


def test_matching_words_are_marked_on_a_terminal(table, monkeypatch):
    from rich.console import Console

    from indextables.cli import search as searching

    shown = Console(force_terminal=True, color_system="standard", record=True, width=120)
    monkeypatch.setattr(searching, "console", lambda **_: shown)
    CliRunner().invoke(app, ["search", table, "timeout"])
    text = shown.export_text(styles=True)
    assert "\x1b[1;33mtimeout\x1b[0m" in text
    assert "_snippet" not in text


def test_search_draws_bars_over_time_and_by_value(run, tmp_path):
    import datetime as dt

    path = str(tmp_path / "times")
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    rows = pa.table(
        {
            "ts": [start + dt.timedelta(hours=n // 10) for n in range(40)],
            "service": ["cart", "cart", "mail", None] * 10,
            "message": ["timeout"] * 40,
        }
    )
    indextables.write(rows, path, options=TEXT)
    arguments = ["search", path, "timeout", "--histogram", "ts", "--facet", "service"]
    code, out, _ = run(*arguments)
    assert code == 0
    bars = [line for line in out.splitlines() if line.strip().startswith("2026-01-01 0")]
    assert [line.split()[-1] for line in bars if "█" in line] == ["10"] * 4
    cart, *others = [line.split() for line in out.splitlines() if "█" in line][4:]
    assert (cart[0], cart[-1]) == ("cart", "20")
    assert {(line[0], line[-1]) for line in others} == {("mail", "10"), ("null", "10")}


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--histogram", "id"], 1, "`--histogram` is 'id', but should be a column of dates"),
        (["--histogram", "nosuch"], 1, "[COLUMN_UNKNOWN] no such column: nosuch"),
        (["--facet", "level", "--facet", "nosuch"], 1, "[COLUMN_UNKNOWN] no such column: nosuch"),
        (["--facet", "level", "--json"], 2, "leave out --histogram and --facet"),
    ],
)
def test_bars_of_the_wrong_columns_are_one_error(run, table, arguments, code, says):
    found, out, problem = run("search", table, "timeout", *arguments)
    assert (found, out) == (code, "")
    assert says in " ".join(problem.replace("│", "").split())


def test_an_empty_statement_needs_no_spark(run):
    code, out, problem = run("sql", " ")
    assert (code, out) == (1, "")
    assert problem.startswith("error: [ARGUMENT_INVALID] `STATEMENT` is empty")


def test_follow_shows_matching_rows_of_new_commits_only(table):
    from indextables.api.ask import open_table
    from indextables.cli.search import new_matches

    opened = open_table(table, {})
    found = new_matches(opened, ["id"], "level = 'ERROR'", "timeout", 0.01)
    later = {"id": [7, 8, 9], "level": ["ERROR", "ERROR", "INFO"],
             "message": ["timeout", "cart", "timeout"]}  # fmt: skip
    indextables.write(pa.table(later), table)
    assert next(found)["id"].to_pylist() == [7]
    indextables.write(pa.table({"id": [10], "level": ["WARN"], "message": ["timeout"]}), table)
    assert next(found)["id"].to_pylist() == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_completion(run, shell):
    from typer._completion_shared import get_completion_script

    assert "--install-completion" in run("--help")[1]
    script = get_completion_script(
        prog_name="indextables", complete_var="_INDEXTABLES_COMPLETE", shell=shell
    )
    assert "_INDEXTABLES_COMPLETE" in script


def test_the_module_is_the_command():
    command = [sys.executable, "-m", "indextables", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"{indextables.__version__}\n"), done.stderr


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_a_page_without_a_table_does_not_start(run, tmp_path, table, name):
    (tmp_path / "empty").mkdir()
    location = str(tmp_path / name)
    code, out, problem = run("ui", table, location, "--no-browser")
    assert (code, out) == (1, "")
    assert f"[TABLE_NOT_FOUND] there is no IndexTables table at `{location}`" in problem
