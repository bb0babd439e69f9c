"""Read manifests: in parallel, decoded by the engine, cached for all snapshots that share them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from indextables.engine.manifests import decode_manifests
from indextables.errors import CorruptError, IndexTablesError, StorageError, error
from indextables.log import entries, names
from indextables.log.snapshot import KeepManifest, without_paths
from indextables.log.state import ManifestInfo, StateManifest
from indextables.model import kernels as pc
from indextables.runtime.cache import Cache
from indextables.storage import Store

# decoded manifests by path; they never change, so only memory limits the cache
ManifestCache: TypeAlias = Cache[str, pa.Table]


def manifest_cache(limit: int = 256 << 20) -> ManifestCache:
    """A cache of this many bytes for the manifests of one table."""
    return Cache(limit, lambda table: table.nbytes)


class ManifestReader:
    """Manifests of one table."""

    def __init__(self, store: Store, parallelism: int, cache: ManifestCache | None) -> None:
        self._store = store
        self._parallelism = parallelism
        self._cache = cache

    def read(self, infos: Sequence[ManifestInfo]) -> list[pa.Table]:
        """The entries of these manifests, in order."""
        held = {info.path: self._held(info) for info in infos}
        missing = [info for info in infos if held[info.path] is None]
        if missing:
            for info, table in zip(missing, self._fetch(missing), strict=True):
                held[info.path] = table
                if self._cache is not None:
                    self._cache.put(_path(info), table)
        return [held[info.path] for info in infos]

    def _held(self, info: ManifestInfo) -> pa.Table | None:
        table = self._cache.get(_path(info)) if self._cache is not None else None
        return table if table is not None and table.num_rows == info.num_entries else None

    def _fetch(self, infos: list[ManifestInfo]) -> list[pa.Table]:
        paths = [_path(info) for info in infos]
        contents = self._store.find_all(paths, self._parallelism)
        files = []
        for info, path, data in zip(infos, paths, contents, strict=True):
            if data is None:
                raise error("FILE_MISSING", path=path)
            if info.num_entries < 0:
                detail = f"its state says it has {info.num_entries} entries"
                raise error("FILE_CORRUPT", path=path, detail=detail)
            files.append((path, data, info.num_entries))
        return decode_manifests(files, self._parallelism)


def _path(info: ManifestInfo) -> str:
    return f"{names.FOLDER}/{info.path}"


@dataclass(frozen=True)
class StateBase:
    """A state that a snapshot is based on."""

    state: StateManifest
    reader: ManifestReader
    replayed: Callable[[IndexTablesError], pa.Table]
    _memo: dict[str, pa.Table] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_damaged(self) -> bool:
        """Whether a manifest could not be read."""
        return "replayed" in self._memo

    def files(self, keep: KeepManifest | None) -> pa.Table:
        """The live entries of the chosen manifests; of all manifests if one cannot be read."""
        if "replayed" in self._memo:
            return self._memo["replayed"]
        try:
            return self._files(keep)
        except (CorruptError, StorageError) as cause:
            if not cause.is_lasting:
                raise
            self._memo["replayed"] = self.replayed(cause)
            return self._memo["replayed"]

    def _files(self, keep: KeepManifest | None) -> pa.Table:
        wanted = [info for info in self.state.manifests if _is_wanted(info, keep)]
        if not wanted or all(info.supersedes for info in wanted):
            # replacements of entries that were not requested
            wanted = [info for info in wanted if keep is None or not info.supersedes]
        tables = self.reader.read(wanted)
        live = [
            without_paths(
                table, self.state.tombstones | _superseded(wanted[i + 1 :], tables[i + 1 :])
            )
            for i, table in enumerate(tables)
        ]
        return _newest(entries.concat(live))


def _newest(table: pa.Table) -> pa.Table:
    """One entry per path, the last: other writers have been seen to list one twice."""
    if pc.count_distinct(table["path"]).as_py() == table.num_rows:
        return table
    rows = pa.table({"path": table["path"], "row": pa.array(range(table.num_rows), pa.int64())})
    last = rows.group_by("path").aggregate([("row", "max")])["row_max"]
    return table.take(last.take(pc.sort_indices(last)))


def _is_wanted(info: ManifestInfo, keep: KeepManifest | None) -> bool:
    # an entry that replaces another must be read wherever the other one is
    if keep is None or not info.partition_bounds or info.supersedes:
        return True
    return keep(info.partition_bounds)


def _superseded(infos: Sequence[ManifestInfo], tables: Sequence[pa.Table]) -> frozenset[str]:
    return frozenset(
        path
        for info, table in zip(infos, tables, strict=True)
        if info.supersedes
        for path in table["path"].to_pylist()
    )
