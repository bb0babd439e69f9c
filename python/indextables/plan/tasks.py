"""Assign splits to tasks: even work, enough tasks for all cores, on hosts that cached them."""

from __future__ import annotations

import hashlib
import heapq
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

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


@dataclass(frozen=True)
class _Limits:
    """Splits per task, forced and at most; tasks at least, however small the splits are."""

    forced: int | None
    most: int
    least: int


def group_splits(
    sizes: Sequence[int],
    cores: int,
    *,
    paths: Sequence[str] = (),
    hosts: Sequence[str] = (),
    keys: Sequence[Hashable] = (),
    splits_per_task: int | None = None,
    max_splits_per_task: int = 8,
) -> list[TaskGroup]:
    """Group splits into tasks.

    With `hosts` every split has a preferred host that only changes when hosts come or go, so that
    caches stay useful. With `keys` a task has splits of one key only. `splits_per_task` forces the
    size of a group.
    """
    if not sizes:
        return []
    if keys:
        limits = _Limits(splits_per_task, max_splits_per_task, least=1)
        found = _group_by_key(sizes, cores, keys, limits)
        return [replace(group, host=_host_of(group, sizes, paths, hosts)) for group in found]
    homes = [preferred_host(path, hosts) for path in paths] if hosts else [""] * len(sizes)
    by_home: dict[str, list[int]] = {}
    for position, home in enumerate(homes):
        by_home.setdefault(home, []).append(position)
    groups: list[TaskGroup] = []
    for home, positions in sorted(by_home.items()):
        share = max(1, cores * len(positions) // len(sizes))
        limits = _Limits(splits_per_task, max_splits_per_task, least=share)
        count = _task_count(sizes, positions, share, limits)
        groups.extend(_balance(sizes, positions, count, home))
    # the longest first: what remains at the end is short
    return sorted(groups, key=lambda group: -group.size)


def _group_by_key(
    sizes: Sequence[int], cores: int, keys: Sequence[Hashable], limits: _Limits
) -> list[TaskGroup]:
    """Tasks whose number per key depends on the splits of that key alone.

    A runtime filter leaves fewer splits, and Spark then accepts no more tasks of a key than before.
    """
    by_key: dict[Hashable, list[int]] = {}
    for position, key in enumerate(keys):
        by_key.setdefault(key, []).append(position)
    return [
        group
        for positions in by_key.values()
        for group in _balance(sizes, positions, _task_count(sizes, positions, cores, limits), "")
    ]


def _host_of(
    group: TaskGroup, sizes: Sequence[int], paths: Sequence[str], hosts: Sequence[str]
) -> str:
    """The host that caches the largest split of a task."""
    largest = max(group.splits, key=lambda position: sizes[position])
    return preferred_host(paths[largest], hosts) if hosts else ""


def _task_count(sizes: Sequence[int], positions: Sequence[int], cores: int, limits: _Limits) -> int:
    total = len(positions)
    if limits.forced is not None:
        return -(-total // limits.forced)
    useful = max(1, -(-sum(sizes[p] for p in positions) // _SMALL_TASK_BYTES))
    wanted = min(total, cores * _WAVES, max(useful, limits.least))
    return max(wanted, -(-total // limits.most))


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
