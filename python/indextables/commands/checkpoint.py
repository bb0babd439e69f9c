"""CHECKPOINT and COMPACT: write the state of the newest version, so that readers start there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indextables.read.table import OpenTable, Row

_FACTS = 2  # protocol and metadata


def run_checkpoint(table: OpenTable, *, compact: bool) -> list[Row]:
    """Write the state; COMPACT writes it anew when the one there holds removed entries."""
    done = table.log.checkpoint(compact="asked for" if compact else None)
    return [
        {
            "table_path": table.path,
            "status": "SUCCESS",
            "checkpoint_version": done.version,
            "num_actions": done.num_files + _FACTS,
            "num_files": done.num_files,
            "protocol_version": table.log.snapshot().protocol.min_reader_version,
            "is_multi_part": done.parts is not None,
        }
    ]
