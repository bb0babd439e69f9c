"""Which log files may be deleted. Pure: from names and ages to sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from indextables.config import log as keys
from indextables.config.settings import Settings

HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Policy:
    """How long each kind of file is kept."""

    log_hours: float
    state_hours: float
    state_versions: int
    manifest_hours: float

    @classmethod
    def of(cls, settings: Settings) -> Policy:
        """The policy of these settings."""
        millis = settings.get(keys.LOG_RETENTION_MS)
        hours = settings.get(keys.LOG_RETENTION_HOURS) if millis is None else millis / HOUR_MS
        return cls(
            hours,
            settings.get(keys.STATE_RETENTION_HOURS),
            settings.get(keys.STATE_RETENTION_VERSIONS),
            settings.get(keys.GC_MIN_MANIFEST_AGE_HOURS),
        )


@dataclass(frozen=True)
class LogFiles:
    """The log files by kind: version -> modification time in ms. Only complete states count."""

    versions: Mapping[int, int]
    checkpoints: Mapping[int, int]
    states: Mapping[int, int]
    pointer: int | None = None


@dataclass(frozen=True)
class Expired:
    """The files that may be deleted.

    `anchors` are the versions of the states or checkpoints without which the deleted version files
    would be needed.
    """

    versions: tuple[int, ...] = ()
    checkpoints: tuple[int, ...] = ()
    states: tuple[int, ...] = ()
    anchors: tuple[int, ...] = ()


def expired(files: LogFiles, policy: Policy, now_ms: int) -> Expired:
    """The files that can be deleted without making a version unreadable that must be kept.

    A version file is deleted if it is older than its limit, not the newest, and covered by a base
    that stays; whatever younger versions are replayed from stays, however old it is.
    """
    bases = sorted({*files.checkpoints, *files.states})
    if not bases:
        return Expired()
    newest = max(*bases, *files.versions, bases[0])
    too_old = now_ms - policy.log_hours * HOUR_MS
    kept_bases = {bases[-1], *sorted(files.states)[-policy.state_versions :]}
    kept_bases |= {files.pointer} if files.pointer in bases else set()
    state_limit = now_ms - policy.state_hours * HOUR_MS
    kept_bases |= {v for v, changed in files.states.items() if changed > state_limit}
    gone: set[int] = set()
    used: set[int] = set()
    for segment in _segments(sorted(files.versions)):
        young = [v for v in segment if files.versions[v] > too_old]
        first = young[0] if young else max(segment)
        anchors = [b for b in bases if segment[0] - 1 <= b <= first]
        if not anchors:
            continue
        kept_bases.add(anchors[-1])
        old = {v for v in segment if v <= anchors[-1] and files.versions[v] <= too_old}
        used |= {anchors[-1]} if old else set()
        gone |= old
    gone.discard(newest)
    return Expired(
        tuple(sorted(gone)),
        tuple(
            sorted(
                v
                for v in files.checkpoints
                if v not in kept_bases and files.checkpoints[v] <= too_old
            )
        ),
        tuple(sorted(v for v in files.states if v not in kept_bases)),
        tuple(sorted(used)),
    )


def _segments(versions: Sequence[int]) -> Iterable[list[int]]:
    """Runs of versions without a gap."""
    run: list[int] = []
    for version in versions:
        if run and version != run[-1] + 1:
            yield run
            run = []
        run.append(version)
    if run:
        yield run


def orphans(
    manifests: Mapping[str, int], referenced: set[str], policy: Policy, now_ms: int
) -> list[str]:
    """Manifests (path -> modification time) that no state lists and no writer is about to list."""
    limit = now_ms - policy.manifest_hours * HOUR_MS
    return sorted(
        path for path, changed in manifests.items() if path not in referenced and changed <= limit
    )
