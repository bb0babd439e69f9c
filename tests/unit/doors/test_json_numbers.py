"""Numbers in JSON columns: whole ones and others are compared as numbers."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import indextables

NUMBERS = (1, 1.5, 2, 2.25, 2.5, -3, -3.5, 0, 1e300, 2**53 + 1, 2**63 - 1, 2**63 + 2**20, 0.1)


@pytest.fixture(scope="module", params=["full", "minimal"])
def table(request, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("json") / "table")
    texts = [json.dumps({"n": number}) for number in (*NUMBERS, "2", None)]
    rows = pa.table({"id": list(range(len(texts))), "j": texts})
    options = {"indexing.typemap.j": "json", "indexing.json.mode": request.param}
    return indextables.write(rows, path, options=options)


@pytest.mark.parametrize(
    ("query", "holds"),
    [
        (">1", lambda n: n > 1),
        (">=2", lambda n: n >= 2),
        ("<0", lambda n: n < 0),
        ("<-3", lambda n: n < -3),
        ("<=-3", lambda n: n <= -3),
        ("{1 TO 2}", lambda n: 1 < n < 2),
        ("[1 TO 2.25]", lambda n: 1 <= n <= 2.25),
        ("[2.25 TO 3}", lambda n: 2.25 <= n < 3),
        ("{0.1 TO 1.5]", lambda n: 0.1 < n <= 1.5),
        (f">{2**53}", lambda n: n > 2**53),
        (f">{2**63 - 1}", lambda n: n > 2**63 - 1),
        ("[* TO 0]", lambda n: n <= 0),
    ],
)
def test_ranges_hold_for_whole_numbers_and_others(table, query, holds):
    wanted = [at for at, number in enumerate(NUMBERS) if holds(number)]
    assert sorted(table.scan(["id"], query=f"j.n:{query}")["id"].to_pylist()) == wanted


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_are_found(table, number):
    found = table.scan(["id"], query=f"j.n:{str(number).replace('-', chr(92) + '-')}")["id"]
    assert NUMBERS.index(number) in found.to_pylist()
