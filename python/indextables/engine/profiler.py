"""Time spent in the engine, by section, in this process."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

from indextables import _native


@dataclass(frozen=True)
class Measured:
    """The calls and time of one section."""

    section: str
    category: str
    calls: int
    total_ns: int
    min_ns: int
    max_ns: int


def enable_profiler(*, on: bool) -> None:
    """Start or stop profiling the engine."""
    _native.enable_profiler(on)


def profile_sections(*, reset: bool = False) -> list[Measured]:
    """The sections that were entered; `reset` sets them to zero."""
    return [Measured(**value) for value in _native.profile_sections(reset)]


def add_up(parts: Iterable[Iterable[Measured]]) -> list[Measured]:
    """The sums of the sections of several processes."""
    by_name: dict[str, list[Measured]] = {}
    for part in parts:
        for measured in part:
            by_name.setdefault(measured.section, []).append(measured)
    return [reduce(_both, found) for found in by_name.values()]


def _both(one: Measured, other: Measured) -> Measured:
    return Measured(
        one.section,
        one.category,
        one.calls + other.calls,
        one.total_ns + other.total_ns,
        min(one.min_ns, other.min_ns),
        max(one.max_ns, other.max_ns),
    )
