"""What addresses mean."""

from __future__ import annotations

import pytest

from indextables.errors import StorageError
from indextables.storage.address import Kind, parse_address
from indextables.storage.store import check_path


@pytest.mark.parametrize(
    ("url", "kind", "bucket", "prefix", "native"),
    [
        ("s3://b/a/t/", Kind.S3, "b", "a/t", "s3://b/a/t"),
        ("S3A://b//a//t", Kind.S3, "b", "a/t", "s3://b/a/t"),
        ("s3a://b/my table%20x#?", Kind.S3, "b", "my table%20x#?", "s3://b/my%20table%2520x%23%3F"),
        ("s3://b", Kind.S3, "b", "", "s3://b"),
        ("gs://b/t", Kind.GOOGLE, "b", "t", "gs://b/t"),
        ("azure://c/t", Kind.AZURE, "c", "t", "az://c/t"),
        ("abfss://c@a.dfs.core.windows.net/t", Kind.AZURE, "c", "t", "az://c/t"),
        ("wasbs://c@a.blob.core.windows.net/t", Kind.AZURE, "c", "t", "az://c/t"),
        ("/tmp/t", Kind.LOCAL, "", "/tmp/t", "/tmp/t"),
        ("file:///tmp/my%20t", Kind.LOCAL, "", "/tmp/my t", "/tmp/my t"),
        ("file:/tmp/t", Kind.LOCAL, "", "/tmp/t", "/tmp/t"),
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
    ["hdfs://n/t", "s3://", "s3://b/../other", "s3://key:hush@b/t", "gs://user:hush@b/t",
     "abfss://c:hush@a.dfs.core.windows.net/t", "ftp://u:hush@h/t"],
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
