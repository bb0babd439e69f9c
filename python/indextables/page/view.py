"""The state of a search page, to and from its URL. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

SCORE = "_score"
MOST_PAGES = 50
_VALUE, _NULL, _LOW, _HIGH = "f.", "null.", "min.", "max."
_LONGEST = 4_000


@dataclass(frozen=True)
class Narrowing:
    """The filter of a column: any of these values (None is null), and a range [low, high)."""

    values: tuple[str | None, ...] = ()
    low: str = ""
    high: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether it selects all rows."""
        return not (self.values or self.low or self.high)


@dataclass(frozen=True)
class View:
    """A search: query, filters, time range, order, page, and version.

    `time` is the column of the histogram; `start` and `end` are its range [start, end).
    """

    query: str = ""
    narrowed: Mapping[str, Narrowing] = field(default_factory=dict)
    time: str = ""
    start: str = ""
    end: str = ""
    sort: str = ""
    ascending: bool = False
    page: int = 1
    version: int | None = None

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> View:
        """The view of a URL; unknown parameters are ignored."""
        plain: dict[str, str] = {}
        narrowed: dict[str, Narrowing] = {}
        for key, given in pairs:
            value = given[:_LONGEST]
            found = _narrowing(key, value)
            if found is None:
                plain[key] = value
                continue
            name, more = found
            known = narrowed.get(name, Narrowing())
            narrowed[name] = Narrowing(
                tuple(dict.fromkeys((*known.values, *more.values))),
                more.low or known.low,
                more.high or known.high,
            )
        return cls(
            query=plain.get("q", "").strip(),
            narrowed={name: each for name, each in narrowed.items() if not each.is_empty},
            time=plain.get("time", ""),
            start=plain.get("from", ""),
            end=plain.get("to", ""),
            sort=plain.get("sort", ""),
            ascending=plain.get("dir") == "asc",
            page=min(max(_whole(plain.get("page"), 1), 1), MOST_PAGES),
            version=_version(plain.get("version")),
        )

    def pairs(self) -> list[tuple[str, str]]:
        """The query parameters of this view."""
        found = [
            ("q", self.query),
            ("time", self.time),
            ("from", self.start),
            ("to", self.end),
            ("sort", self.sort),
            ("dir", "asc" if self.sort and self.ascending else ""),
            ("page", str(self.page) if self.page > 1 else ""),
            ("version", "" if self.version is None else str(self.version)),
        ]
        for name, each in self.narrowed.items():
            found += [
                (_NULL + name, "1") if value is None else (_VALUE + name, value)
                for value in each.values
            ]
            found += [(_LOW + name, each.low), (_HIGH + name, each.high)]
        # an empty value is a value to search for, not a missing one
        return [(key, value) for key, value in found if value or key.startswith(_VALUE)]

    @property
    def address(self) -> str:
        """The query string of this view."""
        return "?" + urlencode(self.pairs())

    def first_page(self, **changes: object) -> View:
        """The view with changes, at its first page."""
        return replace(self, page=1, **changes)  # type: ignore[arg-type]

    def toggled(self, column: str, value: str | None) -> View:
        """The view with a value of a column selected or deselected."""
        known = self.narrowed.get(column, Narrowing())
        values = tuple(v for v in known.values if v != value)
        if len(values) == len(known.values):
            values = (*values, value)
        return self.with_narrowing(column, replace(known, values=values))

    def with_narrowing(self, column: str, narrowing: Narrowing) -> View:
        """The view with another filter of a column, or none."""
        others = {name: each for name, each in self.narrowed.items() if name != column}
        if not narrowing.is_empty:
            others[column] = narrowing
        return self.first_page(narrowed=others)

    def without(self, column: str) -> View:
        """The view without the filter of a column."""
        return self.with_narrowing(column, Narrowing())


def _narrowing(key: str, value: str) -> tuple[str, Narrowing] | None:
    if key.startswith(_VALUE):
        return key.removeprefix(_VALUE), Narrowing(values=(value,))
    if key.startswith(_NULL):
        return key.removeprefix(_NULL), Narrowing(values=(None,))
    if key.startswith(_LOW):
        return key.removeprefix(_LOW), Narrowing(low=value.strip())
    if key.startswith(_HIGH):
        return key.removeprefix(_HIGH), Narrowing(high=value.strip())
    return None


def _version(text: str | None) -> int | None:
    found = _whole(text, -1)
    return None if found < 0 else found


def _whole(text: str | None, otherwise: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else otherwise  # noqa: PLR2004
