"""Compress and decompress log files: plain text, gzip, and gzip after a two-byte prefix."""

from __future__ import annotations

import zlib

from indextables.errors import error

_GZIP = b"\x1f\x8b"
MAX_INFLATED = 512 << 20


def inflate(data: bytes, file: str, limit: int = MAX_INFLATED) -> bytes:
    """The text of a log file, whatever its compression; FILE_TOO_LARGE beyond a limit."""
    if data[:2] == _GZIP:
        start = 0
    elif data[2:4] == _GZIP:
        start = 2
    else:
        if len(data) > limit:
            raise _too_large(file, limit)
        return data
    stream = zlib.decompressobj(wbits=31)
    try:
        text = stream.decompress(memoryview(data)[start:], limit + 1)
    except zlib.error as cause:
        raise _corrupt(file, f"gzip: {cause}") from None
    if len(text) > limit:
        raise _too_large(file, limit)
    if not stream.eof:
        raise _corrupt(file, "the gzip stream is cut short")
    if stream.unused_data:
        raise _corrupt(file, "bytes after the gzip stream")
    return text


def deflate(text: bytes) -> bytes:
    """Gzip without a timestamp, so that equal text gives equal bytes."""
    stream = zlib.compressobj(6, zlib.DEFLATED, 31)
    return stream.compress(text) + stream.flush()


def _too_large(file: str, limit: int) -> Exception:
    return error("FILE_TOO_LARGE", path=file, limit=f"{limit:,} bytes of text")


def _corrupt(file: str, detail: str) -> Exception:
    return error("FILE_CORRUPT", path=file, detail=detail)
