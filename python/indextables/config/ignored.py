"""Keys of the existing implementation that have no effect here, read from `ignored.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indextables.config.option import (
    BOOLEAN,
    SIZE,
    TEXT,
    Option,
    Parser,
    Scope,
    Status,
    automatic,
    integer,
    number,
    optional,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_ALL = (Scope.OPTION, Scope.SESSION, Scope.TABLE)
_PLAIN: Mapping[str, Parser[Any]] = {"boolean": BOOLEAN, "size": SIZE, "text": TEXT}
_BOUNDED: Mapping[str, Callable[[Any], Parser[Any]]] = {"integer": integer, "number": number}


def _parser(entry: Mapping[str, Any]) -> Parser[Any]:
    kind = entry["type"]
    plain = _BOUNDED[kind](entry.get("least")) if kind in _BOUNDED else _PLAIN[kind]
    if entry.get("auto"):
        return automatic(plain)
    return plain if "default" in entry else optional(plain)


def _default(entry: Mapping[str, Any], parser: Parser[Any]) -> Any:
    default = entry.get("default")
    return parser.parse(default) if isinstance(default, str) else default


def _options(path: Path) -> Iterator[Option[Any]]:
    for block in tomllib.loads(path.read_text("utf-8"))["ignored"]:
        for key, entry in block["keys"].items():
            parser = _parser(entry)
            yield Option(
                key,
                parser,
                _default(entry, parser),
                block["reason"],
                block["group"],
                _ALL,
                status=Status.IGNORED,
            )


OPTIONS: tuple[Option[Any], ...] = tuple(_options(Path(__file__).with_name("ignored.toml")))
