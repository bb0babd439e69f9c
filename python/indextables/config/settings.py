"""The settings in force for one operation, resolved once at a door and then only read."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from indextables.config.option import PREFIX, Option, Scope
from indextables.config.registry import OPTIONS
from indextables.errors import error

T = TypeVar("T")
_log = logging.getLogger("indextables.config")
_BY_KEY = {name.lower(): option for option in OPTIONS for name in (option.key, *option.aliases)}
_PER_FIELD = [option for option in OPTIONS if option.per_field]
_warned: set[str] = set()


@dataclass(frozen=True)
class Settings:
    """Typed values by option. `fields` holds the per-field keys: option key -> column -> value."""

    values: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def get(self, option: Option[T]) -> T:
        """The value of a key, or its default."""
        return cast("T", self.values.get(option.key, option.default))

    def is_set(self, option: Option[T]) -> bool:
        """Whether somebody gave the key a value."""
        return option.key in self.values

    def per_field(self, option: Option[T]) -> Mapping[str, T]:
        """The values of a key that ends in a column name, by lower-cased column name."""
        return cast("Mapping[str, T]", self.fields.get(option.key, {}))


def resolve(
    options: Mapping[str, str] | None = None,
    session: Mapping[str, str] | None = None,
    table: Mapping[str, str] | None = None,
) -> Settings:
    """Resolve keys given at several places; the nearest one wins.

    Reader and writer options may leave out the prefix; keys are matched in any case.
    """
    values: dict[str, Any] = {}
    fields: dict[str, dict[str, Any]] = {}
    for scope, given in (
        (Scope.TABLE, table or {}),
        (Scope.SESSION, session or {}),
        (Scope.OPTION, options or {}),
    ):
        for option, column, value in _parse_all(given, scope):
            if column is None:
                values[option.key] = value
            else:
                fields.setdefault(option.key, {})[column] = value
    return Settings(values, fields)


def _parse_all(
    given: Mapping[str, str], scope: Scope
) -> Iterable[tuple[Option[Any], str | None, Any]]:
    seen: dict[tuple[str, str | None], str] = {}
    for key, text in given.items():
        lowered = key.lower()
        if lowered.startswith(PREFIX):
            name = lowered[len(PREFIX) :]
        elif scope is Scope.OPTION:
            name = lowered
        else:
            continue
        option, column = _find(name)
        if option is None:
            if lowered.startswith(PREFIX):
                _warn_unknown(key)
            continue
        place = (option.key, column)
        if place in seen and seen[place] != text:
            raise error(
                "CONFIG_CONFLICT", key=option.full_key, values=f"`{seen[place]}` and `{text}`"
            )
        seen[place] = text
        yield option, column, _parse(option, key, text)


def _find(name: str) -> tuple[Option[Any] | None, str | None]:
    exact = _BY_KEY.get(name)
    if exact is not None and not exact.per_field:
        return exact, None
    for option in _PER_FIELD:
        start = option.key.lower() + "."
        if name.startswith(start):
            return option, name[len(start) :]
    return None, None


def _parse(option: Option[T], key: str, text: str) -> T:
    try:
        return option.parser.parse(str(text))
    except (ValueError, OverflowError):
        shown = "***" if option.secret else text
        raise error(
            "CONFIG_BAD_VALUE", key=key, value=shown, allowed=f"allowed is {option.parser.allowed}"
        ) from None


def _warn_unknown(key: str) -> None:
    if key in _warned:
        return
    _warned.add(key)
    near = difflib.get_close_matches(key[len(PREFIX) :].lower(), _BY_KEY, n=1)
    nearest = f"; did you mean `{PREFIX}{_BY_KEY[near[0]].key}`?" if near else ""
    _log.warning("unknown configuration key `%s`%s", key, nearest)
