"""Default values of columns, as Spark stores them in a column's metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.errors import error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from indextables.model.types import Struct

# the SQL of the value for rows written without the column, and the value the column came with
CURRENT_DEFAULT, INITIAL_DEFAULT = "CURRENT_DEFAULT", "EXISTS_DEFAULT"


def require_no_defaults(schema: Struct, missing: Iterable[str]) -> None:
    """Reject data without columns whose default only Spark can compute."""
    for name in missing:
        field = schema.get(name)
        if field is not None and CURRENT_DEFAULT in field.metadata:
            raise error("DEFAULT_UNCOMPUTED", column=name, default=field.metadata[CURRENT_DEFAULT])
