from __future__ import annotations

import pickle

import pytest

from indextables.config import indexing, log, maintenance, read, rows, storage, write
from indextables.config import settings as settings_module
from indextables.config.option import PREFIX
from indextables.config.settings import Settings, resolve
from indextables.errors import ConfigError


@pytest.fixture(autouse=True)
def forget_warnings(monkeypatch):
    monkeypatch.setattr(settings_module, "_warned", set())


def test_default_is_used_when_nothing_is_set():
    assert resolve().get(read.MODE) == "complete"
    assert not resolve().is_set(read.MODE)


def test_nearest_place_wins_when_key_is_set_everywhere():
    key = "spark.indextables.checkpoint.interval"
    found = resolve({key: "3"}, {key: "4"}, {key: "5"})
    assert found.get(log.CHECKPOINT_INTERVAL) == 3
    assert resolve({}, {key: "4"}, {key: "5"}).get(log.CHECKPOINT_INTERVAL) == 4
    assert resolve({}, {}, {key: "5"}).get(log.CHECKPOINT_INTERVAL) == 5


@pytest.mark.parametrize(
    "key",
    [
        "spark.indextables.indexwriter.heapsize",
        "spark.indextables.indexWriter.heapSize",
        "indexwriter.heapsize",
        "spark.indexfiles.indexWriter.heapSize",
        "tantivy4spark.indexWriter.heapSize",
    ],
)
def test_spelling_does_not_matter_when_given_as_option(key):
    assert resolve({key: "64M"}).get(write.HEAP_BYTES) == 64 << 20


def test_session_keys_without_prefix_are_ignored():
    assert not resolve({}, {"checkpoint.interval": "3"}).is_set(log.CHECKPOINT_INTERVAL)


def test_column_and_list_form_agree_when_mapping_types():
    by_column = resolve({"indexing.typemap.Title": "text", "indexing.typemap.body": "text"})
    by_type = resolve({"indexing.typemap.text": "Title, body"})
    wanted = {"title": "text", "body": "text"}
    assert by_column.per_field(indexing.TYPEMAP) == wanted
    assert by_type.per_field(indexing.TYPEMAP) == wanted


def test_column_wins_when_it_is_named_like_a_type():
    found = resolve({"indexing.typemap.text": "json"})
    assert found.per_field(indexing.TYPEMAP) == {"text": "json"}


def test_nested_columns_keep_their_dots():
    found = resolve({"indexing.tokenizer.a.b": "raw"})
    assert found.per_field(indexing.TOKENIZER) == {"a.b": "raw"}


def test_names_stand_for_token_lengths():
    found = resolve({"indexing.tokenlength.title": "legacy", "indexing.tokenlength.100": "body"})
    assert found.per_field(indexing.FIELD_TOKEN_LENGTH) == {"title": 40, "body": 100}


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("checkpoint.interval", "ten", "an integer at least 0"),
        ("checkpoint.interval", "-1", "an integer at least 0"),
        ("checkpoint.interval", "1_0", "an integer"),
        ("checkpoint.enabled", "yes", "`true` or `false`"),
        ("read.mode", "turbo", "one of `complete`, `fast`"),
        ("indexWriter.heapSize", "12Q", "bytes, or a number with K, M, G or T"),
        ("indexWriter.heapSize", "0M", "bytes"),
        ("indexWriter.heapSize", "1023K", "at least `1M`"),
        ("state.compaction.tombstoneThreshold", "1.5", "a number at least 0, at most 1"),
        ("state.compaction.tombstoneThreshold", "nan", "a number"),
        ("read.splitsPerTask", "0", "`auto` or an integer at least 1"),
        ("indexing.typemap.title", "number", "one of `string`, `text`, `json`, `ip`"),
    ],
)
def test_bad_value_names_key_value_and_allowed(key, value, allowed):
    with pytest.raises(ConfigError) as caught:
        resolve({key: value})
    assert caught.value.code == "CONFIG_BAD_VALUE"
    assert key in str(caught.value)
    assert value in str(caught.value)
    assert allowed in str(caught.value)


def test_conflict_is_an_error_when_aliases_disagree():
    with pytest.raises(ConfigError, match="CONFIG_CONFLICT") as caught:
        resolve({"s3.endpoint": "http://a", "aws.endpoint": "http://b"})
    assert "http://a" in str(caught.value)
    same = resolve({"s3.endpoint": "http://a", "aws.endpoint": "http://a"})
    assert same.get(storage.S3_ENDPOINT) == "http://a"


def test_unknown_key_warns_once_with_nearest_name(caplog):
    for _ in range(2):
        resolve({}, {"spark.indextables.checkpoint.intervall": "3", "spark.other": "1"})
    assert [record.getMessage() for record in caplog.records] == [
        (
            "unknown configuration key `spark.indextables.checkpoint.intervall`; "
            "did you mean `spark.indextables.checkpoint.interval`?"
        )
    ]


def test_foreign_options_are_left_alone(caplog):
    resolve({"path": "/t", "header": "true"}, {}, {"owner": "me", "delta.x": "1"})
    assert not caplog.records


def test_misplaced_key_warns_and_has_no_effect(caplog):
    found = resolve({}, {}, {"spark.indextables.aws.secretKey": "x"})
    assert not found.is_set(storage.AWS_SECRET_KEY)
    assert "has no effect as a table property" in caplog.text


def test_bare_keys_work_as_table_property_and_option():
    assert resolve({}, {}, {"primary-key": "tenant, id"}).get(rows.PRIMARY_KEY) == ("tenant", "id")
    assert resolve({"versionasof": "7"}).get(read.VERSION_AS_OF) == 7


def test_auto_and_empty_mean_unset():
    found = resolve({"merge.batchSize": "auto", "indexWriter.tempDirectoryPath": ""})
    assert found.get(maintenance.MERGE_BATCH_SIZE) is None
    assert found.get(write.TEMP_DIRECTORY) is None


def test_secrets_are_never_shown():
    found = resolve({"aws.secretKey": "hush", "companion.parquet.aws.secretKey": "hush"})
    assert "hush" not in repr(found)
    assert all("hush" not in value for _, value, _ in found.describe())
    assert found.get(storage.AWS_SECRET_KEY).reveal() == "hush"
    with pytest.raises(ConfigError) as caught:
        resolve({"aws.accessKey": "hush", "spark.indexfiles.aws.accessKey": "hush2"})
    assert "hush" not in str(caught.value)


def test_settings_survive_pickling():
    found = resolve({"indexing.typemap.title": "text", "read.mode": "fast"})
    assert pickle.loads(pickle.dumps(found)) == found


def test_describe_says_where_a_value_comes_from():
    key = "spark.indextables.read.mode"
    assert resolve({}, {key: "fast"}).describe() == [(key, "fast", "session")]
    assert Settings().describe() == []


@pytest.mark.parametrize("given", ["options", "session", "table"])
def test_a_key_without_effect_says_so_once(caplog, given):
    keys = {PREFIX + "indexWriter.threads": "4", PREFIX + "companion.readerBatchSize": "1000"}
    if given == "table":
        del keys[PREFIX + "companion.readerBatchSize"]
    for _ in range(2):
        resolve(**{given: keys})
    assert len(caplog.messages) == len(keys)
    assert "`spark.indextables.indexWriter.threads` is ignored: " in caplog.messages[0]
    assert "indexWriter.heapSize" in caplog.messages[0]


def test_a_bad_value_of_a_key_without_effect_is_an_error():
    with pytest.raises(ConfigError, match=r"indexWriter\.threads"):
        resolve({"indexWriter.threads": "many"})


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("typemap.title", "indexing.typemap.title"),
        ("indexing.typmap.title", "indexing.typemap.title"),
        ("indexing.tokenizr.body", "indexing.tokenizer.body"),
        ("checkpoint.intervall", "checkpoint.interval"),
        ("indexWriter.heapSiz", "indexWriter.heapSize"),
        ("mergeShema", "mergeSchema"),
    ],
)
def test_a_typo_in_an_option_warns_with_the_nearest_name(caplog, option, meant):
    for _ in range(2):
        resolve({option.lower(): "text"})
    (message,) = caplog.messages
    assert message.startswith(f"unknown configuration key `{option.lower()}`; did you mean")
    assert f"{meant}`?" in message


@pytest.mark.parametrize(
    "option",
    ["path", "paths", "header", "recursiveFileLookup", "basePath", "compression", "encoding",
     "my.own.option", "team", "dbtable", "__partition_columns", "fs.s3a.access.key"],
)  # fmt: skip
def test_options_of_others_are_left_alone(caplog, option):
    resolve({option: "x"})
    assert caplog.messages == []
    resolve(table={option: "x", "typemap.title": "text"}, session={option: "x"})
    assert caplog.messages == []
