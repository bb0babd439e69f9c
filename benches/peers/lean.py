"""This product through `indextables.open`, in its lean layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benches.peers import ours

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

FIRST = ours.FIRST


def build(rows: pa.Table, folder: Path) -> dict[str, Callable[[], object]]:
    """Write a table and query it."""
    return ours.build(rows, folder, "lean")


def change(rows: pa.Table, folder: Path) -> dict[str, Callable[[pa.Table, str], int]]:
    """Write tables and change them."""
    return ours.change(rows, folder, "lean")
