"""IndexTables: full-text search tables for PySpark."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from indextables.spark.session import configure

__version__ = "0.1.0"
__all__ = ["__version__", "configure"]

# public names and where they live; imported on first use, so that `import indextables` stays light
_LAZY = {"configure": "indextables.spark.session"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(name)
    return getattr(import_module(_LAZY[name]), name)
