"""Avro manifests of the log, by the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from indextables import _native


def decode_manifests(files: Sequence[tuple[str, bytes, int]], threads: int) -> list[pa.Table]:
    """The entries of manifests, one table per file.

    Each file is given by its name, for errors only, its bytes, and its number of entries.
    """
    return [_table(stream) for stream in _native.decode_manifests(list(files), threads)]


@dataclass(frozen=True)
class Lines:
    """The actions of a version file: one byte for the kind of each, and the ranges of other lines.

    `adds` and `removes` have one row per action of that kind; None if there are none.
    """

    kinds: bytes
    adds: pa.Table | None
    removes: pa.Table | None
    others: Iterator[tuple[int, int]]


def decode_lines(text: bytes, most: int) -> Lines:
    """Decode the text of a version file, up to one action more than `most`."""
    found = _native.decode_lines(text, most)
    # one by one: a flood of short lines must not become a list of pairs
    others = map(found.other, range(found.num_others))
    return Lines(found.kinds, _some(found.adds), _some(found.removes), others)


def _some(stream: _native.ArrowStream | None) -> pa.Table | None:
    return None if stream is None else _table(stream)


def _table(stream: _native.ArrowStream) -> pa.Table:
    # not pa.table(stream), which imports pandas
    return pa.RecordBatchReader.from_stream(stream).read_all()


def encode_manifest(entries: pa.Table, compression: str, level: int) -> bytes:
    """A manifest of these entries."""
    return _native.encode_manifest(entries, compression, level)


def decode_state_manifest(data: bytes, path: str) -> Any:
    """A state manifest as plain values."""
    return _native.decode_state_manifest(data, path)


def encode_state_manifest(value: Mapping[str, Any], compression: str, level: int) -> bytes:
    """The bytes of a state manifest."""
    return _native.encode_state_manifest(value, compression, level)
