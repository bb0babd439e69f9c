"""Convert Spark's exceptions back to IndexTables errors, by the code in their text."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from indextables.errors import IndexTablesError, from_text

if TYPE_CHECKING:
    from collections.abc import Iterator


def original(failure: BaseException) -> IndexTablesError | None:
    """Return the IndexTables error inside a Spark exception, or None."""
    if isinstance(failure, IndexTablesError):
        return failure
    return from_text(str(failure))


@contextlib.contextmanager
def translate_errors() -> Iterator[None]:
    """Raise our own class for what Spark raises inside this block."""
    try:
        yield
    except Exception as failure:
        found = original(failure)
        if found is None:
            raise
        raise found from failure
