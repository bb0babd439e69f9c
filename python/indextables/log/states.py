"""Find and read the states of one table."""

from __future__ import annotations

import logging
from dataclasses import replace

from indextables.errors import CorruptError, StorageError, error
from indextables.log import names
from indextables.log.state import Pointer, StateManifest
from indextables.log.statefile import decode_state, decode_state_json
from indextables.storage import Store

_log = logging.getLogger("indextables.log")


class StateReader:
    """The states of one table; remembers folders that `_last_checkpoint` names differently."""

    def __init__(self, store: Store, limit: int) -> None:
        self._store = store
        self._limit = limit
        self._folders: dict[int, str] = {}

    def note(self, pointer: Pointer) -> None:
        """Take the location of a state from `_last_checkpoint`, if it is there."""
        folder, version = pointer.state_dir, pointer.version
        if folder is None or folder == names.state_name(version) or version in self._folders:
            return
        if not names.is_state_folder(folder):
            _log.warning("`%s` is ignored: `%s` is not a state", names.POINTER, folder)
            return
        try:
            self._read(folder, version)
        except (CorruptError, StorageError) as cause:
            _log.warning("`%s` is ignored: %s", names.POINTER, cause)
        else:
            self._folders[version] = folder

    def elsewhere(self, first: int) -> list[int]:
        """Versions from this one on whose states have folders of another name."""
        return [version for version in self._folders if version >= first]

    def _folder(self, version: int) -> str:
        return self._folders.get(version, names.state_name(version))

    def is_complete(self, version: int) -> bool:
        """Whether a state has its manifest, which is written last."""
        paths = names.state_files(self._folder(version))
        return any(self._store.head(path) is not None for path in paths)

    def read(self, version: int) -> StateManifest:
        """The state of a version; the paths of its manifests are relative to the log."""
        return self._read(self._folder(version), version)

    def _read(self, folder: str, version: int) -> StateManifest:
        avro, older = names.state_files(folder)
        path = avro
        data = self._store.find(avro)
        if data is not None:
            state = decode_state(data, avro)
        else:
            path = older
            data = self._store.find(older)
            if data is None:
                raise error("FILE_MISSING", path=avro)
            state = decode_state_json(data, older, self._limit)
        if state.version != version:
            detail = f"it describes version {state.version}"
            raise error("FILE_CORRUPT", path=path, detail=detail)
        manifests = tuple(
            replace(info, path=names.manifest_path(info.path, folder)) for info in state.manifests
        )
        return replace(state, manifests=manifests, file=path)
