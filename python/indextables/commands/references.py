"""The files that readable versions refer to."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from indextables.commands.log_files import INDEX_FOLDER
from indextables.log.actions import AddFile, CommitInfo, IndexFile, Metadata, UnknownAction
from indextables.log.lines import LogActions
from indextables.model import kernels as pc

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from indextables.log import Log, Snapshot
    from indextables.log.actions import Action
    from indextables.log.replay import Commit

_INDEX_NAME = re.compile(r"index-[0-9a-fA-F-]{36}-\d+")


def find_references(log: Log, versions: Iterable[int], bases: Iterable[int]) -> set[str]:
    """Return all files that these version files, these bases and the latest version refer to.

    A base that cannot be read is an error: its references are unknown, so nothing may be deleted.
    """
    found: set[str] = set()
    for base in bases:
        _add_snapshot(found, log.snapshot(base))
    _add_snapshot(found, log.snapshot())
    for commit in log.reader.existing(versions):
        _add_commit(found, commit)
    return found


def _add_snapshot(found: set[str], snapshot: Snapshot) -> None:
    _add_entries(found, snapshot.files())
    _add_action(found, snapshot.metadata)
    kept: list[Action] = [*snapshot.hash_indexes, *snapshot.change.unknown]
    for action in kept:
        _add_action(found, action)


def _add_commit(found: set[str], commit: Commit) -> None:
    actions = commit.actions
    if isinstance(actions, LogActions):  # many splits, which are columns
        _add_entries(found, actions.adds)
        actions = actions.others
    for action in actions:
        _add_action(found, action)


def _add_entries(found: set[str], files: pa.Table) -> None:
    found.update(files["path"].to_pylist())
    vectors = pc.struct_field(files["deletionVector"], "file")
    found.update(pc.unique(vectors.drop_null()).to_pylist())
    for text in pc.unique(files["extra"].drop_null()).to_pylist():
        _add_index_names(found, text)


def _add_action(found: set[str], action: Action) -> None:
    if isinstance(action, AddFile):
        found.add(action.path)
        if action.deletion_vector is not None:
            found.add(action.deletion_vector.file)
        _add_index_names(found, action.extra)
    elif isinstance(action, IndexFile):
        if action.file is not None:
            found.add(action.file)
    elif isinstance(action, Metadata):
        _add_index_names(found, dict(action.configuration))
    elif isinstance(action, CommitInfo):
        _add_index_names(found, dict(action.extra))
    elif isinstance(action, UnknownAction):
        _add_index_names(found, action.value)


def _add_index_names(found: set[str], value: Any) -> None:
    """Also find index files in unknown members that newer writers may use."""
    if value:
        text = value if isinstance(value, str) else json.dumps(value)
        found.update(INDEX_FOLDER + name for name in _INDEX_NAME.findall(text))
