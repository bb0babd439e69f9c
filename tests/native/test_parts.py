"""Trigram positions and whole blocks find the same substrings as Python."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import indextables
from indextables.model.strings import from_bytes, string_array

PIECES = [
    b"error ", b"Error-", b"ERROR", b"time", b"Out", b"out", b" ", b"-", b"aaa", b"k", b"i", b"7",
    "\u212a".encode(), "İ".encode(), "i\u0307".encode(), "ΟΔΟΣ".encode(), "οδος".encode(),
    "日本語".encode(), b"\xff", b"\xc3", b"\xed\xa0\x80", "\ufffd".encode(),
]  # fmt: skip
LONG = [b"x" * 300 + b"Timeout", b"y" * 70_000 + b"timeout", b"a timeout " + b"z" * 400]
MODES = ["text", "text+ngram", "string+ngram"]
ROWS = 900
DELETED = range(20, 60)


def make_values(rng: random.Random) -> list[bytes | None]:
    def one() -> bytes | None:
        return None if rng.random() < 0.05 else b"".join(rng.choices(PIECES, k=rng.randint(0, 9)))

    return [*LONG, *(one() for _ in range(ROWS - len(LONG)))]


def write(path: str, values: list[bytes | None], options: dict[str, str]) -> indextables.Table:
    texts = string_array([None if value is None else from_bytes(value) for value in values])
    rows = pa.table({"id": range(len(values)), "m": texts})
    for start in range(0, len(values), 300):
        indextables.write(rows.slice(start, 300), path, options={} if start else options)
    indextables.delete(path, f"id BETWEEN {DELETED[0]} AND {DELETED[-1]}")
    return indextables.open(path)


@pytest.fixture(scope="module", params=["compatible", "lean", "compatible utf-8", "lean utf-8"])
def tables(request, tmp_path_factory):
    """The values of the live rows, and tables of them by kind of index."""
    layout, _, valid = request.param.partition(" ")
    values = make_values(random.Random(11))
    if valid:
        values = [value and value.decode(errors="replace").encode() for value in values]
    options = {"indexing.layout": layout}
    made = {
        mode: write(
            str(tmp_path_factory.mktemp("t")), values, {"indexing.typemap.m": mode} | options
        )
        for mode in MODES
    }
    left = {row: value for row, value in enumerate(values) if row not in DELETED}
    return {row: value for row, value in left.items() if value is not None}, made


def needle(rng: random.Random, values: list[bytes]) -> str:
    """A substring of some value, in the same case or another, or a rare one."""
    value = rng.choice(values).decode(errors="ignore") or "tim"
    start = rng.randrange(len(value))
    part = value[start : start + rng.choice([1, 2, 3, 3, 4, 5, 7, 9, 12, 30, 60])]
    return rng.choice([part, part, part.lower(), part.upper(), part[::-1]])


def found(table: indextables.Table, where: str) -> list[int]:
    rows = sorted(table.scan(["id"], where)["id"].to_pylist())
    assert table.count(where) == len(rows)
    return rows


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(40))
def test_a_part_is_found_where_it_is(tables, mode: str, seed: int):
    values, made = tables
    part = needle(random.Random(seed), list(values.values()))
    want = [row for row, value in values.items() if part.encode() in value]
    assert found(made[mode], f"contains(m, '{part}')") == want, part
    without = sorted(set(values) - set(want))
    assert found(made[mode], f"NOT contains(m, '{part}')") == without, part


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "part",
    ["r t", "ror", "ERROR", "error ti", "imeo", "timeout", "TIMEOUT", "ki", "iii", "aaaa", "kk7",
     "-e", "out out", "7" * 60, "t-", "i" * 3],
)  # fmt: skip
def test_a_part_in_any_case_is_found_where_it_is(tables, mode: str, part: str):
    values, made = tables
    texts = {row: value.decode(errors="replace").lower() for row, value in values.items()}
    want = [row for row, text in texts.items() if part.lower() in text]
    assert found(made[mode], f"m ILIKE '%{part}%'") == want
    assert found(made[mode], f"m NOT ILIKE '%{part}%'") == sorted(set(values) - set(want))
    starts = [row for row, text in texts.items() if text.startswith(part.lower())]
    assert found(made[mode], f"m ILIKE '{part}%'") == starts


@pytest.mark.parametrize("mode", MODES)
def test_a_needle_of_a_pattern_may_stand_in_other_rows(tables, mode: str):
    values, made = tables
    texts = {row: value.decode(errors="replace") for row, value in values.items()}
    want = [row for row, text in texts.items() if "error" in text and text.endswith("out")]
    assert want
    assert found(made[mode], "m LIKE '%error%out'") == want
    want = [row for row, text in texts.items() if text.startswith("time")]
    assert found(made[mode], "startswith(m, 'time')") == want
