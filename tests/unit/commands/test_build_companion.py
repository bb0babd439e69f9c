"""BUILD COMPANION with real writers: every answer is that of the source, indexed or not."""

from __future__ import annotations

import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from tests.unit.sources.delta_tables import HandWrittenDelta

import indextables
from indextables.commands import companion_sync
from indextables.errors import IndexTablesError
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext

INDEXED = {"companion.readVersion": "indexed"}


class Companion:
    """An index of a source, and what queries read from it."""

    def __init__(self, folder, kind, source, session=None):
        self.location, self.kind, self.source = str(folder / "ix"), kind, str(source)
        self.door = LocalContext(session or {})

    def build(self, clauses="", after=""):
        text = (
            f"BUILD INDEXTABLES COMPANION FOR {self.kind} '{self.source}' {clauses} "
            f"AT LOCATION '{self.location}' {after}"
        )
        return execute(text, self.door).to_pylist()[0]

    def run(self, text):
        return execute(text, self.door).to_pylist()

    def open(self, **options):
        return indextables.open(self.location, options={**self.door.session, **options})

    def ids(self, **options):
        return sorted(self.open(**options).scan(["id"])["id"].to_pylist())

    def found(self, query, **options):
        return sorted(self.open(**options).search(query, ["id"], limit=1000)["id"].to_pylist())


def rows(*numbers):
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "message": [f"word{n} {'even' if n % 2 == 0 else 'odd'}" for n in numbers],
        }
    )


TEXT = "INDEXING MODES ('message':'text')"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "src").mkdir()
    return tmp_path


@pytest.fixture
def parquet(folder):
    pq.write_table(rows(1, 2, 3), folder / "src" / "a.parquet")
    pq.write_table(rows(4, 5), folder / "src" / "b.parquet")
    return Companion(folder, "PARQUET", folder / "src")


@pytest.fixture
def delta(folder):
    delta = folder / "delta"
    write_deltalake(delta, rows(1, 2, 3))
    write_deltalake(delta, rows(4, 5), mode="append")
    return Companion(folder, "DELTA", delta)


def test_a_folder_of_parquet_files(parquet, folder):
    dry = parquet.build(TEXT, "DRY RUN")
    assert (dry["status"], dry["message"]) == (
        "dry_run",
        "Would create 1 companion splits from 2 parquet files",
    )
    assert not (folder / "ix").exists()
    built = parquet.build(TEXT)
    assert (built["status"], built["source_version"]) == ("success", None)
    assert built["message"] == "Synced 2 parquet files into 1 companion splits"
    assert built["parquet_bytes_downloaded"] > 0 < built["split_bytes_uploaded"]
    assert parquet.ids() == [1, 2, 3, 4, 5]
    assert parquet.found("even") == [2, 4]
    version = parquet.open().version
    again = parquet.build(TEXT)
    assert (again["status"], again["message"]) == ("no_action", "No changes to sync")
    assert parquet.open().version == version


def test_rows_stay_hidden_when_a_checkpoint_lists_the_splits_in_another_order(folder):
    companion = Companion(folder, "PARQUET", folder / "src")
    for part, numbers in (("b", (1, 2)), ("a", (3, 4))):
        partition = folder / "src" / f"part={part}"
        partition.mkdir()
        for number in numbers:
            pq.write_table(rows(number), partition / f"{number}.parquet")
        companion.build(TEXT)
    (folder / "src" / "part=b" / "1.parquet").unlink()
    assert companion.ids() == [2, 3, 4]
    companion.run(f"COMPACT INDEXTABLES '{companion.location}'")
    assert companion.ids() == [2, 3, 4]
    assert companion.found("odd") == [3]


def test_a_source_that_went_on_is_seen_before_it_is_indexed(parquet, folder):
    parquet.build(TEXT)
    pq.write_table(rows(6, 7), folder / "src" / "c.parquet")
    (folder / "src" / "a.parquet").unlink()
    assert parquet.ids() == [4, 5, 6, 7]
    assert parquet.found("even") == [4, 6]
    assert parquet.open().count(query="even") == 2
    assert parquet.open().aggregate(["sum(id)"]).to_pylist() == [{"sum(id)": 22}]
    assert parquet.open().scan(["id"], order_by=["id DESC"], limit=2)["id"].to_pylist() == [7, 6]
    assert parquet.build()["status"] == "success"
    assert parquet.ids() == parquet.ids(**INDEXED) == [4, 5, 6, 7]


def test_a_file_replaced_in_place_is_read_anew(parquet, folder):
    parquet.build(TEXT)
    pq.write_table(rows(8, 9), folder / "src" / "b.parquet")
    os.utime(folder / "src" / "b.parquet", (1, 1))
    assert parquet.found("even") == [2, 8]
    parquet.build()
    assert parquet.found("even", **INDEXED) == [2, 8]


def test_a_file_of_the_same_size_and_age_is_read_anew(parquet, folder):
    def write(*numbers):
        # size and footer are the same for both
        pq.write_table(rows(*numbers), path, use_dictionary=False, write_statistics=False)

    path = folder / "src" / "b.parquet"
    write(4, 5)
    facts = path.stat()
    parquet.build(TEXT)
    assert parquet.found("even") == [2, 4]
    write(6, 7)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert path.stat().st_size == facts.st_size
    assert (parquet.found("even"), parquet.open().count(query="even")) == ([2, 6], 2)
    write(8, 9)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert parquet.found("even") == [2, 8]
    parquet.build()
    assert parquet.found("even", **INDEXED) == [2, 8]


def test_an_index_in_the_folder_of_its_source(parquet, folder):
    parquet.location = str(folder / "src")
    parquet.build(TEXT)
    assert parquet.build()["status"] == "no_action"
    assert parquet.found("even") == parquet.found("even", **INDEXED) == [2, 4]


def test_a_split_with_few_live_rows_is_built_again(parquet, folder):
    parquet.build(TEXT)
    (folder / "src" / "a.parquet").unlink()
    done = parquet.build()
    counted = ("status", "splits_created", "splits_invalidated", "parquet_files_indexed")
    assert [done[name] for name in counted] == ["success", 1, 1, 1]
    assert parquet.open().files()["numRecords"].to_pylist() == [2]
    assert parquet.ids() == parquet.ids(**INDEXED) == [4, 5]
    assert parquet.build()["status"] == "no_action"


def test_a_sync_that_only_removes_commits(parquet, folder):
    parquet.build(TEXT, "")
    (folder / "src" / "b.parquet").unlink()
    done = parquet.build()
    assert (done["status"], done["parquet_files_indexed"]) == ("success", 0)
    assert parquet.ids(**INDEXED) == [1, 2, 3]
    assert parquet.build()["status"] == "no_action"


def test_delta_versions_can_be_chosen(delta):
    assert delta.build(TEXT)["source_version"] == 1
    write_deltalake(delta.source, rows(6), mode="append")
    DeltaTable(delta.source).delete("id = 1")
    assert delta.ids() == [2, 3, 4, 5, 6]
    assert delta.ids(**INDEXED) == [1, 2, 3, 4, 5]
    for version in range(4):
        table = DeltaTable(delta.source, version=version).to_pyarrow_table()
        assert delta.ids(sourceVersionAsOf=str(version)) == sorted(table["id"].to_pylist())
    assert delta.build()["source_version"] == 3
    assert delta.ids(**INDEXED) == [2, 3, 4, 5, 6]
    DeltaTable(delta.source).restore(1)
    assert delta.ids() == [1, 2, 3, 4, 5]


def test_delta_deletion_vectors_cost_no_reading(folder):
    schema = {
        "type": "struct",
        "fields": [
            {"name": "id", "type": "long", "nullable": True, "metadata": {}},
            {"name": "message", "type": "string", "nullable": True, "metadata": {}},
        ],
    }
    table = HandWrittenDelta(folder / "dv", schema, features=["deletionVectors"])
    size = table.write("f.parquet", rows(1, 2, 3, 4))
    first = table.add("f.parquet", size, 4)
    table.commit(first)
    ix = Companion(folder, "DELTA", folder / "dv")
    ix.build(TEXT)
    second = table.add("f.parquet", size, 4, deleted=[1, 2])
    table.commit(table.remove(first), second)
    assert ix.ids() == [1, 4]
    assert ix.found("even") == [4]
    done = ix.build()
    assert (done["status"], done["parquet_bytes_downloaded"]) == ("success", 0)
    assert ix.ids(**INDEXED) == [1, 4]
    table.commit(table.remove(second), table.add("f.parquet", size, 4))
    assert ix.ids() == [1, 2, 3, 4]
    ix.build()
    assert ix.ids(**INDEXED) == [1, 2, 3, 4]


def test_iceberg_with_a_renamed_column(folder):
    properties = {
        "type": "sql",
        "uri": f"sqlite:///{folder}/c.db",
        "warehouse": f"file://{folder}/wh",
    }
    catalog = SqlCatalog("c", **properties)
    catalog.create_namespace("ns")
    table = catalog.create_table("ns.t", rows(1).schema)
    table.append(rows(1, 2, 3))
    ix = Companion(folder, "ICEBERG", folder / "wh" / "ns" / "t")
    ix.build(TEXT)
    table.append(rows(4, 5))
    table.delete("id = 1")
    with table.update_schema() as change:
        change.rename_column("message", "body")
    assert ix.ids() == [2, 3, 4, 5]
    assert ix.open().schema.names == ["id", "body"]
    assert ix.found("body:even") == [2, 4]
    ix.build()
    assert ix.found("body:even", **INDEXED) == [2, 4]
    catalog.close()


def test_partitions_where_and_invalidate_all(folder):
    delta = folder / "delta"
    table = rows(1, 2, 3, 4).append_column("day", [["x", "x", "y", None]])
    write_deltalake(delta, table, partition_by=["day"])
    ix = Companion(folder, "DELTA", delta)
    ix.build(f"{TEXT} WHERE day = 'x'")
    assert ix.ids() == [1, 2]
    write_deltalake(delta, rows(5, 6).append_column("day", [["x", "z"]]), mode="append")
    assert ix.ids() == [1, 2, 5]
    with pytest.raises(IndexTablesError, match="COMPANION_CHANGED"):
        ix.build("WHERE day = 'y'")
    ix.build("WHERE day = 'y' INVALIDATE ALL PARTITIONS")
    assert ix.ids() == ix.ids(**INDEXED) == [3]
    with pytest.raises(IndexTablesError, match="PARTITION_PREDICATE"):
        Companion(folder / "src", "DELTA", delta).build("WHERE id = 1")


def test_clauses_are_remembered_and_checked(parquet):
    for clause, problem in (
        ("INCLUDE COLUMNS ('nope')", "does not exist"),
        ("INDEXING MODES ('id':'text')", "needs a string column"),
        ("INDEXING MODES ('message':'text_uuid')", "not supported"),
        ("EXCLUDE COLUMNS ('id', 'ID')", "twice"),
        ("EXCLUDE COLUMNS ('id', 'message')", "no column is left"),
        ("INCLUDE COLUMNS ('id') INDEXING MODES ('message':'text')", "not indexed"),
    ):
        with pytest.raises(IndexTablesError, match=problem):
            parquet.build(clause)
    parquet.build("INCLUDE COLUMNS ('message') INDEXING MODES ('message':'text')")
    # a column that is not indexed can still be returned and compared
    assert parquet.open().scan(where="id > 3")["id"].to_pylist() == [4, 5]
    with pytest.raises(IndexTablesError, match="INDEXING MODES"):
        parquet.build("INDEXING MODES ('message':'string')")
    parquet.build("INDEXING MODES ('message':'string') INVALIDATE ALL PARTITIONS")
    assert parquet.open().scan(where="message = 'word2 even'")["id"].to_pylist() == [2]
    assert parquet.ids(**INDEXED) == [1, 2, 3, 4, 5]


def test_from_version_never_leaves_rows_out(delta):
    with pytest.raises(IndexTablesError, match="COMPANION_PARTIAL"):
        delta.build(f"{TEXT} FROM VERSION 1")
    delta.build(TEXT)
    with pytest.raises(IndexTablesError, match="COMPANION_PARTIAL"):
        delta.build("FROM VERSION 7")
    assert delta.build("FROM VERSION 0")["status"] == "no_action"


@pytest.mark.parametrize("step", ["tasks", "first commit", "completion"])
def test_a_sync_that_dies_changes_no_answer(parquet, folder, step, monkeypatch):
    parquet.build(TEXT)
    pq.write_table(rows(6, 7), folder / "src" / "c.parquet")
    pq.write_table(rows(8), folder / "src" / "d.parquet")

    def die(*_, **__):
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        if step == "tasks":
            patched.setattr(LocalContext, "tasks", die)
        elif step == "first commit":
            patched.setattr(companion_sync, "commit_splits", die)
        else:
            patched.setattr(companion_sync, "complete", die)
        with pytest.raises(RuntimeError, match="killed"):
            parquet.build("TARGET INPUT SIZE 1000")
    assert parquet.ids() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert parquet.ids(**INDEXED) == [1, 2, 3, 4, 5]
    done = parquet.build()
    assert done["parquet_files_indexed"] == (0 if step == "completion" else 2)
    assert parquet.ids(**INDEXED) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_an_index_that_was_never_complete_is_not_read_as_indexed(parquet, monkeypatch):
    def die(*_, **__):
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(companion_sync, "complete", die)
        with pytest.raises(RuntimeError, match="killed"):
            parquet.build(TEXT)
    with pytest.raises(IndexTablesError, match="COMPANION_INCOMPLETE"):
        parquet.ids(**INDEXED)
    assert parquet.ids() == [1, 2, 3, 4, 5]


def test_too_much_that_is_not_indexed_is_refused(parquet, folder):
    parquet.build(TEXT)
    pq.write_table(rows(6, 7), folder / "src" / "c.parquet")
    with pytest.raises(IndexTablesError, match="COMPANION_BEHIND"):
        parquet.found("even", **{"companion.maxPendingSize": "1"})
    # a plain scan reads the files directly
    assert parquet.ids(**{"companion.maxPendingSize": "1"}) == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("versions", [1, 2, 3])
def test_another_table_at_the_place_is_refused(delta, versions):
    """Also by a process that read the table before, and whatever its version numbers are."""
    delta.build(TEXT)
    requested = [{}, {"sourceVersionAsOf": "0"}]
    assert [len(delta.ids(**options)) for options in requested] == [5, 3]
    shutil.rmtree(delta.source)
    for number in range(versions):
        write_deltalake(delta.source, rows(9 + number), mode="append")
    for options in requested:
        with pytest.raises(IndexTablesError, match="COMPANION_REPLACED"):
            delta.open(**options).count()
    with pytest.raises(IndexTablesError, match="COMPANION_REPLACED"):
        delta.build()


def test_a_table_root_replaces_the_location(parquet, folder):
    parquet.build(f"{TEXT} TABLE ROOTS ('copy'='{folder}/copy')")
    (folder / "src").rename(folder / "copy")
    assert parquet.ids(**{"companion.tableRootDesignator": "copy"}) == [1, 2, 3, 4, 5]
    with pytest.raises(IndexTablesError, match="COMPANION_ROOT"):
        parquet.ids(**{"companion.tableRootDesignator": "nowhere"})


def test_rows_of_a_companion_do_not_change(parquet):
    parquet.build(TEXT)
    with pytest.raises(IndexTablesError, match="COMPANION_READ_ONLY"):
        indextables.write(rows(9), parquet.location, mode="append")


def test_a_table_of_another_kind_is_not_built_over(parquet):
    indextables.write(rows(1), parquet.location)
    with pytest.raises(IndexTablesError, match="COMPANION_REQUIRED"):
        parquet.build(TEXT)


def test_dropped_partitions_are_pending_until_they_are_built_again(folder):
    delta = folder / "delta"
    write_deltalake(
        delta, rows(1, 2, 3).append_column("day", [["x", "x", "y"]]), partition_by=["day"]
    )
    ix = Companion(folder, "DELTA", delta)
    ix.build(TEXT)
    (done,) = ix.run(f"DROP INDEXTABLES PARTITIONS FROM '{ix.location}' WHERE day = 'x'")
    assert done["status"] == "success"
    assert ix.ids() == [1, 2, 3]
    assert ix.found("even") == [2]
    with pytest.raises(IndexTablesError, match="COMPANION_INCOMPLETE"):
        ix.ids(**INDEXED)
    assert ix.build()["parquet_files_indexed"] == 1
    assert ix.ids(**INDEXED) == [1, 2, 3]


def test_maintenance_changes_no_answer(parquet, folder):
    parquet.build(f"{TEXT} TARGET INPUT SIZE 1000")
    first = parquet.open().version
    pq.write_table(rows(6, 7), folder / "src" / "c.parquet")
    parquet.build()
    (merged,) = parquet.run(f"MERGE SPLITS '{parquet.location}'")
    assert merged["metrics"]["status"] == "success"
    expected = [1, 2, 3, 4, 5, 6, 7]
    assert parquet.ids() == parquet.ids(**INDEXED) == expected
    parquet.run(f"PURGE INDEXTABLE '{parquet.location}' OLDER THAN 24 HOURS")
    assert parquet.build()["status"] == "no_action"
    parquet.run(f"RESTORE INDEXTABLES '{parquet.location}' TO VERSION AS OF {first}")
    assert parquet.ids() == expected
    parquet.build()
    assert parquet.ids(**INDEXED) == expected
    assert len(list((folder / "src").iterdir())) == 3
