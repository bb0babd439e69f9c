"""Binary search of ascending numbers finds the same rows."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import indextables

ROWS = 3000
# the number of queries of a column after which a split checks whether its numbers ascend
QUERIES = 4


def numbers(kind: str, rng: random.Random) -> list[int | None]:
    ascending = sorted(rng.randrange(-500, 500) for _ in range(ROWS))
    if kind == "ascending":
        return ascending
    if kind == "a null":
        return [*ascending[:-1], None]
    if kind == "one misplaced":
        return [*ascending[:1501], -600, *ascending[1502:]]
    return rng.sample(ascending, ROWS)


@pytest.mark.parametrize("layout", ["compatible", "lean"])
@pytest.mark.parametrize("kind", ["ascending", "a null", "one misplaced", "mixed"])
def test_the_same_rows_are_found_as_in_any_order(tmp_path, kind, layout):
    rng = random.Random(11)
    values = numbers(kind, rng)
    rows = pa.table({"n": values, "m": [f"row {at}" for at in range(ROWS)]})
    options = {"indexing.typemap.m": "text", "indexing.layout": layout}
    table = indextables.write(rows, str(tmp_path), options=options)
    present = [value for value in values if value is not None]
    for turn in range(QUERIES + 20):
        low = rng.choice([*present, -501, 501, -600])
        high = low + rng.randrange(0, 40)
        want = sorted(f"row {at}" for at, value in enumerate(values) if value == low)
        found = table.scan(["m"], f"n = {low}")
        assert sorted(found["m"].to_pylist()) == want, turn
        assert table.count(f"n = {low}") == len(want)
        between = sum(low <= value <= high for value in present)
        assert table.count(f"n BETWEEN {low} AND {high}") == between
        assert table.count(f"NOT (n BETWEEN {low} AND {high})") == len(present) - between
        assert table.count(f"n > {low}") == sum(value > low for value in present)
        both = sum(value in (low, high) for value in present)
        assert table.count(f"n IN ({low}, {high})") == both
        seventh = values[7] is not None and values[7] <= low
        assert table.count(f"n <= {low}", query="m:7") == int(seventh)


def test_numbers_beyond_the_type_are_not_found(tmp_path):
    most = 2**63 - 1
    table = indextables.write(pa.table({"n": [-most - 1, 0, most]}), str(tmp_path))
    for _ in range(3):
        assert table.count(f"n = {most}") == 1
        assert table.count(f"n > {most - 1}") == 1
        assert table.count(f"n >= {-most}") == 2
        assert table.count(f"n > {most}") == 0


def test_deleted_rows_stay_out(tmp_path):
    options = {"primary-key": "n", "indexing.typemap.m": "text"}
    rows = pa.table({"n": range(2000), "m": ["old"] * 2000})
    indextables.write(rows, str(tmp_path), options=options)
    later = pa.table({"n": range(0, 2000, 2), "m": ["new"] * 1000})
    table = indextables.write(later, str(tmp_path))
    for n in range(40):
        found = table.scan(where=f"n = {n}").to_pylist()
        assert found == [{"n": n, "m": "old" if n % 2 else "new"}]
        assert table.count(f"n BETWEEN {n} AND {n + 9}") == 10


@pytest.mark.parametrize("count", [1, 3, 40])
def test_few_rows_have_every_column(tmp_path, count):
    rows = pa.table(
        {
            "id": range(500),
            "m": [f"text {at}" for at in range(500)],
            "d": [None if at % 3 else at / 7 for at in range(500)],
            "s": [f"s{at}" for at in range(500)],
            "flag": [at % 2 == 0 for at in range(500)],
            "ts": pa.array([at * 1_000_003 for at in range(500)], pa.timestamp("us", "UTC")),
            "price": pa.array(range(500)).cast(pa.decimal128(21, 2)),
        }
    )
    table = indextables.write(rows, str(tmp_path), options={"indexing.typemap.m": "text"})
    found = table.scan(where=f"id >= 100 AND id < {100 + count}").combine_chunks()
    assert found.equals(rows.slice(100, count).combine_chunks().cast(found.schema))
