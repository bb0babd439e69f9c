"""JDBC clients, such as BI tools, through Spark's SQL server."""

from __future__ import annotations

import csv
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.connect.server import HOME, environment, thrift_server

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with thrift_server(tmp_path_factory.mktemp("thrift")) as found:
        yield found


@pytest.fixture(scope="module")
def ask(address):
    """Run statements in a new client; return their rows, or the client's error message."""

    def run(*statements: str, fails: bool = False):
        command = [str(HOME / "bin" / "beeline"), "-u", address, "--silent=true"]
        command += ["--outputformat=csv2", "--showHeader=false"]
        command += [part for each in statements for part in ("-e", each)]
        done = subprocess.run(
            command, check=False, env=environment(), capture_output=True, text=True
        )
        assert (done.returncode != 0) == fails, done.stderr
        # the client prints its prompt before its output
        shown = re.sub(r"(?m)^(\d+: jdbc:\S+> )+", "", done.stdout)
        return done.stderr if fails else list(csv.reader(shown.split("\n")[:-1]))

    return run


@pytest.fixture(scope="module")
def table(ask):
    ask(
        "CREATE TABLE events (id INT, level STRING, message STRING) USING indextables "
        "OPTIONS ('indexing.typemap.message' = 'text')",
        "INSERT INTO events VALUES (1, 'ERROR', 'timeout in cart'), "
        "(2, 'INFO', 'all is well'), (3, 'ERROR', 'connection reset by peer')",
    )
    return "events"


def test_several_clients_search_at_once(ask, table):
    search = f"SELECT id, level FROM {table} WHERE message indexquery 'timeout OR reset' ORDER BY 1"
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: ask(search), range(2)))
    assert found == [[["1", "ERROR"], ["3", "ERROR"]]] * 2


def test_rows_are_changed_and_counted(ask, table):
    assert ask(
        f"UPDATE {table} SET level = 'WARN' WHERE id = 3",
        f"DELETE FROM {table} WHERE message indexquery 'cart'",
        f"SELECT level, count(*) FROM {table} GROUP BY level ORDER BY level",
        f"SELECT count(*) FROM {table} VERSION AS OF 1",
    ) == [["INFO", "1"], ["WARN", "1"], ["3"]]


def test_commands_answer(ask, table):
    ((path, *_),) = ask(f"MERGE SPLITS {table}")
    assert path.endswith(f"/{table}")


def test_an_error_is_one_message(ask, table):
    problem = ask(f"SELECT * FROM {table} WHERE message indexquery 'a AND ('", fails=True)
    assert "QUERY_SYNTAX" in problem
    assert "Traceback" not in problem
