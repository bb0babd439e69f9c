"""IndexTables: full-text search tables for PySpark."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from indextables._native import __version__
    from indextables.api.changes import delete, update
    from indextables.api.local import open  # noqa: A004
    from indextables.api.table import IndexTable
    from indextables.api.write import write
    from indextables.plan.search import Snippet
    from indextables.spark.progress import progress
    from indextables.spark.session import configure, spark_conf

__all__ = [
    "IndexTable",
    "Snippet",
    "__version__",
    "configure",
    "delete",
    "open",
    "progress",
    "spark_conf",
    "update",
    "write",
]

# public names and their modules; imported on first use, so that `import indextables` stays light
_LAZY = {
    "IndexTable": "indextables.api.table",
    "Snippet": "indextables.plan.search",
    "__version__": "indextables._native",
    "configure": "indextables.spark.session",
    "delete": "indextables.api.changes",
    "open": "indextables.api.local",
    "progress": "indextables.spark.progress",
    "spark_conf": "indextables.spark.session",
    "update": "indextables.api.changes",
    "write": "indextables.api.write",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(name)
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return __all__
