"""IndexTables: full-text search tables for PySpark."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from indextables.api.local import open, write  # noqa: A004
    from indextables.api.table import IndexTable
    from indextables.spark.session import configure, spark_conf

__version__ = "0.1.0"
__all__ = ["IndexTable", "__version__", "configure", "open", "spark_conf", "write"]

# public names and where they live; imported on first use, so that `import indextables` stays light
_LAZY = {
    "IndexTable": "indextables.api.table",
    "configure": "indextables.spark.session",
    "open": "indextables.api.local",
    "spark_conf": "indextables.spark.session",
    "write": "indextables.api.local",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(name)
    return getattr(import_module(_LAZY[name]), name)
