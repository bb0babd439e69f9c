"""Creating, appending and reading back: the plain JSON path."""

from __future__ import annotations

import pytest

from indextables.config.settings import Settings, resolve
from indextables.errors import ConflictError, ProtocolError, TableExistsError, TableNotFoundError
from indextables.log import (
    AddFile,
    Operation,
    Protocol,
    RemoveFile,
    Transaction,
    Txn,
    codec,
    names,
    open_log,
)
from indextables.model.types import parse_schema
from indextables.runtime.counts import take_counts
from indextables.storage import open_store

SCHEMA = parse_schema(
    '{"type":"struct","fields":[{"name":"id","type":"long"},{"name":"day","type":"date"}]}'
)


def add(name: str, **values) -> AddFile:
    return AddFile(f"splits/{name}.split", values.pop("partition", {}), 10, 1, **values)


@pytest.fixture
def log(tmp_path):
    log = open_log(open_store(str(tmp_path / "t")), Settings())
    log.create(SCHEMA)
    return log


def append(log, *names, **kwargs):
    return log.commit(
        Transaction(
            Operation.APPEND, log.snapshot().version, tuple(add(name) for name in names), **kwargs
        )
    )


def paths(snapshot):
    return sorted(snapshot.files()["path"].to_pylist())


def test_a_new_table_is_empty_when_created(log):
    snapshot = log.snapshot()
    assert (snapshot.version, snapshot.num_files, snapshot.num_records) == (0, 0, 0)
    assert snapshot.schema == SCHEMA
    assert snapshot.protocol.min_reader_version == 4


def test_create_is_refused_when_a_table_exists(log):
    with pytest.raises(TableExistsError):
        log.create(SCHEMA)


def test_reading_is_refused_when_there_is_no_table(tmp_path):
    with pytest.raises(TableNotFoundError):
        open_log(open_store(str(tmp_path / "none"))).snapshot()
    assert not (tmp_path / "none").exists()


def test_appended_files_are_seen_when_another_log_reads(log, tmp_path):
    other = open_log(open_store(str(tmp_path / "t")))
    assert other.snapshot().version == 0
    append(log, "a", "b")
    append(log, "c")
    assert paths(other.snapshot()) == ["splits/a.split", "splits/b.split", "splits/c.split"]
    assert paths(other.snapshot(1)) == ["splits/a.split", "splits/b.split"]


def test_a_removed_file_is_gone_and_a_readded_one_is_back_when_replayed_in_order(log):
    append(log, "a")
    log.commit(Transaction(Operation.DELETE, 1, (RemoveFile("splits/a.split"),)))
    assert paths(log.snapshot()) == []
    append(log, "a")
    log.invalidate()
    assert paths(log.snapshot()) == ["splits/a.split"]


def test_a_second_removal_conflicts_when_the_file_is_gone(log):
    append(log, "a")
    log.commit(Transaction(Operation.DELETE, 1, (RemoveFile("splits/a.split"),)))
    with pytest.raises(ConflictError) as caught:
        log.commit(Transaction(Operation.MERGE_SPLITS, 1, (RemoveFile("splits/a.split"),)))
    assert "splits/a.split" in str(caught.value)


def test_commits_retries_and_conflicts_are_counted_for_monitoring(log, tmp_path):
    version = append(log, "a").version
    ahead = [open_log(open_store(log.store.url))]
    take_counts()

    def rebuild(newest):
        while ahead:
            append(ahead.pop(), "b")
        return (add("c"),)

    log.commit(Transaction(Operation.APPEND, version, rebuild=rebuild))
    assert take_counts() == {"commits": 2, "commitRetries": 1}
    with pytest.raises(ConflictError):
        log.commit(Transaction(Operation.DELETE, version, (RemoveFile("nowhere.split"),)))
    assert take_counts() == {"commitConflicts": 1}


def test_a_streaming_batch_is_skipped_when_it_comes_again(log):
    first = append(log, "a", txn=Txn("query", 3))
    again = append(log, "b", txn=Txn("query", 3))
    assert (first.skipped, again.skipped) == (False, True)
    assert paths(log.snapshot()) == ["splits/a.split"]


def test_document_mappings_are_stored_once_when_files_share_them(log):
    mapping = '[{"name":"id","type":"i64"}]'
    log.commit(Transaction(Operation.APPEND, 0, (add("a", doc_mapping_json=mapping),)))
    log.commit(Transaction(Operation.APPEND, 0, (add("b", doc_mapping_json=mapping),)))
    table = log.snapshot().files()
    assert table["docMappingJson"].null_count == 2
    assert {log.snapshot().registry[ref] for ref in table["docMappingRef"].to_pylist()} == {mapping}


def test_a_table_is_refused_when_it_needs_an_unknown_feature(log):
    strange = Protocol(5, 5, frozenset({"quantumSplits"}), frozenset())
    with pytest.raises(ProtocolError, match="quantumSplits"):
        log.commit(Transaction(Operation.CHANGE_METADATA, 0, (strange,)))
    assert log.reader.commit(1) is None
    log.store.put(names.version_file(1), codec.encode_actions([strange]))
    with pytest.raises(ProtocolError, match="quantumSplits"):
        log.snapshot()


def test_writing_is_refused_when_only_writers_need_an_unknown_feature(log):
    strange = Protocol(4, 5, frozenset(), frozenset({"secretIndex"}))
    log.store.put(names.version_file(1), codec.encode_actions([strange]))
    assert log.snapshot().version == 1
    with pytest.raises(ProtocolError, match="secretIndex"):
        append(log, "a")
    with pytest.raises(ProtocolError, match="secretIndex"):
        log.checkpoint()


def test_version_files_are_plain_text_when_compression_is_off(tmp_path):
    settings = resolve({"transaction.compression.enabled": "false"})
    log = open_log(open_store(str(tmp_path / "p")), settings)
    log.create(SCHEMA)
    text = (tmp_path / "p/_transaction_log/00000000000000000000.json").read_text()
    assert text.startswith('{"commitInfo":')
    assert '"metaData"' in text


def test_a_table_decides_about_compression_for_every_writer(tmp_path):
    log = open_log(open_store(str(tmp_path / "p")))
    log.create(SCHEMA, configuration={"spark.indextables.transaction.compression.enabled": "false"})
    append(log, "a")
    for version in range(2):
        text = (tmp_path / "p" / names.version_file(version)).read_bytes()
        assert text.startswith(b'{"commitInfo":')
