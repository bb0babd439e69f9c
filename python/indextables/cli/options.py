"""Arguments and options shared by several commands."""

from __future__ import annotations

from typing import Annotated

import typer

TablePath = Annotated[
    str, typer.Argument(metavar="TABLE", help="Path or URL of the table, such as s3://b/t.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON: an array, one object per row.")]
Conf = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A configuration key; may be repeated."),
]
Version = Annotated[int | None, typer.Option("--version", help="Read this version.")]
Timestamp = Annotated[
    str | None, typer.Option("--timestamp", help="Read the version at this timestamp (UTC).")
]
Where = Annotated[str | None, typer.Option("--where", help="A predicate, as in SQL.")]


def pairs(given: list[str] | None, option: str) -> dict[str, str]:
    """Parse a repeated KEY=VALUE option."""
    found = {}
    for text in given or ():
        key, sign, value = text.partition("=")
        if not sign or not key:
            raise typer.BadParameter(f"`{text}` is not KEY=VALUE", param_hint=option)
        found[key.strip()] = value
    return found


def settings(conf: list[str] | None) -> dict[str, str]:
    """Return the settings given on the command line."""
    return pairs(conf, "--conf")
