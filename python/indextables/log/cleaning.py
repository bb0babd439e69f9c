"""Delete the log files whose retention has expired."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace

from indextables.errors import CorruptError
from indextables.log import names, retention
from indextables.log.reading import Reader
from indextables.log.retention import Expired, LogFiles, Policy

_log = logging.getLogger("indextables.log")


@dataclass(frozen=True)
class Cleaned:
    """The paths that were or would be deleted, by kind."""

    versions: tuple[str, ...]
    checkpoints: tuple[str, ...]
    states: tuple[str, ...]
    manifests: tuple[str, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths."""
        return (*self.versions, *self.checkpoints, *self.states, *self.manifests)


def is_due(reader: Reader, policy: Policy, now_ms: int) -> bool:
    """Whether anything may have expired, judged by the age of the oldest files alone.

    Cleaning looks at every file of the log, which is too expensive for every checkpoint.
    """
    listing = reader.listing()
    oldest = [
        (names.version_file(version), policy.log_hours) for version in listing.versions[:1]
    ] + [(names.state_file(version), policy.state_hours) for version in listing.states[:1]]
    for path, hours in oldest:
        found = reader.store.head(path)
        if found is None or found.modified_ms <= now_ms - hours * retention.HOUR_MS:
            return True
    return False


def clean(reader: Reader, policy: Policy, now_ms: int, *, dry_run: bool = False) -> Cleaned:
    """Delete expired version files, checkpoints, states, then unlisted manifests.

    States are deleted newest first and their manifests last, so that after a crash every remaining
    file can still be read or is not listed anywhere.
    """
    listed = {meta.path: meta.modified_ms for meta in reader.store.list(names.FOLDER)}
    files = _by_kind(listed, reader)
    gone = _expired(files, reader, policy, now_ms)
    kept = [version for version in files.states if version not in gone.states]
    manifests = {p: t for p, t in listed.items() if names.is_manifest(p)}
    found = _orphans(reader, manifests, kept, policy, now_ms)
    if not dry_run and found:
        # a state written in the meantime may list a manifest that was not listed before
        now = [v for v in reader.listing().states if v not in files.states]
        newer = [version for version in now if reader.states.is_complete(version)]
        found = _orphans(reader, manifests, [*kept, *newer], policy, now_ms)
    cleaned = Cleaned(
        tuple(names.version_file(version) for version in gone.versions),
        (*_checkpoint_paths(listed, gone), *_stray_parts(listed, files, policy, now_ms)),
        tuple(_state_paths(listed, gone)),
        tuple(found),
    )
    if not dry_run:
        reader.store.delete(cleaned.paths)
        folders = {path.rpartition("/")[0] for path in (*cleaned.states, *cleaned.manifests)}
        for folder in sorted(folders - {names.MANIFESTS}):
            # an empty folder left on a local disk would look like a state
            reader.store.remove_empty(folder)
    return cleaned


def _expired(files: LogFiles, reader: Reader, policy: Policy, now_ms: int) -> Expired:
    """The expired files, if the versions that stay can be read without them.

    A damaged state or checkpoint covers no version files, nor does a state without metadata.
    """
    whole: set[int] = set()
    while True:
        gone = retention.expired(files, policy, now_ms)
        useless = {v for v in gone.anchors if v not in whole and not reader.is_whole(v)}
        if not useless:
            return gone
        whole |= {*gone.anchors} - useless
        files = replace(
            files,
            checkpoints={v: t for v, t in files.checkpoints.items() if v not in useless},
            states={v: t for v, t in files.states.items() if v not in useless},
        )


def _by_kind(listed: dict[str, int], reader: Reader) -> LogFiles:
    folder = names.FOLDER + "/"
    tops = names.parse_names(path[len(folder) :].split("/")[0] for path in listed)
    states = {}
    for version in tops.states:
        found = [p for p in names.state_files(names.state_name(version)) if p in listed]
        if found:
            states[version] = listed[found[0]]
    pointer = reader.pointer()
    return LogFiles(
        {version: listed[names.version_file(version)] for version in tops.versions},
        {version: listed[names.checkpoint_file(version)] for version in tops.checkpoints},
        states,
        None if pointer is None else pointer.version,
    )


def _orphans(
    reader: Reader, manifests: dict[str, int], states: list[int], policy: Policy, now_ms: int
) -> list[str]:
    """The manifests that none of these states lists; none if a state cannot be read."""
    try:
        referenced = {
            f"{names.FOLDER}/{info.path}"
            for version in states
            for info in reader.states.read(version).manifests
        }
    except CorruptError as cause:
        _log.warning("manifests of `%s` are kept: %s", reader.store.url, cause)
        return []
    return retention.orphans(manifests, referenced, policy, now_ms)


def _state_paths(listed: dict[str, int], gone: Expired) -> Iterator[str]:
    for version in reversed(gone.states):
        yield from (p for p in names.state_files(names.state_name(version)) if p in listed)


def _stray_parts(
    listed: dict[str, int], files: LogFiles, policy: Policy, now_ms: int
) -> Iterator[str]:
    """Old parts of JSON checkpoints that were never completed."""
    limit = now_ms - policy.log_hours * retention.HOUR_MS
    for path, changed in listed.items():
        version = names.part_version(path.removeprefix(names.FOLDER + "/"))
        if version is not None and version not in files.checkpoints and changed <= limit:
            yield path


def _checkpoint_paths(listed: dict[str, int], gone: Expired) -> Iterator[str]:
    folder = names.FOLDER + "/"
    for version in gone.checkpoints:
        yield names.checkpoint_file(version)
    for path in listed:
        if names.part_version(path[len(folder) :]) in gone.checkpoints:
            yield path
