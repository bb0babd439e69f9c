"""Keys of streaming reads and of the change feed."""

from __future__ import annotations

from typing import Any

from indextables.config.option import BOOLEAN, SIZE, TEXT, Option, Scope, integer, optional

_GROUP = "Streaming"
_OPTION = (Scope.OPTION,)

STARTING_VERSION = Option(
    "startingVersion",
    optional(integer(0)),
    None,
    "First version whose changes are read. By default a stream starts with the current snapshot.",
    _GROUP,
    _OPTION,
    bare=True,
)
STARTING_TIMESTAMP = Option(
    "startingTimestamp",
    optional(TEXT),
    None,
    "The same by timestamp: the first version that is not older.",
    _GROUP,
    _OPTION,
    bare=True,
)
ENDING_VERSION = Option(
    "endingVersion",
    optional(integer(0)),
    None,
    "Last version of a change feed. Defaults to the latest.",
    _GROUP,
    _OPTION,
    bare=True,
)
ENDING_TIMESTAMP = Option(
    "endingTimestamp",
    optional(TEXT),
    None,
    "The same by timestamp: the last version that is not newer.",
    _GROUP,
    _OPTION,
    bare=True,
)
READ_CHANGE_FEED = Option(
    "readChangeFeed",
    BOOLEAN,
    default=False,
    doc="Read the change feed, with the columns `_change_type`, `_commit_version` and "
    "`_commit_timestamp`.",
    group=_GROUP,
    scopes=_OPTION,
    bare=True,
)
MAX_FILES_PER_TRIGGER = Option(
    "maxFilesPerTrigger",
    integer(1),
    1000,
    "Maximum splits per micro-batch; a version is never divided.",
    _GROUP,
    _OPTION,
    bare=True,
)
MAX_BYTES_PER_TRIGGER = Option(
    "maxBytesPerTrigger",
    optional(SIZE),
    None,
    "Maximum bytes of splits per micro-batch; a version is never divided.",
    _GROUP,
    _OPTION,
    bare=True,
)
IGNORE_DELETES = Option(
    "ignoreDeletes",
    BOOLEAN,
    default=False,
    doc="Skip versions that only remove rows, instead of failing.",
    group=_GROUP,
    scopes=_OPTION,
    bare=True,
)
IGNORE_CHANGES = Option(
    "ignoreChanges",
    BOOLEAN,
    default=False,
    doc="Do not fail at versions that change rows; read the splits they add.",
    group=_GROUP,
    scopes=_OPTION,
    bare=True,
)

SKIP_CHANGE_COMMITS = Option(
    "skipChangeCommits",
    BOOLEAN,
    default=False,
    doc="Skip versions that change or remove rows.",
    group=_GROUP,
    scopes=_OPTION,
    bare=True,
)

OPTIONS: tuple[Option[Any], ...] = tuple(
    value for value in tuple(globals().values()) if isinstance(value, Option)
)
