"""The effective settings of one operation, resolved once at the entry point."""

from __future__ import annotations

import difflib
import logging
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from indextables.config.option import LEGACY_PREFIXES, PREFIX, Option, Scope, Status
from indextables.config.registry import OPTIONS
from indextables.config.secret import REDACTED, Secret
from indextables.errors import error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

T = TypeVar("T")
# keys of Hadoop's file systems: users who set them for Spark need not set them again
_HADOOP = ("fs.s3a.", "fs.azure.", "fs.gs.", "fs.defaultfs")
_HDFS = ("dfs.", "hadoop.security.authentication", "hadoop.rpc.protection")
_log = logging.getLogger("indextables.config")
_BY_KEY = {
    name.lower(): option
    for option in OPTIONS
    if not option.per_field
    for name in (option.key, *option.aliases)
}
_PER_FIELD = [
    (name.lower() + ".", option)
    for option in OPTIONS
    if option.per_field
    for name in (option.key, *option.aliases)
]
_warned: set[str] = set()
# similarity above which an unknown name is treated as a misspelled key
_LIKELY = 0.6
_LIKE_OURS = 0.8


@dataclass(frozen=True, repr=False)
class Settings:
    """Typed values by option. `fields` holds the per-field keys: option key -> column -> value.

    `hadoop` holds the lower-cased keys of Hadoop's object stores; any of them may be a credential.
    `hdfs` holds the keys of HDFS as they are written: names of services are part of them.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    sources: Mapping[str, Scope] = field(default_factory=dict)
    hadoop: Mapping[str, Secret] = field(default_factory=dict)
    hdfs: Mapping[str, Secret] = field(default_factory=dict)

    def get(self, option: Option[T]) -> T:
        """Return the value of a key, or its default."""
        found: T = self.values.get(option.key, option.default)
        return found

    def is_set(self, option: Option[T]) -> bool:
        """Whether the key was set."""
        return option.key in self.values

    def per_field(self, option: Option[T]) -> Mapping[str, T]:
        """Return the values of a per-field key by lower-cased column name."""
        return cast("Mapping[str, T]", self.fields.get(option.key, {}))

    def over(self, table: Mapping[str, str]) -> Settings:
        """The effective settings for a table: these, then its own properties."""
        return Settings({**resolve(table=table).values, **self.values}, self.fields)

    def describe(self) -> list[tuple[str, str, str]]:
        """Return key, value and source of every key that was set, with secrets redacted."""
        rows = []
        for option in OPTIONS:
            source = str(self.sources.get(option.key, ""))
            given = {option.full_key: self.values[option.key]} if option.key in self.values else {}
            for column, value in sorted(self.fields.get(option.key, {}).items()):
                given[f"{option.full_key}.{column}"] = value
            for key, value in given.items():
                rows.append((key, REDACTED if option.secret else str(value), source))
        return rows

    def __hash__(self) -> int:
        """Hash only the keys that are set; equality also compares their values."""
        return hash(frozenset(self.values))

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={value}" for key, value, _ in self.describe())
        return f"Settings({shown})"


def resolve(
    options: Mapping[str, str] | None = None,
    session: Mapping[str, str] | None = None,
    table: Mapping[str, str] | None = None,
) -> Settings:
    """Resolve keys set in several scopes; the highest precedence wins.

    Options and table properties may omit the prefix; keys are matched case-insensitively, because
    Spark lower-cases options.
    """
    values: dict[str, Any] = {}
    fields: dict[str, dict[str, Any]] = {}
    sources: dict[str, Scope] = {}
    for scope, given in (
        (Scope.TABLE, table or {}),
        (Scope.SESSION, session or {}),
        (Scope.OPTION, options or {}),
    ):
        for option, column, value in _parse_all(given, scope):
            sources[option.key] = scope
            if column is None:
                values[option.key] = value
            else:
                fields.setdefault(option.key, {})[column] = value
    hadoop = _hadoop(session or {}) | _hadoop(options or {})
    return Settings(
        values,
        fields,
        sources,
        {key.lower(): value for key, value in hadoop.items() if key.lower().startswith(_HADOOP)},
        {key: value for key, value in hadoop.items() if is_hdfs_key(key)},
    )


def is_hdfs_key(key: str) -> bool:
    """Whether a key of Hadoop is one of HDFS that its client may need; passwords are not."""
    return key.startswith(_HDFS) and "password" not in key


def _hadoop(given: Mapping[str, str]) -> dict[str, Secret]:
    """The keys of Hadoop, without the prefix that they have in Spark."""
    prefix = "spark.hadoop."
    return {
        key[len(prefix) :] if key.lower().startswith(prefix) else key: Secret(str(text))
        for key, text in given.items()
    }


def _parse_all(
    given: Mapping[str, str], scope: Scope
) -> Iterable[tuple[Option[Any], str | None, Any]]:
    seen: dict[tuple[str, str | None], Any] = {}
    for key, text in given.items():
        if text is None:
            continue
        found = _recognise(key, scope)
        if found is None:
            continue
        option, suffix = found
        for column, value in _values(option, suffix, key, str(text)):
            place = (option.key, column)
            if place in seen and seen[place] != value:
                raise _conflict(option, column, seen[place], value)
            seen[place] = value
            yield option, column, value


def _conflict(option: Option[Any], column: str | None, one: Any, other: Any) -> Exception:
    key = option.full_key if column is None else f"{option.full_key}.{column}"
    values = "two secrets" if option.secret else f"`{one}` and `{other}`"
    return error("CONFIG_CONFLICT", key=key, values=values)


def _recognise(key: str, scope: Scope) -> tuple[Option[Any], str | None] | None:
    """Return the option and column that a key means in this scope, or None if it is not ours."""
    name, prefixed = _without_prefix(key.lower())
    option, suffix = _find(name)
    if option is None:
        _warn_unknown(key, name, scope if not prefixed else None)
        return None
    if not prefixed and scope is Scope.SESSION:
        return None
    if scope not in option.scopes:
        if prefixed or scope is Scope.OPTION:
            places = " or ".join(option.scopes)
            _warn_once(key, f"`{key}` has no effect as a {scope}: set it as {places}")
        return None
    if option.status is not Status.USED:
        _warn_once(key, f"`{key}` is {option.status}: {option.doc}")
    return option, suffix


def _without_prefix(lowered: str) -> tuple[str, bool]:
    for prefix in (PREFIX, *LEGACY_PREFIXES):
        if lowered.startswith(prefix):
            return lowered[len(prefix) :], True
    return lowered, False


def _find(name: str) -> tuple[Option[Any] | None, str | None]:
    exact = _BY_KEY.get(name)
    if exact is not None:
        return exact, None
    for start, option in _PER_FIELD:
        if name.startswith(start) and len(name) > len(start):
            return option, name[len(start) :]
    return None, None


def _values(
    option: Option[Any], suffix: str | None, key: str, text: str
) -> Iterable[tuple[str | None, Any]]:
    if suffix is None:
        return [(None, _parse(option, key, text))]
    try:
        return [(suffix, option.parser.parse(text))]
    except (ValueError, OverflowError):
        pass
    try:
        shared = option.parser.parse(suffix)
    except (ValueError, OverflowError):
        return [(suffix, _parse(option, key, text))]
    return [(column.strip().lower(), shared) for column in text.split(",") if column.strip()]


def _parse(option: Option[T], key: str, text: str) -> T:
    try:
        return option.parser.parse(text)
    except (ValueError, OverflowError):
        shown = REDACTED if option.secret else text
        raise error(
            "CONFIG_BAD_VALUE", key=key, value=shown, allowed=f"allowed is {option.parser.allowed}"
        ) from None


def _warn_unknown(key: str, name: str, bare: Scope | None) -> None:
    """Report an unknown key.

    Without our prefix it may belong to another library, so an option is reported only if it
    looks like one of our keys, and a session key or table property not at all.
    """
    if bare in (Scope.SESSION, Scope.TABLE):
        return
    near = _nearest(name, _LIKE_OURS if bare is Scope.OPTION else _LIKELY)
    if near is None and bare is not None:
        return
    nearest = f"; did you mean `{near}`?" if near else ""
    _warn_once(key, f"unknown configuration key `{key}`{nearest}")


@lru_cache(maxsize=256)
def _nearest(name: str, likeness: float) -> str | None:
    """Return the most similar known key, with its column suffix if there is one.

    Every call of a query has the same options, and comparing them with all keys takes longer than
    the rest of reading the settings.
    """
    for start, option in _PER_FIELD:
        tail = start.partition(".")[2]
        if tail and name.startswith(tail) and len(name) > len(tail):
            return f"{option.full_key}.{name[len(tail) :]}"
    near = difflib.get_close_matches(name, _BY_KEY, n=1, cutoff=likeness)
    if near:
        return _BY_KEY[near[0]].full_key
    head, _, column = name.rpartition(".")
    fields = {start.removesuffix("."): option for start, option in _PER_FIELD}
    near = difflib.get_close_matches(head, fields, n=1, cutoff=likeness) if head else []
    return f"{fields[near[0]].full_key}.{column}" if near else None


def _warn_once(key: str, text: str) -> None:
    if key not in _warned:
        _warned.add(key)
        _log.warning("%s", text)
