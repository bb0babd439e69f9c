"""Assign splits to tasks: even work, enough tasks for all cores, on hosts that cached them."""

from __future__ import annotations

import hashlib
import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# tasks per core that balance splits of different cost without too many task starts
_WAVES = 2
# below this a task costs more to start than to run
_SMALL_TASK_BYTES = 16 << 20


@dataclass(frozen=True)
class TaskGroup:
    """Positions of the splits of one task, and where it should run ("" for anywhere)."""

    splits: tuple[int, ...]
    size: int
    host: str = ""


def group_splits(
    sizes: Sequence[int],
    cores: int,
    *,
    paths: Sequence[str] = (),
    hosts: Sequence[str] = (),
    splits_per_task: int | None = None,
    max_splits_per_task: int = 8,
) -> list[TaskGroup]:
    """Group splits into tasks.

    With `hosts` every split has a preferred host that only changes when hosts come or go, so that
    caches stay useful. `splits_per_task` forces the size of a group.
    """
    if not sizes:
        return []
    homes = [preferred_host(path, hosts) for path in paths] if hosts else [""] * len(sizes)
    by_home: dict[str, list[int]] = {}
    for position, home in enumerate(homes):
        by_home.setdefault(home, []).append(position)
    groups: list[TaskGroup] = []
    for home, positions in sorted(by_home.items()):
        share = max(1, cores * len(positions) // len(sizes))
        count = _task_count(sizes, positions, share, splits_per_task, max_splits_per_task)
        groups.extend(_balance(sizes, positions, count, home))
    # the longest first: what remains at the end is short
    return sorted(groups, key=lambda group: -group.size)


def _task_count(
    sizes: Sequence[int], positions: Sequence[int], cores: int, forced: int | None, most: int
) -> int:
    total = len(positions)
    if forced is not None:
        return -(-total // forced)
    useful = max(1, -(-sum(sizes[p] for p in positions) // _SMALL_TASK_BYTES))
    wanted = min(total, cores * _WAVES, max(useful, min(total, cores)))
    return max(wanted, -(-total // most))


def _balance(
    sizes: Sequence[int], positions: Sequence[int], count: int, home: str
) -> list[TaskGroup]:
    """Largest split first, each to the task with the least work so far."""
    members: list[list[int]] = [[] for _ in range(count)]
    loads = [(0, 0, task) for task in range(count)]
    for position in sorted(positions, key=lambda p: (-sizes[p], p)):
        load, number, task = heapq.heappop(loads)
        members[task].append(position)
        heapq.heappush(loads, (load + sizes[position], number + 1, task))
    return [
        TaskGroup(tuple(sorted(group)), sum(sizes[p] for p in group), home)
        for group in members
        if group
    ]


def preferred_host(path: str, hosts: Sequence[str]) -> str:
    """The preferred host of a split: rendezvous hashing, the same on every planner."""
    return max(hosts, key=lambda host: (_score(path, host), host), default="")


def _score(path: str, host: str) -> bytes:
    return hashlib.blake2b(f"{host}\0{path}".encode(), digest_size=8).digest()
