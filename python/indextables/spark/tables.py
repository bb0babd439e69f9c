"""Operations on whole tables: open, create, change, drop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from indextables.spark.request import Request


def load(request: Request) -> dict[str, Any]:
    """What Spark must know of a table before it plans."""
    return {"exists": False, "path": request.path}
