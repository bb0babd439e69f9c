"""What a table's address says: kind of store, bucket, path below it. Pure; nothing is opened."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from indextables.errors import IndexTablesError, error


class Kind(StrEnum):
    """The stores a table may lie in."""

    LOCAL = "local"
    MEMORY = "memory"
    S3 = "s3"
    AZURE = "azure"
    GOOGLE = "google"


_SCHEMES = {
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
}
_NATIVE_SCHEMES = {Kind.S3: "s3", Kind.AZURE: "az", Kind.GOOGLE: "gs"}


@dataclass(frozen=True)
class Address:
    """Where a table lies. `url` is for people; `bucket` is Azure's container.

    `account` and `domain` are what an Azure address may say after the container:
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
        """The address as the engine's store takes it."""
        if self.kind in _NATIVE_SCHEMES:
            scheme = _NATIVE_SCHEMES[self.kind]
            return f"{scheme}://{self.bucket}/{quote(self.prefix)}".rstrip("/")
        return self.prefix


def parse_address(url: str) -> Address:
    """The address a text means; without a scheme it is a path on this machine."""
    scheme, separator, rest = url.partition(":")
    scheme = scheme.lower()
    if not separator or "/" in scheme:
        return _local(url)
    if scheme == "file":
        return _local(unquote(urlsplit(url).path))
    if not rest.startswith("//"):
        return _local(url)
    authority, _, path = rest[2:].partition("/")
    if scheme == "memory":
        return Address(Kind.MEMORY, url.rstrip("/"), prefix=f"{authority}/{path}".strip("/"))
    kind = _SCHEMES.get(scheme)
    if kind is None:
        raise error("STORAGE_BAD_SCHEME", url=_without_user(url), scheme=scheme)
    return _remote(kind, url, authority, path)


def _local(path: str) -> Address:
    # the folder may not exist yet
    real = os.path.realpath(Path(path).expanduser())
    return Address(Kind.LOCAL, real, prefix=real)


def _remote(kind: Kind, url: str, authority: str, path: str) -> Address:
    container, at, host = authority.rpartition("@")
    if at and (kind is not Kind.AZURE or ":" in container):
        # keys written into addresses end up in logs and plans
        raise _bad(url, "credentials do not belong into an address")
    parts = [part for part in path.split("/") if part]
    if any(part in (".", "..") for part in parts):
        raise _bad(url, "`.` and `..` have no meaning in an object store")
    bucket = container if at else authority
    if not bucket:
        raise _bad(url, "it names no bucket")
    account, _, domain = host.partition(".") if at else ("", "", "")
    return Address(kind, url.rstrip("/"), bucket, "/".join(parts), account, domain)


def _bad(url: str, detail: str) -> IndexTablesError:
    return error("STORAGE_BAD_URL", url=_without_user(url), detail=detail)


def _without_user(url: str) -> str:
    """The address without what stands before `@`, which may be a password."""
    scheme, separator, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    shown = f"***@{host}" if at and ":" in user else authority
    return f"{scheme}{separator}{shown}{slash}{path}"
