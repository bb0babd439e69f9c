"""Actions to and from the bytes of version files and JSON checkpoints.

Any problem with the bytes becomes one error that names the file. Time and memory are bounded by the
size of the text and the number of its actions.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from json import dumps
from typing import TypeVar

from indextables.engine.manifests import decode_lines
from indextables.errors import IndexTablesError, error
from indextables.log import json_values as read
from indextables.log import members
from indextables.log.actions import (
    Action,
    AddFile,
    CommitInfo,
    JsonObject,
    Metadata,
    RemoveFile,
    UnknownAction,
)
from indextables.log.compression import MAX_INFLATED, inflate
from indextables.log.lines import OTHER, LogActions
from indextables.storage.store import check_path

T = TypeVar("T")
R = TypeVar("R")
_LINE = re.compile(rb"[^\s][^\n]*")
# an action costs memory however short its line is, so it counts as a line of this length
_LEAST_LINE = 128
# from this size on the engine decodes; its columns cost more than a few actions do
_LONG_TEXT = 32 << 10
# actions that neither add nor remove a split cost much more than their text; a table has few of
# them, and too many are an attack
_MOST_OTHERS = 100_000
_UNSEALED = "0" * 8
# the end of a first line with a checksum, which is the last member of the action itself
_SEAL_LENGTH = 64
_SEAL = re.compile(rb'"checksum":"([0-9a-f]{8})"\}\}\s*\Z')


def encode_version(info: CommitInfo, actions: Iterable[Action]) -> bytes:
    """The text of a version file: its first line carries a checksum of the whole text.

    Gzip has a checksum of its own; plain text and copies of it have none.
    """
    others = {name: value for name, value in info.extra.items() if name != "checksum"}
    sealed = replace(info, extra={**others, "checksum": _UNSEALED})
    text = encode_actions([sealed, *actions])
    end = text.index(b"\n") - len(b'"}}')
    checksum = f"{zlib.crc32(text):08x}".encode()
    return text[: end - len(checksum)] + checksum + text[end:]


def _check_seal(text: bytes, start: int, end: int, first: Action, file: str) -> None:
    """Compare the checksum that `commitInfo` ends with; a column may have the same name.

    An action of unknown kind counts too, because the name `commitInfo` itself may be damaged.
    """
    found = _SEAL.search(text, max(start, end - _SEAL_LENGTH), end)
    if found is None or not isinstance(first, CommitInfo | UnknownAction):
        return
    rest = zlib.crc32(memoryview(text)[: found.start(1)])
    rest = zlib.crc32(_UNSEALED.encode(), rest)
    rest = zlib.crc32(memoryview(text)[found.end(1) :], rest)
    if found[1] != f"{rest:08x}".encode():
        raise _corrupt(file, "its checksum does not match")


@dataclass(frozen=True)
class CheckpointHead:
    """The head of a multi-part JSON checkpoint: the number of its parts, usually their names."""

    checkpoint_id: str
    count: int
    parts: tuple[str, ...] | None = None


def decode_head(data: bytes, file: str, limit: int = MAX_INFLATED) -> CheckpointHead | None:
    """The head of a multi-part JSON checkpoint, or None if the file holds the actions itself."""
    text = inflate(data, file, limit)
    if b'"checkpointId"' not in text:
        return None
    try:
        # a checkpoint in one file begins with a line that is an action: an object of one member
        first = _LINE.match(text)
        members_of_first = {} if first is None else _members_of(first[0])
        if len(members_of_first) == 1 and not _wraps_head(members_of_first):
            return None
        value = read.members(read.parse(text.decode()))
        if _wraps_head(value):
            (value,) = value.values()
        identity, parts = read.text(value["checkpointId"]), value["parts"]
        if isinstance(parts, int):
            return CheckpointHead(identity, read.natural(parts))
        listed = tuple(check_path(part) for part in read.texts(parts))
        return CheckpointHead(identity, len(listed), listed)
    except (ValueError, KeyError, TypeError, RecursionError, IndexTablesError) as cause:
        raise _corrupt(file, f"head of a checkpoint: {cause}") from None


def _wraps_head(value: JsonObject) -> bool:
    """Whether an object is a head with a name around it, like an action."""
    inner = next(iter(value.values())) if len(value) == 1 else None
    return (
        isinstance(inner, dict) and not members.BY_NAME.keys() & value and "checkpointId" in inner
    )


def _members_of(line: bytes) -> JsonObject:
    """The members of an object on one line; none if the object continues on the next line."""
    try:
        return read.members(read.parse(line.decode()))
    except (ValueError, TypeError):
        return {}


def decode_actions(
    data: bytes, file: str, *, whole: bool = True, limit: int = MAX_INFLATED
) -> Collection[Action]:
    """All actions of a version file or checkpoint, in order.

    A file without any action is an error, because no writer leaves one behind, and a cut file must
    not look like an empty commit.
    """
    text = inflate(data, file, limit)
    decoder = _Decoder(text, file, limit // _LEAST_LINE)
    actions = decoder.by_engine() if len(text) >= _LONG_TEXT else decoder.by_line()
    if whole and not actions:
        raise _corrupt(file, "no action in it")
    return actions


class _Decoder:
    """Decodes the lines of one text, up to a limit."""

    def __init__(self, text: bytes, file: str, most: int) -> None:
        self._text, self._file, self._most = text, file, most
        self._others = 0

    def by_line(self) -> list[Action]:
        """Decode every line in Python."""
        lines = _LINE.finditer(self._text)
        return [self._decode(number, *line.span()) for number, line in enumerate(lines, 1)]

    def by_engine(self) -> Collection[Action]:
        """Decode the common lines that add and remove splits in the engine, others in Python."""
        lines = decode_lines(self._text, self._most)
        numbers = (number for number, kind in enumerate(lines.kinds, 1) if kind == OTHER)
        others = tuple(
            self._decode(number, *span) for number, span in zip(numbers, lines.others, strict=True)
        )
        found = LogActions(lines.kinds, lines.adds, lines.removes, others)
        if any(isinstance(action, AddFile | RemoveFile) for action in others):
            return list(found)
        return found

    def _decode(self, number: int, start: int, end: int) -> Action:
        if number > self._most:
            raise self._flood(f"{self._most:,} actions")
        action = _named(self._file, number, _decode_line, self._text[start:end])
        if isinstance(action, Metadata):
            action = replace(action, file=self._file)
        if number == 1:
            _check_seal(self._text, start, end, action, self._file)
        self._others += not isinstance(action, AddFile | RemoveFile)
        if self._others > _MOST_OTHERS:
            raise self._flood(f"{_MOST_OTHERS:,} actions that are not splits")
        return action

    def _flood(self, limit: str) -> IndexTablesError:
        return error("FILE_TOO_LARGE", path=self._file, limit=limit)


def _decode_line(line: bytes) -> Action:
    value = read.parse(line.decode())
    if not isinstance(value, dict) or len(value) != 1:
        raise ValueError("it is not an object with one member")
    ((name, body),) = value.items()
    kind = members.BY_NAME.get(name)
    if kind is None:
        return UnknownAction.of(name, body)
    action: Action = kind.decode(read.members(body))
    return action


def decode_metadata(text: str, file: str) -> Metadata:
    """The metadata of a state, either wrapped as an action or bare."""
    return replace(_named(file, "metadata", _decode_metadata, text), file=file)


def _decode_metadata(text: str) -> Metadata:
    value = read.members(read.parse(text))
    body = read.members(value.get("metaData", value))
    metadata: Metadata = members.BY_TYPE[Metadata].decode(body)
    return metadata


def _named(file: str, part: int | str, decode: Callable[[T], R], source: T) -> R:
    """Decode a part of a file; an error names the part and the file."""
    try:
        return decode(source)
    except IndexTablesError as failure:
        detail = failure.message
    except KeyError as cause:
        detail = f"`{cause.args[0]}` is missing"
    except (ValueError, TypeError, RecursionError) as cause:
        detail = str(cause)
    raise _corrupt(file, f"line {part}: {detail}" if isinstance(part, int) else f"{part}: {detail}")


def encode_actions(actions: Iterable[Action]) -> bytes:
    """One line per action, uncompressed."""
    return "".join(encode_line(action) + "\n" for action in actions).encode()


def encode_line(action: Action) -> str:
    """The JSON text of an action."""
    return dumps(encode_action(action), separators=(",", ":"), ensure_ascii=False)


def encode_action(action: Action) -> JsonObject:
    """The JSON value of an action: one member, named by its kind. Absent values are left out."""
    if isinstance(action, UnknownAction):
        return {action.kind: action.value}
    kind = members.BY_TYPE[type(action)]
    return {kind.name: kind.encode(action)}


def _corrupt(file: str, detail: str) -> IndexTablesError:
    return error("FILE_CORRUPT", path=file, detail=detail)
