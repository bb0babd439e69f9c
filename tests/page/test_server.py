"""The server without a browser: access control, responses and timeouts."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from tests.page import tables
from tests.stores.conftest import ACCESS_KEY, SECRET_KEY, minio_server, s3  # noqa: F401 (fixtures)

from indextables.errors import IndexTablesError
from indextables.page import serve
from indextables.page.process import ENDED, QueryProcess
from indextables.page.serve import open_site, running_site


def ask(url: str, method: str = "GET", host: str | None = None, **headers: str):
    """Send a request; return the response."""
    parts = urlsplit(url)
    line = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    line.putrequest(method, target, skip_host=True)
    line.putheader("Host", parts.netloc if host is None else host)
    for name, value in headers.items():
        line.putheader(name.replace("_", "-"), value)
    line.endheaders()
    answer = line.getresponse()
    body = answer.read().decode()
    line.close()
    return answer.status, body, dict(answer.getheaders())


def test_the_token_opens_the_page(site):
    status, body, headers = ask(site.url("events"))
    assert status == 200
    assert "rows" in body
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers


def test_no_page_has_inline_script_or_style(site):
    for name in ("search?q=timeout", "table", "history?from=1&to=4", "health"):
        _, body, _ = ask(site.url("events", name))
        assert "style=" not in body
        assert "onclick" not in body
        assert body.count("<script") == body.count("<script src=") == 2
        assert "http://" not in body
        assert "https://" not in body


def test_words_are_completed_by_column_or_in_all(site):
    for given in ("text=timeo", "text=timeo&column=message"):
        words = json.loads(ask(site.url("events", f"words.json?{given}"))[1])["words"]
        assert 'data-text="timeout"' in words
    assert (
        "ERROR"
        in json.loads(ask(site.url("events", "words.json?text=ER&column=level"))[1])["words"]
    )
    for nothing in ("text=", "text=1&column=id", "text=x&column=nosuch", "text=zzzz"):
        assert json.loads(ask(site.url("events", f"words.json?{nothing}"))[1]) == {"words": ""}
    script = ask(site.url("hostile", "words.json?text=%3Cscript&column=kind"))[1]
    assert "<script" not in script


def test_a_query_without_rows_says_what_may_be_meant(site):
    body = ask(site.url("events", "search?q=tiemout"))[1]
    assert "Did you mean" in body
    assert "q=timeout" in body
    assert "Did you mean" not in ask(site.url("events", "search?q=qqqqqq"))[1]


@pytest.mark.parametrize("path", ["", "t/0/search", "static/page.js", "t/0/hits.json?q=timeout"])
def test_an_expired_token_is_refused_everywhere(site, path):
    parts = urlsplit(site.site.url)
    token = parts.path.strip("/")
    for other in ("", "x", token[:-1], token + "x", token[::-1]):
        status, body, headers = ask(f"http://{parts.netloc}/{other}/{path}")
        assert status == 403
        assert "expired" in body
        assert token not in body
        assert "default-src 'none'" in headers["content-security-policy"]


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "evil.example:80"},
        {"host": ""},
        {"host": "127.0.0.1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_a_foreign_host_or_origin_is_refused(site, headers):
    status, body, _ = ask(site.url("events"), **headers)
    assert status == 403
    assert "events" not in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_the_page_can_only_be_read(site, method):
    assert ask(site.url("events"), method)[0] == 403


def test_a_page_of_its_own_is_let_in(site):
    parts = urlsplit(site.site.url)
    own = {"Origin": f"http://{parts.netloc}", "Sec_Fetch_Site": "same-origin"}
    assert ask(site.url("events"), **own)[0] == 200
    local = f"localhost:{parts.port}"
    assert ask(site.url("events"), host=local, Origin=f"http://{local}")[0] == 200


@pytest.mark.parametrize(
    "path", ["static/..%2fapp.py", "static/app.py", "t/99/search", "t/0/x", "x"]
)
def test_what_is_not_there(site, path):
    status, body, _ = ask(site.site.url + path)
    assert status == 404
    assert "Traceback" not in body
    assert "import" not in body


def test_only_loopback_is_bound(folder, site):
    opened = open_site([str(folder / "events")], {})
    assert opened.listener.getsockname()[0] == "127.0.0.1"
    with pytest.raises(IndexTablesError, match="PAGE_PORT"):
        open_site([], {}, opened.listener.getsockname()[1])
    opened.listener.close()


def test_every_start_has_a_token_of_its_own(folder):
    one, other = (open_site([str(folder)], {}) for _ in range(2))
    tokens = {urlsplit(each.url).path for each in (one, other)}
    assert len(tokens) == 2
    assert min(map(len, tokens)) >= 32
    one.listener.close()
    other.listener.close()


def test_a_missing_library_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(serve, "_LIBRARIES", ("no_such_library",))
    with pytest.raises(IndexTablesError, match=r'pip install "indextables\[ui\]"'):
        open_site([], {})


def test_the_command_prints_the_link_and_ends_with_the_terminal(folder, site):
    command = [sys.executable, "-m", "indextables", "ui", str(folder), "--no-browser"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        url = run.stdout.readline().strip()
        status, body, _ = ask(url)
        assert status == 200
        for name in site.numbers:
            assert name in body
        run.send_signal(signal.SIGINT)
        assert run.wait(30) in (0, 130, -signal.SIGINT)


def test_a_folder_without_tables_is_an_error(tmp_path):
    with running_site([str(tmp_path)], {}) as running:
        status, body, _ = ask(running.url)
    assert status == 404
    assert "TABLE_NOT_FOUND" in body


# --- the query process


def in_process(process: QueryProcess, run):
    async def _run():
        try:
            return await run(process)
        finally:
            await process.close()

    # playwright keeps an event loop running in the main thread
    with ThreadPoolExecutor(1) as other:
        return other.submit(asyncio.run, _run()).result()


def test_a_query_beyond_its_time_is_ended_and_the_next_one_works(folder, site):
    async def run(process: QueryProcess):
        assert (await process.ask("/", [])).status == 200
        first = process.pid
        # simulates a query that does not end
        os.kill(first, signal.SIGSTOP)
        usual, process._time_limit = process._time_limit, 0.5
        late = await process.ask("/t/0/search", [])
        assert late.status == 504
        assert "longer than 0.5 seconds" in late.body
        process._time_limit = usual
        assert (await process.ask("/t/0/search", [])).status == 200
        assert process.pid != first
        return first

    process = QueryProcess([str(folder / "events")], {}, time_limit=60)
    pid = in_process(process, run)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_query_that_nobody_waits_for_is_ended(folder, site):
    async def run(process: QueryProcess):
        await process.ask("/", [])
        first = process.pid
        os.kill(first, signal.SIGSTOP)
        asking = asyncio.create_task(process.ask("/t/0/search", []))
        await asyncio.sleep(0.1)
        asking.cancel()
        for _ in range(100):
            await asyncio.sleep(0.1)
            if process.pid is None:
                return
        raise AssertionError("the process still runs")

    in_process(QueryProcess([str(folder / "events")], {}, grace=0.2), run)


def test_a_browser_that_leaves_ends_its_query(folder, site):
    """The browser closes the connection before the response."""
    with running_site([str(folder / "events")], {}) as running:
        assert ask(running.url)[0] == 200
        process = running.process
        first = process.pid
        process._grace = 0.2
        os.kill(first, signal.SIGSTOP)
        parts = urlsplit(running.url)
        with socket.create_connection((parts.hostname, parts.port)) as line:
            head = f"GET {parts.path}t/0/search HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n"
            line.sendall(head.encode())
        assert ask(running.url)[0] == 200
        assert process.pid != first


def test_a_query_that_needs_too_much_memory_is_ended(folder, site):
    async def run(process: QueryProcess):
        return await process.ask("/t/0/search", [])

    found = in_process(QueryProcess([str(folder / "events")], {}, memory=24 << 20), run)
    assert found is ENDED


def test_answers_are_bounded(site):
    _, body, _ = ask(site.url("events", "hits.json?page=999999"))
    shown = json.loads(body)
    assert "Page 50" in shown["pager"] or shown["pager"] == "" or "of 50" in shown["pager"]


# --- a table on an object store


def test_a_table_on_minio_without_its_credentials_in_any_answer(s3):  # noqa: F811
    path = f"{s3.root}/page/shop"
    tables.write_partitioned(path, s3.options)
    with running_site([f"{s3.root}/page"], s3.options) as running:
        pages = ["", "t/0/search?q=failed", "t/0/table", "t/0/components.json", "t/0/history",
                 "t/0/health", "t/0/orphans.json", "t/0/hits.json?q=failed AND"]  # fmt: skip
        found = {page: ask(running.url + page.replace(" ", "%20")) for page in pages}
        command = subprocess.run(
            ["ps", "eww", "-o", "args", str(running.process.pid)],
            check=False, capture_output=True, text=True,
        ).stdout  # fmt: skip
    assert all(status == 200 for status, _, _ in found.values())
    assert "<strong>20</strong>" in found["t/0/search?q=failed"][1]
    assert "Hit rates of this page" in found["t/0/health"][1]
    for text in [command, *(body for _, body, _ in found.values())]:
        assert ACCESS_KEY not in text
        assert SECRET_KEY not in text


def test_an_object_store_that_refuses_says_so_without_credentials(s3):  # noqa: F811
    options = {**s3.options, "aws.secretKey": "planted-wrong-secret"}
    with running_site([f"{s3.root}/page/shop"], options) as running:
        status, body, _ = ask(running.url)
    assert status in (404, 500)
    assert "planted" not in body.lower()


def test_a_defect_is_answered_at_once_and_says_nothing_of_the_data(folder, site, monkeypatch):
    from indextables.page.pages import Pages

    pages = Pages([str(folder / "events")], {})
    pages.shelf.entries()
    monkeypatch.setattr(pages.shelf, "open", lambda *_: {}["planted"])
    status, _, body = pages.answer("/t/0/search", [])
    assert (status, "KeyError" in body, "planted" in body) == (500, True, False)
    assert "INTERNAL" in json.loads(pages.answer("/t/0/hits.json", [])[2])["problem"]
