"""The libraries that read other table formats: extras, loaded when a companion needs them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from indextables.errors import IndexTablesError, error


def load_library(name: str, extra: str) -> Any:
    """A module of an extra of this package."""
    try:
        return import_module(name)
    except ImportError as missing:
        package = name.split(".", 1)[0]
        raise error(
            "COMPANION_LIBRARY", library=package, extra=extra, detail=str(missing)
        ) from None


@contextmanager
def reading(table_format: str, path: str) -> Iterator[None]:
    """Convert the exceptions of a library to an error with a code and the table."""
    try:
        yield
    except IndexTablesError:
        raise
    except Exception as failure:  # noqa: BLE001 (libraries raise what they like)
        detail = first_line(failure)
        raise error("COMPANION_SOURCE", format=table_format, path=path, detail=detail) from None


def first_line(failure: Exception) -> str:
    """The first line of an exception's message."""
    return str(failure).split("\n", 1)[0] or type(failure).__name__
