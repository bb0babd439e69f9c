"""The parts of a table's location: kind of store, bucket, path. Pure; nothing is opened."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote, unquote

from indextables.errors import IndexTablesError, error


class Kind(StrEnum):
    """The kinds of stores."""

    LOCAL = "local"
    MEMORY = "memory"
    S3 = "s3"
    AZURE = "azure"
    GOOGLE = "google"
    HDFS = "hdfs"


_SCHEMES = {
    "file": Kind.LOCAL,
    "memory": Kind.MEMORY,
    "s3": Kind.S3,
    "s3a": Kind.S3,
    "s3n": Kind.S3,
    "abfs": Kind.AZURE,
    "abfss": Kind.AZURE,
    "az": Kind.AZURE,
    "azure": Kind.AZURE,
    "wasb": Kind.AZURE,
    "wasbs": Kind.AZURE,
    "gs": Kind.GOOGLE,
    "gcs": Kind.GOOGLE,
    "hdfs": Kind.HDFS,
}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_NATIVE_SCHEMES = {Kind.S3: "s3", Kind.AZURE: "az", Kind.GOOGLE: "gs", Kind.HDFS: "hdfs"}
# the engine knows this spelling too, and its errors name what the user wrote
_ALSO_NATIVE = "s3a"


@dataclass(frozen=True)
class Address:
    """The location of a table. `url` is for display; `bucket` is Azure's container or a name node.

    `account` and `domain` may follow the container in an Azure location:
    `container@account.domain`.
    """

    kind: Kind
    url: str
    bucket: str = ""
    prefix: str = ""
    account: str = ""
    domain: str = ""

    @property
    def native(self) -> str:
        """The location for the engine's store, also for opening it in a task."""
        if self.kind is Kind.AZURE and self.account:
            authority = f"{self.bucket}@{self.account}.dfs.core.windows.net"
            return f"abfss://{authority}/{quote(self.prefix)}".rstrip("/")
        if self.kind in _NATIVE_SCHEMES:
            given = self.url.partition(":")[0].lower()
            scheme = given if given == _ALSO_NATIVE else _NATIVE_SCHEMES[self.kind]
            return f"{scheme}://{self.bucket}/{quote(self.prefix)}".rstrip("/")
        return self.prefix


def names_store(text: str) -> bool:
    """Whether a string begins with a scheme, so that it cannot be a table name."""
    return _SCHEME.match(text) is not None


def qualify(text: str, base: str) -> str:
    """A location qualified as by Hadoop's `Path.makeQualified`, for paths from Spark.

    `base` is the folder that relative paths start from, with the scheme and the authority of the
    default file system. As in Hadoop, `%` stands for itself.
    """
    found = _SCHEME.match(text)
    scheme, authority, folder = _split(base)
    if found is None:
        path = posixpath.normpath(posixpath.join(folder or "/", text))
    else:
        given, named, path = _split(text)
        if given != "file" and (
            named or (text[found.end() :].startswith("//") and given != scheme)
        ):
            return text
        if not path.startswith("/"):
            raise _bad(text, f"the path after `{given}:` is relative")
        if given not in _SCHEMES:
            raise _unknown(text, given)
        if given != scheme:
            scheme, authority = given, named
        path = posixpath.normpath(path)
    # normpath keeps a leading "//", which would be taken for an authority
    path = "/" + path.lstrip("/")
    return path if scheme == "file" else f"{scheme}://{authority}{path}"


def _split(url: str) -> tuple[str, str, str]:
    """Scheme, authority and path of `scheme:path` or `scheme://authority/path`."""
    scheme, _, rest = url.partition(":")
    if not rest.startswith("//"):
        return scheme.lower(), "", rest
    authority, slash, path = rest[2:].partition("/")
    return scheme.lower(), authority, slash + path


def parse_address(url: str) -> Address:
    """Parse a location; without a scheme it is a local path."""
    found = _SCHEME.match(url)
    if found is None:
        return _local(url)
    scheme, rest = found[1].lower(), url[found.end() :]
    kind = _SCHEMES.get(scheme)
    if kind is None:
        raise _unknown(url, scheme)
    if kind is Kind.LOCAL:
        if not rest.startswith("/"):
            raise _bad(url, f"the path after `{scheme}:` is relative")
        _, host, path = _split(url)
        if host.lower() not in ("", "localhost"):
            raise _bad(url, f"`{host}` is another host; a path begins after `file://` with `/`")
        return _local(unquote(path))
    if not rest.startswith("//"):
        raise _bad(url, f"write `{scheme}://`, then the bucket, then the path")
    authority, _, path = rest[2:].partition("/")
    if kind is Kind.MEMORY:
        return Address(kind, url.rstrip("/"), prefix=f"{authority}/{path}".strip("/"))
    return _remote(kind, url, authority, path)


def _local(path: str) -> Address:
    if _is_private(os.environ) and not path.startswith(("/", "~")):
        raise _bad(path, "this process works in a folder that Spark deletes: give a full path")
    # the folder may not exist yet
    real = os.path.realpath(Path(path).expanduser())
    return Address(Kind.LOCAL, real, prefix=real)


def _remote(kind: Kind, url: str, authority: str, path: str) -> Address:
    container, at, host = authority.rpartition("@")
    if at and (kind is not Kind.AZURE or ":" in container):
        # credentials in a location would end up in logs and plans
        raise _bad(url, "credentials do not belong into an address")
    parts = [part for part in path.split("/") if part]
    if any(part in (".", "..") for part in parts):
        raise _bad(url, "`.` and `..` have no meaning in an object store")
    bucket = container if at else authority
    if not bucket and kind is Kind.HDFS:
        raise _bad(url, "it names no name node, and `fs.defaultFS` is not an hdfs:// address")
    if not bucket:
        raise _bad(url, "it names no bucket")
    account, _, domain = host.partition(".") if at else ("", "", "")
    return Address(kind, url.rstrip("/"), bucket, "/".join(parts), account, domain)


def _is_private(environ: Mapping[str, str]) -> bool:
    """Whether this is a Python worker of Spark Connect, which has a temporary working directory."""
    return environ.get("SPARK_JOB_ARTIFACT_UUID", "default") != "default"


def _unknown(url: str, scheme: str) -> IndexTablesError:
    supported = ", ".join(f"{name}://" for name in _SCHEMES if name != "file")
    return error("STORAGE_BAD_SCHEME", url=_without_user(url), scheme=scheme, supported=supported)


def _bad(url: str, detail: str) -> IndexTablesError:
    return error("STORAGE_BAD_URL", url=_without_user(url), detail=detail)


def _without_user(url: str) -> str:
    """The location without the part before `@`, which may be a password."""
    scheme, separator, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    shown = f"***@{host}" if at and ":" in user else authority
    return f"{scheme}{separator}{shown}{slash}{path}"
