"""Changes first check whether they are allowed, and reads cope with a concurrent clean-up."""

from __future__ import annotations

import threading
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.crash import verbs
from tests.crash.verbs import Location, prepared, rows

import indextables
from indextables.errors import (
    ConflictError,
    TableExistsError,
    UnsupportedError,
)
from indextables.log import codec, names, open_log, operations
from indextables.log.protocol import COMPANION_ENABLED
from indextables.storage import open_store
from indextables.storage.store import Store

CHANGES = {
    **verbs.VERBS,
    "purge": lambda p: p.sql("PURGE INDEXTABLE '{path}'"),
    "purge dry run": lambda p: p.sql("PURGE INDEXTABLE '{path}' DRY RUN"),
    "truncate": lambda p: p.sql("TRUNCATE INDEXTABLES TIME TRAVEL '{path}'"),
    "checkpoint": lambda p: p.sql("CHECKPOINT INDEXTABLES '{path}'"),
    "compact": lambda p: p.sql("COMPACT INDEXTABLES '{path}'"),
    "clean": lambda p: open_log(open_store(p.path)).clean(),
}


def files_of(location: Location) -> list[str]:
    store = open_store(location.path)
    return sorted(meta.path for meta in store.list(""))


def outcome(change, location: Location) -> str:
    """The error or the answer of a change that must not happen."""
    try:
        return str(change(location))
    except indextables.errors.IndexTablesError as refused:
        return str(refused)


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_is_written_or_deleted_when_a_writer_feature_is_unknown(tmp_path, change):
    location = prepared("append", str(tmp_path))
    log = open_log(open_store(location.path))
    here = log.snapshot()
    needs = here.protocol.writer_features | {"fromTheFuture"}
    protocol = replace(here.protocol, writer_features=needs)
    version = names.version_file(here.version + 1)
    log.store.put(version, codec.encode_actions([protocol]))
    before = files_of(location)
    assert "fromTheFuture" in outcome(CHANGES[change], location)
    assert files_of(location) == before


@pytest.mark.parametrize("change", CHANGES)
def test_a_companion_index_is_not_changed(tmp_path, change):
    location = companion(tmp_path)
    before = files_of(location)
    assert "is a companion index" in outcome(CHANGES[change], location)
    assert files_of(location) == before


def companion(folder, **options: str) -> Location:
    """A table whose metadata says that it is a companion."""
    location = Location(f"{folder}/companion")
    location.save("append", rows(0, 15), **options)
    log = open_log(open_store(location.path))

    def change(metadata):
        kept = {**metadata.configuration, COMPANION_ENABLED: "true"}
        return replace(metadata, configuration=kept)

    log.commit(operations.change_metadata(log.snapshot(), change))
    return location


def test_a_companion_index_is_counted_and_searched(tmp_path, monkeypatch):
    # companions of other writers keep their rows elsewhere; this project does not write such tables
    monkeypatch.setattr("indextables.plan.fields._check_readable", lambda *_: None)
    options = {"indexing.typemap.text": "text", "indexing.indexonlyfields": "text"}
    table = companion(tmp_path, **options).open()
    assert table.num_rows == 15
    assert table.scan(["id"]).num_rows == 15
    assert table.search("first", ["id"], limit=20).num_rows == 15
    with pytest.raises(UnsupportedError, match="`text` is not in the companion index"):
        table.scan(["id", "text"])


def test_first_appends_at_once_all_succeed(tmp_path):
    location = Location(str(tmp_path / "table"), {"transaction.retry.maxAttempts": "50"})
    start = threading.Barrier(4)
    failures = []

    def append(number: int) -> None:
        start.wait()
        try:
            location.save("append", rows(number * 100, 6))
        except Exception as failure:  # noqa: BLE001 - reported below
            failures.append(failure)

    threads = [threading.Thread(target=append, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(location.rows()) == 24


def rival_first(location: Location, mode: str, rival: pa.Table, **options: str) -> None:
    """Run a first save, and another save that commits version 0 just before it."""
    whole = Store.put
    with pytest.MonkeyPatch.context() as patch:

        def put(store, path, data, *, if_absent=False):
            if path == names.version_file(0):
                patch.undo()
                location.save("append", rival, **options)
            return whole(store, path, data, if_absent=if_absent)

        patch.setattr(Store, "put", put)
        location.save(mode, rows(0, 6))


def test_the_first_of_two_creations_counts_when_the_other_must_create(tmp_path):
    location = Location(str(tmp_path / "table"))
    with pytest.raises(TableExistsError):
        rival_first(location, "errorifexists", rows(50, 6))
    assert len(location.rows()) == 6
    rival_first(Location(str(tmp_path / "other")), "overwrite", rows(50, 6))
    assert len(Location(str(tmp_path / "other")).rows()) == 6


def test_a_first_append_is_refused_when_the_rival_made_another_table(tmp_path):
    location = Location(str(tmp_path / "table"))
    with pytest.raises(ConflictError, match="created the table"):
        rival_first(location, "append", rows(50, 6), **{"indexing.typemap.text": "text"})
    assert len(location.rows()) == 6


def test_an_older_view_reads_on_when_time_travel_is_truncated(tmp_path):
    location = Location(str(tmp_path / "table"), {"checkpoint.interval": "2"})
    for start in range(0, 60, 10):
        location.save("append", rows(start, 10))
    held = open_log(open_store(location.path)).snapshot()
    location.save("append", rows(90, 1))
    stale = open_log(open_store(location.path))
    newest = stale.snapshot()
    location.sql("TRUNCATE INDEXTABLES TIME TRAVEL '{path}'")
    assert newest.num_records == 61
    assert stale.snapshot().num_records == 61
    assert held.version < newest.version


def test_a_reader_looks_again_when_a_file_goes_between_listing_and_reading(tmp_path, monkeypatch):
    location = Location(str(tmp_path / "table"), {"checkpoint.interval": "2"})
    for start in range(0, 50, 10):
        location.save("append", rows(start, 10))
    log = open_log(open_store(location.path))
    whole, once = Store.find_all, []

    def find_all(store, paths, parallelism):
        if not once:
            once.append(1)
            location.sql("TRUNCATE INDEXTABLES TIME TRAVEL '{path}'")
        return whole(store, paths, parallelism)

    monkeypatch.setattr(Store, "find_all", find_all)
    assert log.snapshot().num_records == 50


def count_splits(path: str) -> int:
    return sum(meta.path.endswith(".split") for meta in open_store(path).list(""))


def test_a_plain_write_merges_and_purges_when_the_table_asks(tmp_path):
    location = Location(
        str(tmp_path / "table"),
        {
            "mergeOnWrite.enabled": "true",
            "mergeOnWrite.async.enabled": "false",
            "mergeOnWrite.minBatchesToTrigger": "1",
        },
    )
    for start in range(0, 40, 10):
        location.save("append", rows(start, 10))
    assert location.open().num_files < 12
    assert len(location.rows()) == 40


def test_orphans_go_when_only_purge_on_write_is_enabled(tmp_path):
    options = {
        "purgeOnWrite.enabled": "true",
        "purgeOnWrite.splitRetentionHours": "0",
        "purge.retentionCheckEnabled": "false",
    }
    location = Location(str(tmp_path / "table"), options)
    location.save("append", rows(0, 9))
    orphan = open_store(location.path)
    orphan.put("splits/left-by-a-crash.split", b"x")
    location.save("append", rows(10, 9))
    assert orphan.head("splits/left-by-a-crash.split") is None
    assert len(location.rows()) == 18
