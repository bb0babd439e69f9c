"""The container of a split: its files, read without opening the index.

spec: SPLIT 1
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indextables.errors import error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from indextables.storage import Store

_LENGTH = struct.Struct("<I")
_HEAD = struct.Struct("<II")
_MAGIC = 403_881_646
_VERSION = 1


@dataclass(frozen=True)
class SplitFooter:
    """The offsets of a split's files, and the footer offsets that the log records."""

    path: str
    size: int
    footer_start: int
    files: Mapping[str, tuple[int, int]]

    def read_json(self, store: Store, name: str) -> Any | None:
        """Read one file of the split as JSON, or return None if it does not exist."""
        place = self.files.get(name)
        if place is None:
            return None
        try:
            return json.loads(store.get_range(self.path, *place))
        except ValueError:
            raise _corrupt(self.path, f"`{name}` is not valid JSON") from None


def read_footer(store: Store, path: str) -> SplitFooter:
    """Read and check the footer of a split."""
    meta = store.head(path)
    if meta is None:
        raise error("FILE_MISSING", path=path)
    hotcache_end = meta.size - _LENGTH.size
    hotcache = _length_before(store, path, meta.size)
    table_end = hotcache_end - hotcache - _LENGTH.size
    table = _length_before(store, path, hotcache_end - hotcache)
    start = table_end - table
    if start < 0 or table < _HEAD.size:
        raise _corrupt(path, "its footer does not fit")
    data = store.get_range(path, start, table_end)
    if _HEAD.unpack_from(data) != (_MAGIC, _VERSION):
        raise _corrupt(path, "its footer has the wrong magic number")
    return SplitFooter(path, meta.size, start, _files(data[_HEAD.size :], start, path))


def _length_before(store: Store, path: str, end: int) -> int:
    if end < _LENGTH.size:
        raise _corrupt(path, "it is too short")
    found: int = _LENGTH.unpack(store.get_range(path, end - _LENGTH.size, end))[0]
    return found


def _files(text: bytes, limit: int, path: str) -> dict[str, tuple[int, int]]:
    try:
        listed = json.loads(text)["files"]
        files = {name: (int(at["start"]), int(at["end"])) for name, at in listed.items()}
    except (ValueError, KeyError, TypeError):
        raise _corrupt(path, "its list of files cannot be read") from None
    if any(not 0 <= start <= end <= limit for start, end in files.values()):
        raise _corrupt(path, "one of its files is out of bounds")
    return files


def _corrupt(path: str, detail: str) -> Exception:
    return error("FILE_CORRUPT", path=path, detail=detail)
