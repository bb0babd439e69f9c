"""The profiler: the time spent in each part of the engine, on all hosts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.commands.grammar import DESCRIBE, Command, Rule, columns
from indextables.commands.machine_stats import machine_stats
from indextables.runtime import handles
from indextables.runtime.process_stats import ProcessStats, total
from indextables.runtime.steps import Steps

if TYPE_CHECKING:
    from indextables.read.table import Row
    from indextables.runtime.context import Context
_SWITCH = columns("status string, host_count int, message string")
_SECTIONS = columns(
    "section string, category string, calls bigint, total_ms double, avg_us double, "
    "min_us double, max_us double"
)
_CACHES = columns("cache string, hits bigint, misses bigint, hit_rate double")


@dataclass(frozen=True)
class EnableProfiler(Command):
    """Start profiling the engine."""


@dataclass(frozen=True)
class DisableProfiler(Command):
    """Stop profiling the engine."""


@dataclass(frozen=True)
class DescribeProfiler(Command):
    """Show the profile."""


@dataclass(frozen=True)
class ResetProfiler(Command):
    """Show the profile and reset it."""


@dataclass(frozen=True)
class DescribeProfilerCache(Command):
    """Show hits and misses of the caches."""


@dataclass(frozen=True)
class ResetProfilerCache(Command):
    """Show hits and misses of the caches and reset them."""


def run_switch(command: EnableProfiler | DisableProfiler, context: Context) -> Steps[list[Row]]:
    """Start or stop profiling: here at once, in other processes with their next task."""
    on = isinstance(command, EnableProfiler)
    handles.profile_everywhere(context.app(), on=on)
    hosts = len((yield from machine_stats(context)))
    message = "profiling started" if on else "profiling stopped"
    return [{"status": "enabled" if on else "disabled", "host_count": hosts, "message": message}]


def run_sections(command: DescribeProfiler | ResetProfiler, context: Context) -> Steps[list[Row]]:
    """Return the profile of all hosts, most time first; reset it if requested."""
    reset = isinstance(command, ResetProfiler)
    answers = yield from machine_stats(context, "sections" if reset else None)
    measured = total(ProcessStats.from_json(each.result) for each in answers)
    return [
        {
            "section": m.section,
            "category": m.category,
            "calls": m.calls,
            "total_ms": m.total_ns / 1e6,
            "avg_us": m.total_ns / 1e3 / m.calls,
            "min_us": m.min_ns / 1e3,
            "max_us": m.max_ns / 1e3,
        }
        for m in sorted(measured.sections, key=lambda m: -m.total_ns)
    ]


def run_caches(
    command: DescribeProfilerCache | ResetProfilerCache, context: Context
) -> Steps[list[Row]]:
    """Return hits and misses of the caches on all hosts; reset them if requested."""
    reset = isinstance(command, ResetProfilerCache)
    answers = yield from machine_stats(context, "caches" if reset else None)
    found = total(ProcessStats.from_json(each.result) for each in answers).cache
    counts = {
        "split_handles": handles.counts(reset=reset),
        "memory": (found.memory_hits, found.memory_misses),
        "disk": (found.disk_hits, found.disk_misses),
    }
    return [
        {
            "cache": name,
            "hits": hits,
            "misses": misses,
            "hit_rate": hits / (hits + misses) if hits + misses else None,
        }
        for name, (hits, misses) in counts.items()
    ]


RULES = (
    Rule(EnableProfiler, "ENABLE IX PROFILER", (), _SWITCH, run_switch),
    Rule(DisableProfiler, "DISABLE IX PROFILER", (), _SWITCH, run_switch),
    Rule(DescribeProfiler, f"{DESCRIBE} PROFILER", (), _SECTIONS, run_sections),
    Rule(ResetProfiler, "RESET IX PROFILER", (), _SECTIONS, run_sections),
    Rule(DescribeProfilerCache, f"{DESCRIBE} PROFILER CACHE", (), _CACHES, run_caches),
    Rule(ResetProfilerCache, "RESET IX PROFILER CACHE", (), _CACHES, run_caches),
)
