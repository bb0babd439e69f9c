"""One frozen value per command about caches, counters, prewarming and the profiler."""

from __future__ import annotations

from dataclasses import dataclass

from indextables.plan.prewarm import SEGMENTS
from indextables.sql.commands import Command, require
from indextables.sql.target import Target


@dataclass(frozen=True)
class FlushSearcherCache(Command):
    """Forget split data kept in memory."""


@dataclass(frozen=True)
class FlushDiskCache(Command):
    """Forget split data kept on local disk."""


@dataclass(frozen=True)
class FlushDataSkippingStats(Command):
    """Reset the pruning counters."""


@dataclass(frozen=True)
class InvalidateDataSkippingCache(Command):
    """Reset the pruning counters and forget what pruning kept."""


@dataclass(frozen=True)
class DescribeDiskCache(Command):
    """Show the disk caches."""


@dataclass(frozen=True)
class DescribeStorageStats(Command):
    """Show how much was fetched from stores."""


@dataclass(frozen=True)
class DescribeDataSkippingStats(Command):
    """Show how many splits pruning saved."""


@dataclass(frozen=True)
class PrewarmCache(Command):
    """Load index parts before they are asked for."""

    target: Target
    segments: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    parallelism: int | None = None
    where: str | None = None
    asynchronous: bool = False

    def __post_init__(self) -> None:
        count = self.parallelism
        require(count is None or count > 0, f"PARALLELISM must be positive, got: {count}")
        for segment in self.segments:
            require(
                segment.upper() in SEGMENTS,
                f"unknown segment `{segment}`; known are {', '.join(sorted(SEGMENTS))}",
            )


@dataclass(frozen=True)
class DescribePrewarmJobs(Command):
    """Show background jobs that load index parts."""


@dataclass(frozen=True)
class WaitForPrewarmJobs(Command):
    """Wait until background jobs have finished."""

    target: Target | None = None
    job: str | None = None
    timeout: int | None = None

    def __post_init__(self) -> None:
        seconds = self.timeout
        require(seconds is None or seconds > 0, f"TIMEOUT must be positive, got: {seconds}")


@dataclass(frozen=True)
class EnableProfiler(Command):
    """Start to measure the engine."""


@dataclass(frozen=True)
class DisableProfiler(Command):
    """Stop to measure the engine."""


@dataclass(frozen=True)
class DescribeProfiler(Command):
    """Show what was measured."""


@dataclass(frozen=True)
class ResetProfiler(Command):
    """Show what was measured and start anew."""


@dataclass(frozen=True)
class DescribeProfilerCache(Command):
    """Show hits and misses of the caches."""


@dataclass(frozen=True)
class ResetProfilerCache(Command):
    """Show hits and misses of the caches and start anew."""
