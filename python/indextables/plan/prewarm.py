"""What prewarming loads and where: a pure plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from indextables.errors import error
from indextables.plan.tasks import preferred_host

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

T = TypeVar("T")
_ALIASES = {
    "TERM": ("TERM_DICT", "TERM_DICTIONARY"),
    "FASTFIELD": ("FAST_FIELD",),
    "POSTINGS": ("POSTING_LISTS",),
    "POSITIONS": ("POSITION_LISTS",),
    "FIELDNORM": ("FIELD_NORM",),
    "STORE": ("DOC_STORE",),
    "PARQUET_FAST": ("PARQUET_FAST_FIELDS",),
    "PARQUET_COLS": ("PARQUET_COLUMNS",),
}
SEGMENTS = {alias: name for name, others in _ALIASES.items() for alias in (name, *others)}
# parts of source files of companion tables, which splits do not have
_OUTSIDE = ("PARQUET_FAST", "PARQUET_COLS")


@dataclass(frozen=True)
class Parts:
    """Which parts of which fields; no field means all. Fields the table lacks are skipped."""

    segments: tuple[str, ...]
    fields: tuple[str, ...]
    skipped: tuple[str, ...] = ()

    @property
    def in_splits(self) -> tuple[str, ...]:
        """The segments that are inside splits."""
        return tuple(name for name in self.segments if name not in _OUTSIDE)

    def in_source(self, fields: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
        """The columns to load from the source files of a companion that is indexed like this.

        PARQUET_COLS loads all columns, PARQUET_FAST those that could have a columnar copy in
        splits and have none: not text, which is only searched and shown.
        """
        every, fast = (name in self.segments for name in ("PARQUET_COLS", "PARQUET_FAST"))
        return tuple(
            field["name"]
            for field in fields
            if (every or (fast and not field["fast"] and field["role"] != "text"))
            and (not self.fields or field["name"] in self.fields)
        )


def plan_parts(
    segments: tuple[str, ...],
    fields: tuple[str, ...],
    columns: Sequence[str],
    *,
    fail_on_missing: bool,
) -> Parts:
    """The parts by their canonical names, and the fields that the table has."""
    unknown = [name for name in segments if name.upper() not in SEGMENTS]
    if unknown:
        known = ", ".join(sorted(SEGMENTS))
        raise error("PREWARM_SEGMENT_UNKNOWN", segments=", ".join(unknown), known=known)
    by_name = {name.lower(): name for name in columns}
    missing = [name for name in fields if name.lower() not in by_name]
    if missing and fail_on_missing:
        raise error(
            "PREWARM_FIELD_UNKNOWN", fields=", ".join(missing), available=", ".join(columns)
        )
    found = tuple(by_name[name.lower()] for name in fields if name.lower() in by_name)
    named = tuple(dict.fromkeys(SEGMENTS[name.upper()] for name in segments))
    return Parts(named, found, tuple(missing))


def assign_hosts(paths: Sequence[str], hosts: Sequence[str]) -> dict[str, list[int]]:
    """Assign positions of splits to hosts; the host is "" if there are none."""
    homes: dict[str, list[int]] = {}
    for position, path in enumerate(paths):
        homes.setdefault(preferred_host(path, hosts), []).append(position)
    return homes


def cut(items: Sequence[T], size: int) -> list[list[T]]:
    """The items in groups of one size; the last may be smaller."""
    return [list(items[at : at + size]) for at in range(0, len(items), size)]
