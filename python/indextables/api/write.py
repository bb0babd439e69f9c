"""Write Arrow tables in plain Python, without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from indextables.api.arguments import Names, Path, names_of, options_of, path_of
from indextables.api.local import Table
from indextables.api.local import open as open_local
from indextables.commands.after_write import maintain_after_write
from indextables.config.option import PREFIX
from indextables.config.settings import resolve
from indextables.errors import error
from indextables.expr.where import parse_where
from indextables.log.open_logs import log_at
from indextables.read.table import OpenTable
from indextables.save.table import run_write_table
from indextables.sql.local import LocalContext
from indextables.storage import find_location

MODES = ("append", "overwrite", "errorifexists", "ignore")


def write(
    data: Any,
    path: Path,
    mode: str = "append",
    partition_by: Names = (),
    options: Mapping[str, str] | None = None,
) -> Table:
    """Write rows without Spark, as one commit; create the table if needed.

    `data` is an Arrow table or anything that converts to one: a pandas or Polars DataFrame, a
    DuckDB relation, a dictionary of columns, a list of dictionaries. `mode` is append, overwrite,
    errorifexists or ignore; `options` are those of Spark's writer, such as
    `indexing.typemap.message` or `replaceWhere`.
    Returns the table after the commit.
    """
    if mode not in MODES:
        raise error("SAVE_MODE", mode=mode, allowed=", ".join(MODES))
    given, by = options_of(options), names_of(partition_by, "partition_by")
    settings = resolve(given)
    log = log_at(find_location(path_of(path), settings), settings)
    done = run_write_table(log, _rows(data), mode, by, given, parse=parse_where)
    if done is not None:
        settings = resolve(given, table=done.snapshot.metadata.configuration)
        written = OpenTable(log, done.snapshot, settings)
        named = {key if key.startswith(PREFIX) else PREFIX + key: v for key, v in given.items()}
        maintain_after_write(written, LocalContext(named))
    return open_local(path, options=given)


def _rows(data: Any) -> pa.Table:
    if isinstance(data, pa.Table):
        return data
    try:
        if isinstance(data, list) and data and all(isinstance(row, Mapping) for row in data):
            return pa.Table.from_pylist(data)
        return pa.table(data)
    except (TypeError, ValueError, OverflowError) as problem:
        raise error("DATA_INVALID", detail=str(problem)) from problem
