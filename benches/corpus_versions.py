"""Tables of many versions, made without committing each of them."""

from __future__ import annotations

from pathlib import Path

from indextables.log import open_log
from indextables.log.actions import AddFile, CommitInfo
from indextables.log.codec import encode_version
from indextables.log.names import version_file
from indextables.model.types import Atomic, Field, Struct
from indextables.storage import open_store

SCHEMA = Struct((Field("id", Atomic("long")), Field("message", Atomic("string"))))
PAGE = 100


def make(path: str, versions: int) -> None:
    """Make a table of many appends of one split each, with a checkpoint at the end.

    The split files do not exist: the measured code never reads them.
    """
    log = open_log(open_store(path))
    created = log.create(SCHEMA).snapshot
    for version in range(1, versions + 1):
        name = f"splits/split-{version:032d}.split"
        add = AddFile(name, {}, 10_000, created.timestamp_ms, num_records=10)
        info = CommitInfo(str(version), created.timestamp_ms + version, "APPEND",
                          engine_info="indextables/0")  # fmt: skip
        file = Path(path) / version_file(version)
        file.write_bytes(encode_version(info, [add]))
        if version % PAGE == 0:
            open_log(open_store(path)).checkpoint()
    open_log(open_store(path)).checkpoint()
