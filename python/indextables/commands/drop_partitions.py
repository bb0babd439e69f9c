"""DROP PARTITIONS: take whole partitions out of a table. Their files stay until PURGE."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

from indextables.commands.partition_choice import choose, parse_choice
from indextables.errors import InvalidError
from indextables.log import operations

if TYPE_CHECKING:
    import pyarrow as pa

    from indextables.log import Snapshot
    from indextables.read.table import OpenTable, Row
    from indextables.runtime.context import Context


def run_drop_partitions(table: OpenTable, where: str, context: Context) -> list[Row]:
    """Remove the partitions of a predicate, as they are when the commit happens."""
    try:
        predicate = parse_choice(where, table.snapshot, context)
        chosen = choose(table.snapshot.files(), predicate, table.snapshot, where)
    except InvalidError as problem:
        return [_row(table, "error", None, problem.message)]
    if not chosen.num_rows:
        return [_row(table, "no_action", None, "no partition matches")]

    def matching(newest: Snapshot) -> pa.Table:
        nonlocal chosen
        chosen = choose(newest.files(), predicate, newest, where)
        return chosen

    table.log.commit(
        operations.drop_matching(table.snapshot, matching, parameters={"predicate": where})
    )
    return [_row(table, "success", chosen, "files are deleted by PURGE INDEXTABLE")]


def _row(table: OpenTable, status: str, files: pa.Table | None, message: str) -> Row:
    partitions = set()
    if files is not None:
        partitions = {
            tuple(sorted(values or ())) for values in files["partitionValues"].to_pylist()
        }
    return {
        "table_path": table.path,
        "status": status,
        "partitions_dropped": len(partitions),
        "splits_removed": 0 if files is None else files.num_rows,
        "total_size_bytes": 0 if files is None else pc.sum(files["size"]).as_py() or 0,
        "message": message,
    }
