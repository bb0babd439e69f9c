"""Merges of this process, running and finished, for DESCRIBE MERGE JOBS."""

from __future__ import annotations

import threading
import time
import uuid
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from indextables.commands.grammar import DESCRIBE, Command, Rule, columns

if TYPE_CHECKING:
    from indextables.read.table import Row

_KEPT = 100
_OUTPUT = columns(
    "job_id string, table_path string, status string, total_groups int, "
    "completed_groups int, total_batches int, completed_batches int, progress_pct double, "
    "duration_ms bigint, error_message string"
)


@dataclass(frozen=True)
class DescribeMergeJobs(Command):
    """Show background merges."""


@dataclass
class MergeJob:
    """Progress of a merge."""

    table_path: str
    job_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    status: str = "RUNNING"
    total_groups: int = 0
    completed_groups: int = 0
    total_batches: int = 0
    completed_batches: int = 0
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None
    error_message: str | None = None

    def end(self, error_message: str | None = None) -> None:
        """Record that the merge has finished."""
        self.status = "COMPLETED" if error_message is None else "FAILED"
        self.error_message = error_message
        self.ended = time.monotonic()


_jobs: OrderedDict[str, MergeJob] = OrderedDict()
_lock = threading.Lock()


def start_job(table_path: str) -> MergeJob:
    """Register a merge."""
    job = MergeJob(table_path)
    with _lock:
        _jobs[job.job_id] = job
        while len(_jobs) > _KEPT:
            _jobs.popitem(last=False)
    return job


def run_describe_merge_jobs() -> list[Row]:
    """Return all recorded merges, oldest first."""
    return [_row(job) for job in list(_jobs.values())]


def _row(job: MergeJob) -> Row:
    until = job.ended if job.ended is not None else time.monotonic()
    done = job.completed_groups / job.total_groups if job.total_groups else 0.0
    return {
        "job_id": job.job_id,
        "table_path": job.table_path,
        "status": job.status,
        "total_groups": job.total_groups,
        "completed_groups": job.completed_groups,
        "total_batches": job.total_batches,
        "completed_batches": job.completed_batches,
        "progress_pct": 100.0 * done,
        "duration_ms": int((until - job.started) * 1000),
        "error_message": job.error_message,
    }


RULES = (
    Rule(
        DescribeMergeJobs,
        f"{DESCRIBE} MERGE JOBS",
        (),
        _OUTPUT,
        lambda _command, _context: run_describe_merge_jobs(),
    ),
)
