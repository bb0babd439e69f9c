"""The port to object stores: a rooted store that reads, writes once, lists and deletes.

Paths are relative to the root and are checked: no path, whoever wrote it into a log, leaves the
root. Everything above this module sees `StorageError` only, with the path in it.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    InvalidPathError,
    NotSupportedError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import LocalStore, ObjectStore

from indextables.errors import IndexTablesError, error
from indextables.storage.counters import Counters
from indextables.storage.redaction import strike
from indextables.storage.waiting import hearing, hearing_all

T = TypeVar("T")

# absolute, with a scheme, with empty, `.` or `..` parts, with control characters
_LEAVING = re.compile(r"^/|^[A-Za-z][A-Za-z0-9+.-]*:/|(^|/)\.{1,2}(/|$)|//|[\x00-\x1f]")
_LIST_CHUNK = 1000
# an error of a credentials provider, which comes back through obstore as text
_OWN = re.compile(r"\[STORAGE_CREDENTIALS\] no credentials for `[^`]*`: (.*?); hint: ")
# where clouds keep the roles of their machines, which is the last place to look for credentials
_MACHINE = (
    "169.254.169.254",
    "/latest/api/token",
    "/latest/meta-data",
    "/metadata/identity/",
    "/computeMetadata/",
)
_NO_CREDENTIALS = (
    "none were found in a credentials provider, the keys of this package, Hadoop's keys, the "
    "environment, or the role of this machine"
)
_WAITED = re.compile("timed out|timeout|retries|error sending request")
_REFUSALS = (InvalidPathError, NotSupportedError, PermissionDeniedError, UnauthenticatedError)

# `Store.list` hides the builtin inside the class
_Names: TypeAlias = list[str]
_Parts: TypeAlias = list[bytes]
_Found: TypeAlias = list[bytes | None]


@dataclass(frozen=True)
class ObjectMeta:
    """What a listing says about an object."""

    path: str
    size: int
    modified_ms: int
    e_tag: str | None = None


def check_path(path: str) -> str:
    """The path itself, if it stays below the root it is joined to."""
    if not path or _LEAVING.search(path):
        raise error("STORAGE_BAD_PATH", path=path)
    return path


class Store:
    """One table's place in an object store."""

    def __init__(
        self,
        url: str,
        backend: ObjectStore | None,
        native: tuple[str, str],
        *,
        folder: str | None = None,
        secrets: Iterable[str] = (),
        limits: str = "",
    ) -> None:
        self.url = url
        self.counters = Counters()
        self._backend = backend
        self._native = native
        # a store on this machine: where, as its address may be another name
        self._folder = folder or url
        self._secrets = tuple(secrets)
        self._limits = limits

    def __repr__(self) -> str:
        return f"Store({self.url!r})"

    def native(self) -> tuple[str, str]:
        """Address and options (JSON) for the engine's own store; the options may hold secrets."""
        return self._native

    @property
    def is_remote(self) -> bool:
        """Whether listings come sorted, page by page, over a network."""
        return not isinstance(self._backend, LocalStore | None)

    def get(self, path: str) -> bytes:
        """The whole object; `FILE_MISSING` when there is none."""
        found = self.find(path)
        if found is None:
            raise error("FILE_MISSING", path=self._full(path))
        return found

    def find(self, path: str) -> bytes | None:
        """The whole object, or None when there is none."""
        backend = self._reading()
        if backend is None:
            return None
        try:
            inside = check_path(path)
            data = self._wait(lambda: obstore.get(backend, inside).bytes().to_bytes())
        except FileNotFoundError:
            self.counters.add("get")
            return None
        except (BaseError, OSError) as cause:
            raise self._failed("get", path, cause) from self._struck(cause)
        self.counters.add("get", read=len(data))
        return data

    def find_all(self, paths: Sequence[str], parallelism: int) -> _Found:
        """Several objects at the same time, in order."""
        if len(paths) <= 1:
            return [self.find(path) for path in paths]
        return hearing_all(self.find, paths, parallelism)

    def get_range(self, path: str, start: int, end: int) -> bytes:
        """The bytes from `start` up to, not including, `end`."""
        return self.get_ranges(path, [(start, end)])[0]

    def get_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> _Parts:
        """Several ranges of one object; near ones are fetched together."""
        backend = self._reading()
        if backend is None:
            raise error("FILE_MISSING", path=self._full(path))
        try:
            inside = check_path(path)
            starts, ends = [start for start, _ in ranges], [end for _, end in ranges]
            parts = self._wait(
                lambda: obstore.get_ranges(backend, inside, starts=starts, ends=ends)
            )
        except FileNotFoundError:
            raise error("FILE_MISSING", path=self._full(path)) from None
        except (BaseError, OSError) as cause:
            raise self._failed("get_ranges", path, cause) from self._struck(cause)
        data = [part.to_bytes() for part in parts]
        self.counters.add("get", read=sum(map(len, data)))
        return data

    def put(self, path: str, data: bytes, *, if_absent: bool = False) -> bool:
        """Write an object whole; with `if_absent`, False when there was one already.

        Between processes and machines, one of several writers with `if_absent` wins, and nobody
        ever sees a part of an object. An interrupt waits for the answer: what happened to a commit
        must be known before anybody cleans up after it.
        """
        mode: Literal["create", "overwrite"] = "create" if if_absent else "overwrite"
        try:
            obstore.put(self._writing(), check_path(path), data, mode=mode, use_multipart=False)
        except (AlreadyExistsError, PreconditionError):
            self.counters.add("put")
            return False
        except (BaseError, OSError) as cause:
            raise self._failed("put", path, cause) from self._struck(cause)
        self.counters.add("put", written=len(data))
        return True

    def head(self, path: str) -> ObjectMeta | None:
        """Size and age of an object, or None when there is none."""
        backend = self._reading()
        if backend is None:
            return None
        self.counters.add("head")
        try:
            inside = check_path(path)
            return _meta(self._wait(lambda: obstore.head(backend, inside)))
        except FileNotFoundError:
            return None
        except (BaseError, OSError) as cause:
            raise self._failed("head", path, cause) from self._struck(cause)

    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        """Everything below a folder, sorted by path, after a path if one is given."""
        backend = self._reading()
        if backend is None:
            return
        try:
            chunks = self._list_chunks(backend, prefix, start_after)
            if self.is_remote:
                for chunk in chunks:
                    yield from chunk
            else:
                yield from sorted((m for chunk in chunks for m in chunk), key=lambda m: m.path)
        except FileNotFoundError:
            return
        except (BaseError, OSError) as cause:
            raise self._failed("list", prefix, cause) from self._struck(cause)

    def _list_chunks(
        self, backend: ObjectStore, prefix: str, start_after: str | None
    ) -> Iterator[Sequence[ObjectMeta]]:
        prefix = prefix.rstrip("/")
        chunks = iter(
            obstore.list(backend, prefix or None, offset=start_after, chunk_size=_LIST_CHUNK)
        )
        while (chunk := self._wait(lambda: next(chunks, None))) is not None:
            self.counters.add("list")
            # not every server knows where to begin: what comes before is left out here
            after = start_after or ""
            yield [_meta(each) for each in chunk if each["path"] > after]

    def children(self, folder: str, after: str = "", until: str = "\x7f") -> _Names:
        """Names directly in a folder, files and folders, with after < name < until, sorted.

        Costs as much as there are names in that range, not in the folder.
        """
        folder = folder.strip("/")
        if not self.is_remote:
            return sorted(name for name in self._children_here(folder) if after < name < until)
        names: dict[str, None] = {}
        # a later start would pass by names that go on with less than a slash: `after.json`
        for meta in self.list(folder, f"{folder}/{after}" if after else None):
            name = meta.path[len(folder) + 1 :].split("/", 1)[0]
            if name >= until:
                break
            if name > after:
                names[name] = None
        return list(names)

    def _children_here(self, folder: str) -> _Names:
        backend = self._reading()
        if backend is None:
            return []
        self.counters.add("list")
        if isinstance(backend, LocalStore):
            # obstore would ask for the size and age of every file
            try:
                return os.listdir(os.path.join(self._folder, folder))  # noqa: PTH118, PTH208
            except FileNotFoundError:
                return []
            except OSError as cause:
                raise self._failed("list", folder, cause) from self._struck(cause)
        try:
            found = obstore.list_with_delimiter(backend, folder)
        except FileNotFoundError:
            return []
        except (BaseError, OSError) as cause:
            raise self._failed("list", folder, cause) from self._struck(cause)
        paths = [*found["common_prefixes"], *(meta["path"] for meta in found["objects"])]
        return [path.rstrip("/").rsplit("/", 1)[-1] for path in paths]

    def delete(self, paths: Iterable[str]) -> None:
        """Delete objects; one that is gone already is no failure."""
        backend = self._reading()
        for path in paths:
            if backend is None:
                return
            self.counters.add("delete")
            try:
                inside = check_path(path)
                self._wait(partial(obstore.delete, backend, inside))
            except FileNotFoundError:
                continue
            except (BaseError, OSError) as cause:
                raise self._failed("delete", path, cause) from self._struck(cause)

    def remove_empty(self, folder: str) -> None:
        """Remove a local folder that deletions have emptied; object stores have no folders."""
        if not self.is_remote and isinstance(self._reading(), LocalStore):
            with contextlib.suppress(OSError):
                os.rmdir(os.path.join(self._folder, check_path(folder)))  # noqa: PTH106, PTH118

    def _wait(self, work: Callable[[], T]) -> T:
        """Do what may wait for the network; local disk is not waited for."""
        return hearing(work) if self.is_remote else work()

    def _reading(self) -> ObjectStore | None:
        """The backend, or None while the local folder does not exist."""
        if self._backend is None and os.path.isdir(self._folder):  # noqa: PTH112
            self._backend = LocalStore(self._folder)
        return self._backend

    def _writing(self) -> ObjectStore:
        """The backend; a local folder is made with the first object."""
        if self._backend is None:
            self._backend = LocalStore(self._folder, mkdir=True)
        return self._backend

    def _full(self, path: str) -> str:
        return f"{self.url.rstrip('/')}/{path}"

    def _failed(self, what: str, path: str, cause: Exception) -> IndexTablesError:
        detail = strike(str(cause).split("\n", 1)[0], self._secrets)
        if isinstance(cause, UnauthenticatedError):
            own = _OWN.search(detail)
            failure = error("STORAGE_CREDENTIALS", url=self.url, detail=own[1] if own else detail)
        elif any(place in detail for place in _MACHINE):
            failure = error("STORAGE_CREDENTIALS", url=self.url, detail=_NO_CREDENTIALS)
        elif self._limits and _WAITED.search(detail):
            what = f"{what}: {detail}; {self._limits}"
            failure = error("STORAGE_FAILED", path=self._full(path), detail=what)
        else:
            failure = error("STORAGE_FAILED", path=self._full(path), detail=f"{what}: {detail}")
        # the store answered, and said no: the request was not carried out
        failure.context["refused"] = isinstance(cause, _REFUSALS)
        return failure

    def _struck(self, cause: Exception) -> Exception:
        """The cause as far as it may be shown: servers echo parts of what they were sent."""
        text = str(cause)
        struck = strike(text, self._secrets)
        return cause if struck == text else type(cause)(struck)


def _meta(raw: Mapping[str, Any]) -> ObjectMeta:
    modified_ms = int(raw["last_modified"].timestamp() * 1000)
    return ObjectMeta(raw["path"], raw["size"], modified_ms, raw.get("e_tag"))
