"""The meaning of locations."""

from __future__ import annotations

import pytest

from indextables.config.settings import resolve
from indextables.errors import StorageError
from indextables.storage import find_location
from indextables.storage.address import Kind, parse_address, qualify
from indextables.storage.store import check_path

# the account stays: tasks open the table by this location
_AZURE = "abfss://c@a.dfs.core.windows.net/t"


@pytest.mark.parametrize(
    ("url", "kind", "bucket", "prefix", "native"),
    [
        ("s3://b/a/t/", Kind.S3, "b", "a/t", "s3://b/a/t"),
        ("S3A://b//a//t", Kind.S3, "b", "a/t", "s3a://b/a/t"),
        (
            "s3a://b/my table%20x#?",
            Kind.S3,
            "b",
            "my table%20x#?",
            "s3a://b/my%20table%2520x%23%3F",
        ),
        ("s3://b", Kind.S3, "b", "", "s3://b"),
        ("s3n://b/t", Kind.S3, "b", "t", "s3://b/t"),
        ("gs://b/t", Kind.GOOGLE, "b", "t", "gs://b/t"),
        ("azure://c/t", Kind.AZURE, "c", "t", "az://c/t"),
        ("abfss://c@a.dfs.core.windows.net/t", Kind.AZURE, "c", "t", _AZURE),
        ("wasbs://c@a.blob.core.windows.net/t", Kind.AZURE, "c", "t", _AZURE),
        ("hdfs://nn:8020/a/t", Kind.HDFS, "nn:8020", "a/t", "hdfs://nn:8020/a/t"),
        ("hdfs://Ships/my t/", Kind.HDFS, "Ships", "my t", "hdfs://Ships/my%20t"),
        ("/tmp/t", Kind.LOCAL, "", "/tmp/t", "/tmp/t"),
        ("file:///tmp/my%20t", Kind.LOCAL, "", "/tmp/my t", "/tmp/my t"),
        ("file:/tmp/t", Kind.LOCAL, "", "/tmp/t", "/tmp/t"),
        ("FILE://localhost/tmp/t", Kind.LOCAL, "", "/tmp/t", "/tmp/t"),
        ("file:///tmp/a#b?c=d", Kind.LOCAL, "", "/tmp/a#b?c=d", "/tmp/a#b?c=d"),
    ],
)
def test_an_address_is_understood_when_spelled_so(url, kind, bucket, prefix, native):
    found = parse_address(url)
    assert (found.kind, found.bucket, found.prefix, found.native) == (kind, bucket, prefix, native)


def test_account_and_domain_come_from_the_address_when_it_is_azure():
    found = parse_address("abfss://c@acc.dfs.core.chinacloudapi.cn/t")
    assert (found.account, found.domain) == ("acc", "dfs.core.chinacloudapi.cn")


@pytest.mark.parametrize(
    "url",
    ["hdfs:///t", "hdfs://me:hush@n/t", "viewfs://n/t", "webhdfs://n/t",
     "s3://", "s3://b/../other", "s3://key:hush@b/t", "gs://user:hush@b/t",
     "abfss://c:hush@a.dfs.core.windows.net/t", "ftp://u:hush@h/t",
     "hdfs:/data/t", "dbfs:/x", "s3:/b/x", "s3a:b/x", "memory:/t", "file:t", "a:b",
     "file://t", "file://some/t"],
)  # fmt: skip
def test_an_address_is_refused_without_its_password_when_it_cannot_be_opened(url):
    with pytest.raises(StorageError) as caught:
        parse_address(url)
    assert caught.value.code in {"STORAGE_BAD_URL", "STORAGE_BAD_SCHEME"}
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "../x", "a/../../x", "a/..", "./x", "a//b", "s3://other/x",
     "file:/etc/passwd", "file:///etc/passwd", "abfss://c@a/x", "a\nb", "C:/x", "a/./b"],
)  # fmt: skip
def test_a_path_is_refused_when_it_leaves_the_table(path):
    with pytest.raises(StorageError) as caught:
        check_path(path)
    assert caught.value.code == "STORAGE_BAD_PATH"


@pytest.mark.parametrize(
    "path", ["a", "k=a%2Fb/c", "k=..%2F/x", "a:b/c", "...", "a/b..c", "%2e%2e/x"]
)
def test_a_path_is_taken_as_it_is_when_it_stays_inside(path):
    assert check_path(path) == path


LOCAL, HDFS = "file:/home/me", "hdfs://nn:8020/user/me"


@pytest.mark.parametrize(
    ("text", "base", "wanted"),
    [
        ("events", LOCAL, "/home/me/events"),
        ("./a/../events/", LOCAL, "/home/me/events"),
        ("../events", LOCAL, "/home/events"),
        ("~/events", LOCAL, "/home/me/~/events"),
        ("/data/t", LOCAL, "/data/t"),
        ("//data//t", LOCAL, "/data/t"),
        ("file:/data/my%20t", LOCAL, "/data/my%20t"),
        ("file:///data/t", LOCAL, "/data/t"),
        ("file:/data/t", HDFS, "/data/t"),
        ("s3a://b/t", LOCAL, "s3a://b/t"),
        ("/data/t", HDFS, "hdfs://nn:8020/data/t"),
        ("t", HDFS, "hdfs://nn:8020/user/me/t"),
        ("hdfs:/data/t", HDFS, "hdfs://nn:8020/data/t"),
        ("hdfs:///data/t", HDFS, "hdfs://nn:8020/data/t"),
        ("hdfs://other/data/t", HDFS, "hdfs://other/data/t"),
        ("events", "s3a://b/user/me", "s3a://b/user/me/events"),
        ("/events", "s3a://b/user/me", "s3a://b/events"),
        ("s3a:/events", "s3a://b/user/me", "s3a://b/events"),
        ("2024-01-01T10:00/t", LOCAL, "/home/me/2024-01-01T10:00/t"),
    ],
)
def test_a_path_is_qualified_as_hadoop_does_when_it_comes_through_spark(text, base, wanted):
    assert qualify(text, base) == wanted


@pytest.mark.parametrize(
    "text", ["dbfs:/x", "s3:b/x", "file:x", "a:b", "hdfs:/data/t", "hdfs:///data/t", "hdfs:t"]
)
def test_a_path_is_refused_when_it_would_lead_elsewhere(text):
    with pytest.raises(StorageError):
        parse_address(qualify(text, LOCAL))


def test_an_unknown_scheme_says_what_is_supported():
    with pytest.raises(StorageError, match=r"`dbfs` of `dbfs:/x` is not.*s3://") as caught:
        parse_address("dbfs:/x")
    assert caught.value.code == "STORAGE_BAD_SCHEME"


def test_a_relative_path_is_refused_when_spark_deletes_the_working_folder(monkeypatch):
    monkeypatch.setenv("SPARK_JOB_ARTIFACT_UUID", "some-session")
    with pytest.raises(StorageError, match="full path"):
        parse_address("events")
    assert parse_address("/data/events").prefix == "/data/events"


def test_the_default_file_system_counts_when_there_is_no_spark(tmp_path):
    (tmp_path / "core-site.xml").write_text(
        "<configuration><property><name>fs.defaultFS</name><value>s3a://b</value></property>"
        "</configuration>"
    )
    environ = {"HADOOP_CONF_DIR": str(tmp_path), "HADOOP_USER_NAME": "me"}
    found = [find_location(path, environ=environ) for path in ("/t", "t", "file:/t", "gs://c/t")]
    assert found == ["s3a://b/t", "s3a://b/user/me/t", "file:/t", "gs://c/t"]
    nearer = resolve(session={"spark.hadoop.fs.defaultFS": "file:///"})
    assert find_location("/t", nearer, environ) == "/t"
    assert find_location("t", environ={}) == "t"
