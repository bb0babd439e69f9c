"""Write Arrow tables in plain Python, without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

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
    path: str,
    mode: str = "append",
    partition_by: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
) -> Table:
    """Write rows without Spark, as one commit; create the table if needed.

    `data` is an Arrow table or anything that converts to one: a pandas or Polars DataFrame, a
    DuckDB relation, a dictionary of columns. `mode` is append, overwrite, errorifexists or ignore;
    `options` are those of Spark's writer, such as `indexing.typemap.message` or `replaceWhere`.
    Returns the table after the commit.
    """
    if mode not in MODES:
        raise error("SAVE_MODE", mode=mode, allowed=", ".join(MODES))
    settings = resolve(options or {})
    log = log_at(find_location(path, settings), settings)
    given = options or {}
    rows = data if isinstance(data, pa.Table) else pa.table(data)
    done = run_write_table(log, rows, mode, partition_by, given, parse=parse_where)
    if done is not None:
        settings = resolve(given, table=done.snapshot.metadata.configuration)
        written = OpenTable(log, done.snapshot, settings)
        named = {key if key.startswith(PREFIX) else PREFIX + key: v for key, v in given.items()}
        maintain_after_write(written, LocalContext(named))
    return open_local(path, options=options)
