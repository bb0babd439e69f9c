"""Damaged sources: a query names the file and the damage, and never returns fewer rows."""

from __future__ import annotations

import io
import os
import random
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.companions.index import INDEXED, Index
from tests.companions.questions import open_index
from tests.companions.sources import IcebergHistory, VectorHistory
from tests.unit.sources.delta_tables import HandWrittenDelta

from indextables.errors import IndexTablesError

MISSING, CHANGED, SOURCE = "COMPANION_FILE_MISSING", "COMPANION_FILE_CHANGED", "COMPANION_SOURCE"


def rows(first: int, count: int = 50) -> pa.Table:
    """Rows whose size does not depend on their numbers."""
    numbers = range(first, first + count)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "message": [f"word{n % 10} line{n:06}" for n in numbers],
        }
    )


class _Delta:
    """The methods of a source that these tests need."""

    kind, lossy = "DELTA", True

    def __init__(self, folder: Path) -> None:
        self.location = str(folder / "delta")
        write_deltalake(self.location, rows(1))

    def now(self) -> tuple[str, list[dict[str, object]]]:
        table = DeltaTable(self.location)
        return str(table.version()), table.to_pyarrow_table().to_pylist()


def remove(file: Path) -> None:
    file.unlink()


def truncate(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def replace_alike(file: Path, count: int = 50) -> None:
    """Replace the rows of a file; its size stays the same."""
    facts, data = file.stat(), io.BytesIO()
    pq.write_table(
        rows(1000, count), data, compression="zstd", store_schema=False, write_statistics=False
    )
    small = data.getvalue()
    footer = len(small) - 8 - int.from_bytes(small[-8:-4], "little")
    # the bytes between the last page and the footer are never read
    padding = bytes(facts.st_size - len(small))
    file.write_bytes(small[:footer] + padding + small[footer:])


def scramble(file: Path) -> None:
    """Damage the pages of the last column, or a whole file that is not Parquet."""
    data = bytearray(file.read_bytes())
    start, end = 4, len(data)
    if data.startswith(b"PAR1"):
        column = pq.read_metadata(file).row_group(0).column(1)
        start = column.dictionary_page_offset or column.data_page_offset
        end = start + column.total_compressed_size
    data[start:end] = bytes(end - start)
    file.write_bytes(data)


DAMAGE = {
    "removed": (remove, MISSING),
    "truncated": (truncate, CHANGED),
    "replaced": (replace_alike, CHANGED),
    "scrambled": (scramble, "FILE_CORRUPT"),
}


@pytest.fixture
def index(tmp_path: Path) -> Index:
    made = Index(tmp_path, _Delta(tmp_path), "INDEXING MODES ('message':'text')")
    made.build()
    made.clauses = ""
    return made


def files(index: Index) -> list[Path]:
    return [Path(index.history.location) / path for path in _listed(index)]


def _listed(index: Index) -> list[str]:
    found: list[str] = pa.table(DeltaTable(index.history.location).get_add_actions())[
        "path"
    ].to_pylist()
    return found


QUERIES = {
    "rows": lambda table: table.scan(),
    "hits": lambda table: table.search("word3"),
    "top": lambda table: table.scan(["message"], order_by=["id DESC"], limit=3),
    "where": lambda table: table.scan(["id"], where="message LIKE '%line00001%'"),
}


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("options", [{}, INDEXED], ids=["latest", "indexed"])
def test_an_indexed_file_is_damaged(index: Index, kind: str, options: dict[str, str]):
    damage, code = DAMAGE[kind]
    (file,) = files(index)
    damage(file)
    for name in ("rows", "hits", "top"):
        with pytest.raises(IndexTablesError) as failed:
            QUERIES[name](open_index(index.location, **options))
        assert failed.value.code == code, name
        assert file.name in str(failed.value)
    # queries that need only the index still work
    table = open_index(index.location, **options)
    assert (table.count(), table.count(query="word3")) == (50, 5)


# an unread file cannot be distinguished from another one with the same size and number of rows
@pytest.mark.parametrize("kind", sorted({*DAMAGE} - {"replaced"}))
def test_a_pending_file_is_damaged(index: Index, kind: str):
    damage, code = DAMAGE[kind]
    before = set(files(index))
    write_deltalake(index.history.location, rows(500), mode="append")
    (file,) = set(files(index)) - before
    damage(file)
    for ask in QUERIES.values():
        with pytest.raises(IndexTablesError) as failed:
            ask(open_index(index.location))
        assert failed.value.code == code
        assert file.name in str(failed.value)
    with pytest.raises(IndexTablesError) as failed:
        index.build()
    assert failed.value.code == code
    assert open_index(index.location, **INDEXED).count() == 50


def test_a_file_with_another_number_of_rows_is_refused(index: Index):
    """The file was never read before, but the log of the source has its number of rows."""
    before = set(files(index))
    write_deltalake(index.history.location, rows(500), mode="append")
    (file,) = set(files(index)) - before
    replace_alike(file, count=49)
    for ask in (QUERIES["rows"], QUERIES["hits"]):
        with pytest.raises(IndexTablesError) as failed:
            ask(open_index(index.location))
        assert failed.value.code == CHANGED
    with pytest.raises(IndexTablesError) as failed:
        index.build()
    assert failed.value.code == CHANGED


@pytest.mark.parametrize("damage", [remove, truncate, scramble])
def test_a_damaged_deletion_vector_hides_nothing_by_chance(tmp_path: Path, damage):
    history = VectorHistory(tmp_path, random.Random(1))
    index = Index(tmp_path, history, "INDEXING MODES ('message':'text')")
    index.build()
    while not list(Path(history.location).glob("deletion_vector_*.bin")):
        history.delete()
    for file in Path(history.location).glob("deletion_vector_*.bin"):
        damage(file)
    with pytest.raises(IndexTablesError) as failed:
        open_index(index.location).scan()
    assert failed.value.code == SOURCE
    with pytest.raises(IndexTablesError) as failed:
        index.build()
    assert failed.value.code == SOURCE
    assert open_index(index.location, **INDEXED).count() > 0


@pytest.mark.parametrize("recorded", [-1, 0, 1, 7, 10**9])
@pytest.mark.parametrize("indexed", [True, False], ids=["later", "first"])
def test_the_rows_of_a_vector_count_not_what_the_log_says_of_it(
    tmp_path: Path, recorded: int, indexed: bool
):
    source, index = _Vectors(tmp_path), Index(tmp_path, None, "")
    build = partial(index.run, f"BUILD INDEXTABLES COMPANION FOR {source.clause(index.location)}")
    if indexed:
        source.add()
        build()
    source.delete({1, 2, 3}, recorded)
    if not indexed:
        build()
    for _ in range(2):
        table = open_index(index.location)
        assert sorted(row["id"] for row in table.scan().to_pylist()) == [0, *range(4, 50)]
        assert table.aggregate(["count(*)", "sum(id)"]).to_pylist() == [
            {"count(*)": 47, "sum(id)": sum(range(50)) - 6}
        ]
        assert (table.num_rows, table.count(), table.count("id >= 0")) == (47, 47, 47)
        build()


def test_a_vector_that_names_rows_beyond_its_file_is_refused(tmp_path: Path):
    source, index = _Vectors(tmp_path), Index(tmp_path, None, "")
    source.add()
    index.run(f"BUILD INDEXTABLES COMPANION FOR {source.clause(index.location)}")
    source.delete({1, 50}, 2)
    with pytest.raises(IndexTablesError) as failed:
        open_index(index.location).count()
    assert failed.value.code == SOURCE


@pytest.mark.parametrize("feature", ["typeWidening", "typeWidening-preview"])
def test_widened_types_are_refused_by_the_name_of_the_feature(tmp_path: Path, feature: str):
    """The library cannot read such tables: this is an error, and no row is returned."""
    source, index = _Vectors(tmp_path), Index(tmp_path, None, "")
    source.add()
    build = partial(index.run, f"BUILD INDEXTABLES COMPANION FOR {source.clause(index.location)}")
    build()
    features = ["deletionVectors", feature]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7}
    protocol |= {"readerFeatures": features, "writerFeatures": features}
    source.log.commit({"protocol": protocol})
    for ask in (build, lambda: open_index(index.location).count()):
        with pytest.raises(IndexTablesError, match=r"(?i)typeWidening") as failed:
            ask()
        assert failed.value.code == SOURCE
    # the indexed version is still readable
    assert open_index(index.location, **INDEXED).count("id < 10") == 10


class _Vectors:
    """A Delta table of one file, whose log may be wrong about its deletion vector."""

    def __init__(self, folder: Path) -> None:
        kinds = {"id": "long", "message": "string"}
        fields = [
            {"name": name, "type": kind, "nullable": True, "metadata": {}}
            for name, kind in kinds.items()
        ]
        schema = {"type": "struct", "fields": fields}
        self.log = HandWrittenDelta(folder / "delta", schema, features=["deletionVectors"])
        self.size, self.added = self.log.write("a.parquet", rows(0)), None

    def clause(self, target: str) -> str:
        return f"DELTA '{self.log.folder}' AT LOCATION '{target}'"

    def add(self) -> None:
        self.added = self.log.add("a.parquet", self.size, 50)
        self.log.commit(self.added)

    def delete(self, positions: set[int], recorded: int) -> None:
        gone = [] if self.added is None else [self.log.remove(self.added)]
        action = self.log.add("a.parquet", self.size, 50, deleted=sorted(positions))
        action["add"]["deletionVector"]["cardinality"] = recorded
        self.log.commit(*gone, action)


def test_metadata_of_iceberg_that_is_gone(tmp_path: Path):
    history = IcebergHistory(tmp_path, random.Random(3))
    index = Index(tmp_path, history, "INDEXING MODES ('message':'text')")
    index.build()
    history.append()
    for file in Path(history.location, "metadata").glob("*.avro"):
        file.unlink()
    with pytest.raises(IndexTablesError) as failed:
        open_index(index.location).scan()
    assert failed.value.code == SOURCE
    assert open_index(index.location, **INDEXED).count() > 0
