"""Reading manifests: in parallel, decoded by the engine, kept between snapshots that share them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from indextables.engine.manifests import decode_manifests
from indextables.errors import error
from indextables.log import entries, names
from indextables.log.snapshot import KeepManifest, without_paths
from indextables.log.state import ManifestInfo, StateManifest
from indextables.runtime.cache import Cache
from indextables.storage import Store

# decoded manifests by path; they never change, so only memory limits them
ManifestCache: TypeAlias = Cache[str, pa.Table]


def manifest_cache(limit: int = 256 << 20) -> ManifestCache:
    """A cache for the manifests of one table, of so many bytes."""
    return Cache(limit, lambda table: table.nbytes)


class ManifestReader:
    """Manifests of one table."""

    def __init__(self, store: Store, parallelism: int, cache: ManifestCache | None) -> None:
        self._store = store
        self._parallelism = parallelism
        self._cache = cache

    def read(self, paths: Sequence[str]) -> list[pa.Table]:
        """The entries of these manifests, in order."""
        held = {path: self._cache.get(path) if self._cache else None for path in paths}
        missing = [path for path, table in held.items() if table is None]
        if missing:
            for path, table in zip(missing, self._fetch(missing), strict=True):
                held[path] = table
                if self._cache is not None:
                    self._cache.put(path, table)
        return [held[path] for path in paths]

    def _fetch(self, paths: list[str]) -> list[pa.Table]:
        contents = self._store.find_all(paths, self._parallelism)
        for path, data in zip(paths, contents, strict=True):
            if data is None:
                raise error("FILE_MISSING", path=path)
        files = [(path, data or b"") for path, data in zip(paths, contents, strict=True)]
        return decode_manifests(files, self._parallelism)


@dataclass(frozen=True)
class StateBase:
    """A state as the base of a snapshot."""

    state: StateManifest
    reader: ManifestReader

    def files(self, keep: KeepManifest | None) -> pa.Table:
        """The live entries of the manifests to keep."""
        wanted = [info for info in self.state.manifests if _is_wanted(info, keep)]
        if not wanted or all(info.supersedes for info in wanted):
            # replacements of entries that nobody asked for
            wanted = [info for info in wanted if keep is None or not info.supersedes]
        paths = [names.manifest_path(info.path, self.state.version) for info in wanted]
        tables = self.reader.read(paths)
        for info, path, table in zip(wanted, paths, tables, strict=True):
            if table.num_rows != info.num_entries:
                detail = f"{table.num_rows} entries, its state says {info.num_entries}"
                raise error("FILE_CORRUPT", path=path, detail=detail)
        live = [
            without_paths(
                table, self.state.tombstones | _superseded(wanted[i + 1 :], tables[i + 1 :])
            )
            for i, table in enumerate(tables)
        ]
        return entries.concat(live)


def _is_wanted(info: ManifestInfo, keep: KeepManifest | None) -> bool:
    # an entry that replaces another must be seen wherever the other one is
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
