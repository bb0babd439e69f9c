"""From a cached snapshot to the newest one with one request, if nothing changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from indextables.errors import StorageError
from indextables.log import names

if TYPE_CHECKING:
    from indextables.log.reading import Reader
    from indextables.log.snapshot import Snapshot
    from indextables.storage import ObjectMeta, Store

# versions replayed onto a cached snapshot before starting from a newer base
_LIMIT = 100
# modification time, size and tag of a version file; differs when the table is recreated
Mark: TypeAlias = tuple[int, int, str | None]


def refresh(reader: Reader, held: Snapshot, mark: Mark) -> tuple[Snapshot, Mark] | None:
    """The newest version and its mark, given a cached one; None: load it from scratch.

    States are not searched: version files are deleted oldest first, so while the one of the cached
    version exists, every newer version has one too.
    """
    marks = _marks_from(reader, held.version)
    if marks.get(held.version) != mark:
        return None  # the table was dropped or recreated
    last = max(marks)
    if last == held.version:
        return held, mark
    if last - held.version > min(_LIMIT, len(marks) - 1):
        return None
    found = reader.advance(held, reader.commits(held.version + 1, last))
    newest = marks[last] or version_mark(reader.store, last)
    return None if newest is None else (found, newest)


def version_mark(store: Store, version: int) -> Mark | None:
    """The mark of a version file; None if it does not exist."""
    try:
        found = store.head(names.version_file(version))
    except StorageError:
        return None
    return None if found is None else _mark_of(found)


def _marks_from(reader: Reader, version: int) -> dict[int, Mark | None]:
    """A version and all later ones, with their marks if the listing has metadata."""
    store, found = reader.store, {}
    for name, meta in _files_from(reader, version):
        for each in names.parse_names([name]).versions:
            found[each] = None if meta is None else _mark_of(meta)
    return found | {version: version_mark(store, version)} if store.has_folders else found


def _files_from(reader: Reader, version: int) -> list[tuple[str, ObjectMeta | None]]:
    if not reader.store.is_remote and reader.file_time(version + 1) == 0:
        return []  # on a local disk the time of a listing grows with the folder
    return list(reader.store.entries(names.FOLDER, f"{version:020d}", "_"))


def _mark_of(meta: ObjectMeta) -> Mark:
    """Equal for a listing and a HEAD, which has seconds only and may quote the tag differently."""
    if meta.e_tag is None:
        return meta.modified_ms, meta.size, None
    return meta.modified_ms // 1000, meta.size, meta.e_tag.strip('"')
