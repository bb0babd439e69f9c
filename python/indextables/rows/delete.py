"""Delete the rows that a scan finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.log.transaction import Operation
from indextables.read.scan import find_rows
from indextables.rows.commit_rows import RowChange, commit_rows

if TYPE_CHECKING:
    from indextables.read.scan import Scan


@dataclass(frozen=True)
class Changed:
    """The number of rows that a change touched, and its version; None if it touched none."""

    rows: int
    version: int | None = None


def delete_rows(scan: Scan) -> Changed:
    """Delete the rows of a scan whose predicates the index answers exactly."""
    deleted = find_rows(scan)
    if not deleted:
        return Changed(0)
    table = scan.table
    change = RowChange(Operation.DELETE, deleted)
    done = commit_rows(table.log, change, table.snapshot, table.settings)
    return Changed(sum(len(rows) for rows in deleted.values()), done.version)
