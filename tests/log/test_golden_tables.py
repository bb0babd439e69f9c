"""Tables of every layout that this project has written stay readable and writable."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indextables
from indextables.log import open_log
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext
from indextables.storage import open_store

DATA = Path(__file__).parents[1] / "data"
TABLES = sorted(str(f.relative_to(DATA)) for f in DATA.glob("own-*/*") if f.is_dir())
RECOMPRESSED = {"spark.indextables.merge.compressionLevel": "12"}


def in_order(rows: pa.Table) -> pa.Table:
    return rows.sort_by("id").combine_chunks()


def same(found: pa.Table, expected: pa.Table) -> bool:
    wanted = in_order(expected)
    got = in_order(found.select(wanted.column_names).cast(wanted.schema))
    # NaN is equal to NaN here, as in Spark
    return str(got.to_pylist()) == str(wanted.to_pylist())


def test_there_are_golden_tables():
    assert len(TABLES) >= 8


@pytest.mark.parametrize("name", TABLES)
def test_rows_are_as_they_were_written(name):
    table = indextables.open(str(DATA / name / "table"))
    assert same(table.scan(), pq.read_table(DATA / name / "expected.parquet"))


@pytest.mark.parametrize("name", TABLES)
def test_every_version_opens(name):
    log = open_log(open_store(str(DATA / name / "table")))
    newest = log.snapshot().version
    assert [log.snapshot(v).version for v in range(newest + 1)] == list(range(newest + 1))


@pytest.mark.parametrize("name", TABLES)
def test_a_table_takes_more_rows(name, tmp_path):
    shutil.copytree(DATA / name / "table", tmp_path / "t")
    expected = pq.read_table(DATA / name / "expected.parquet")
    more = expected.slice(0, 5)
    ids = pa.array(range(10_000, 10_005), expected.schema.field("id").type)
    more = more.set_column(0, expected.schema.field("id"), ids)
    table = indextables.write(more, str(tmp_path / "t"), mode="append")
    assert same(table.scan(), pa.concat_tables([expected, more]))


@pytest.mark.parametrize("given", [{}, RECOMPRESSED], ids=["as they are", "recompressed"])
@pytest.mark.parametrize("name", TABLES)
def test_old_splits_merge_with_new_ones(name, given, tmp_path):
    path = tmp_path / "t"
    shutil.copytree(DATA / name / "table", path)
    expected = pq.read_table(DATA / name / "expected.parquet")
    ids = pa.array(range(10_000, 10_005), expected.schema.field("id").type)
    more = expected.slice(0, 5).set_column(0, expected.schema.field("id"), ids)
    before = open_log(open_store(str(path))).snapshot().num_files
    indextables.write(more, str(path), mode="append")
    execute(f"MERGE SPLITS '{path}'", LocalContext(given))
    assert open_log(open_store(str(path))).snapshot().num_files <= before
    assert same(indextables.open(str(path)).scan(), pa.concat_tables([expected, more]))


@pytest.mark.parametrize("name", [name for name in TABLES if "/trigrams" in name])
def test_parts_are_found_in_old_and_new_splits_and_when_they_are_merged(name, tmp_path):
    path = tmp_path / "t"
    shutil.copytree(DATA / name / "table", path)
    rows = pq.read_table(DATA / name / "expected.parquet")

    def check(times: int) -> None:
        table = indextables.open(str(path))
        for column, part in (("message", "9 timeo"), ("name", "ame 3"), ("name", "Name")):
            texts = rows[column].to_pylist()
            want = times * sum(part in text for text in texts)
            assert table.count(f"contains({column}, '{part}')") == want
            low = times * sum(part.lower() in text.lower() for text in texts)
            assert table.count(f"{column} ILIKE '%{part}%'") == low > 0

    check(1)
    indextables.write(rows, str(path), mode="append")
    check(2)
    execute(f"MERGE SPLITS '{path}'", LocalContext())
    check(2)


@pytest.mark.parametrize("name", [name for name in TABLES if "/capitals" in name])
def test_parts_of_words_are_found_in_old_and_new_splits_and_when_they_are_merged(name, tmp_path):
    path = tmp_path / "t"
    shutil.copytree(DATA / name / "table", path)
    rows = pq.read_table(DATA / name / "expected.parquet")
    texts = rows["message"].to_pylist()

    def check(times: int) -> None:
        table = indextables.open(str(path))
        for part in ("eques", "requ", "Reque", "REQ", "meou", "meOu", "röß", "19"):
            want = times * sum(part in text for text in texts)
            assert table.count(f"contains(message, '{part}')") == want
            if part.isascii():
                low = times * sum(part.lower() in text.lower() for text in texts)
                assert table.count(f"message ILIKE '%{part}%'") == low > 0

    check(1)
    indextables.write(rows, str(path), mode="append")
    check(2)
    execute(f"MERGE SPLITS '{path}'", LocalContext())
    check(2)


@pytest.mark.parametrize("name", [name for name in TABLES if "/doubles" in name])
def test_doubles_are_found_in_old_and_new_splits_and_when_they_are_merged(name, tmp_path):
    path = tmp_path / "t"
    shutil.copytree(DATA / name / "table", path)
    rows = pq.read_table(DATA / name / "expected.parquet")
    values = [value for value in rows["value"].to_pylist() if value is not None]

    def check(times: int) -> None:
        table = indextables.open(str(path))
        for low, high in ((0.0, 1.369), (1.369, 40.7), (-1.0, 1e9)):
            want = times * sum(low <= value < high for value in values)
            assert table.count(f"value >= {low} AND value < {high}") == want > 0
        best = table.scan(["value"], limit=1, order_by=["value DESC"])
        assert best["value"].to_pylist() == [max(values)]
        found = table.aggregate({"low": "min(value)", "all": "count(value)"}).to_pylist()
        assert found == [{"low": min(values), "all": times * len(values)}]

    check(1)
    indextables.write(rows, str(path), mode="append")
    check(2)
    execute(f"MERGE SPLITS '{path}'", LocalContext())
    check(2)
