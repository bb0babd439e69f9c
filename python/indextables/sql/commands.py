"""One frozen value per command about a table's data and log; a value that exists is valid."""

from __future__ import annotations

from dataclasses import dataclass

from indextables.errors import error
from indextables.sql.target import MAX_PARTS, Target

MIN_TARGET_SIZE = 1 << 20
_HOURS = {"DAYS": 24.0, "HOURS": 1.0, "MINUTES": 1 / 60, "SECONDS": 1 / 3600}


@dataclass(frozen=True)
class Command:
    """Base of all commands."""


@dataclass(frozen=True)
class Span:
    """A number with a unit of time."""

    amount: int
    unit: str

    @property
    def hours(self) -> float:
        """The span in hours."""
        return self.amount * _HOURS[self.unit]


def require(condition: bool, problem: str) -> None:  # noqa: FBT001 -- reads as a sentence
    """Refuse a command that parses but means nothing."""
    if not condition:
        raise error("SQL_CLAUSE", problem=problem)


def require_short_name(target: Target | None) -> None:
    """Refuse names of three and more parts."""
    if target is not None:
        require(len(target.name) <= MAX_PARTS, f"Invalid table identifier: {target}")


@dataclass(frozen=True)
class MergeSplits(Command):
    """Join small splits into large ones.

    Splits of the same partition below 45 % of the target size (5 GB unless said) are joined, oldest
    first, and the table is compacted. Splits with deleted rows are rewritten, which removes the
    rows for good. Each batch is one commit; writers and readers are not disturbed: what changed
    meanwhile is left as it is. A split that cannot be read stays and is left alone for a day.
    """

    target: Target | None
    where: str | None = None
    target_size: int | None = None
    max_dest_splits: int | None = None
    max_source_splits: int | None = None
    precommit: bool = False

    def __post_init__(self) -> None:
        size, most, sources = self.target_size, self.max_dest_splits, self.max_source_splits
        require(
            size is None or size >= MIN_TARGET_SIZE,
            f"Invalid target size: {size} is less than 1 MB ({MIN_TARGET_SIZE} bytes)",
        )
        require(most is None or most >= 1, f"MAX DEST SPLITS must be positive, got: {most}")
        require(
            sources is None or sources > 1,
            f"MAX SOURCE SPLITS PER MERGE must be at least 2, got: {sources}",
        )
        require(self.target is not None, "MERGE SPLITS requires either a path or table identifier")
        require_short_name(self.target)


@dataclass(frozen=True)
class Purge(Command):
    """Delete files that nothing refers to any more.

    Splits and index files go when no version that can still be read names them and they are older
    than the retention, 7 days unless said. Of the log, version files, states and manifests go when
    they are below the newest checkpoint and older than the log's retention, 30 days unless said.
    DRY RUN deletes nothing and counts.
    """

    target: Target
    older_than: Span | None = None
    log_retention: Span | None = None
    dry_run: bool = False


@dataclass(frozen=True)
class DropPartitions(Command):
    """Remove whole partitions from the table.

    The predicate may name partition columns only. Files stay until PURGE.
    """

    target: Target
    where: str

    def __post_init__(self) -> None:
        require_short_name(self.target)


@dataclass(frozen=True)
class Repair(Command):
    """Rebuild a log: to a new place, or from the splits when it is lost.

    With AT LOCATION both texts name a folder `_transaction_log`; live files that still exist are
    written as a new log there. Without it, a table whose log is gone gets a new one from its
    splits: every split that can be read is in it again, also those that had been removed but not
    yet purged.
    """

    source: str
    destination: str | None = None


@dataclass(frozen=True)
class InvalidateLogCache(Command):
    """Forget cached snapshots, of one table or of all."""

    target: Target | None = None


@dataclass(frozen=True)
class DescribeTransactionLog(Command):
    """Show every action of the log, from the newest checkpoint on or all of it."""

    target: Target
    include_all: bool = False


@dataclass(frozen=True)
class DescribeEnvironment(Command):
    """Show configuration and versions."""


@dataclass(frozen=True)
class DescribeState(Command):
    """Show the state of the log."""

    target: Target


@dataclass(frozen=True)
class DescribeComponentSizes(Command):
    """Show what takes the room within splits."""

    target: Target
    where: str | None = None


@dataclass(frozen=True)
class DescribeHistory(Command):
    """Show the commits of a table, newest first."""

    target: Target
    limit: int | None = None


@dataclass(frozen=True)
class DescribeDetail(Command):
    """Show what a table is."""

    target: Target


@dataclass(frozen=True)
class DescribeMergeJobs(Command):
    """Show background merges."""


@dataclass(frozen=True)
class Checkpoint(Command):
    """Write the state of the newest version."""

    target: Target


@dataclass(frozen=True)
class Compact(Command):
    """Write the state of the newest version anew, with no entries of removed splits."""

    target: Target


@dataclass(frozen=True)
class TruncateTimeTravel(Command):
    """Forget all versions but the newest. Data files stay until PURGE."""

    target: Target
    dry_run: bool = False


@dataclass(frozen=True)
class Restore(Command):
    """Make an older version the newest, as a new commit.

    A moment without an offset is in UTC.
    """

    target: Target
    version: int | None = None
    timestamp: str | None = None

    def __post_init__(self) -> None:
        require(
            (self.version is None) != (self.timestamp is None),
            "RESTORE needs TO VERSION AS OF or TO TIMESTAMP AS OF",
        )
