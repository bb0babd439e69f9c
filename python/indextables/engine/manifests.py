"""Avro manifests of the log, by the engine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from indextables import _native


def decode_manifests(files: Sequence[tuple[str, bytes, int]], threads: int) -> list[pa.Table]:
    """The entries of manifests, one table per file.

    Of each file: its name, for errors only, its bytes, and the number of entries it must have.
    """
    # not pa.table(stream), which imports pandas
    return [
        pa.RecordBatchReader.from_stream(stream).read_all()
        for stream in _native.decode_manifests(list(files), threads)
    ]


def encode_manifest(entries: pa.Table, compression: str, level: int) -> bytes:
    """A manifest of these entries."""
    return _native.encode_manifest(entries, compression, level)


def decode_state_manifest(data: bytes, path: str) -> Any:
    """A state manifest as a JSON value."""
    return json.loads(_native.decode_state_manifest(data, path))


def encode_state_manifest(value: Mapping[str, Any], compression: str, level: int) -> bytes:
    """The bytes of a state manifest."""
    return _native.encode_state_manifest(json.dumps(value), compression, level)
