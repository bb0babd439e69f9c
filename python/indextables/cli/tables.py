"""Commands that inspect a table; none needs Spark."""

from __future__ import annotations

from typing import Annotated

import pyarrow as pa
import typer

from indextables.api.local import open as open_table
from indextables.cli.options import AsJson, Conf, TablePath, Timestamp, Version, settings
from indextables.cli.output import failures, show
from indextables.commands.describe_detail import DescribeDetail
from indextables.commands.describe_history import DescribeHistory
from indextables.commands.describe_transaction_log import DescribeTransactionLog
from indextables.commands.grammar import Command
from indextables.commands.target import Target
from indextables.model import kernels as pc
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext

_LOG_COLUMNS = ("version", "action_type", "path", "size", "num_records", "log_file_path")
_HISTORY_COLUMNS = ("version", "timestamp", "operation", "operation_metrics", "engine_info")


def history(
    table: TablePath,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the newest.")] = None,
    conf: Conf = None,
    as_json: AsJson = False,
) -> None:
    """Show the history of a table, newest first."""
    answer = _answer(DescribeHistory(Target(table), limit), conf)
    show(answer, as_json=as_json, columns=_HISTORY_COLUMNS)


def detail(table: TablePath, conf: Conf = None, as_json: AsJson = False) -> None:
    """Show version, splits, rows, bytes and properties of a table."""
    show(_answer(DescribeDetail(Target(table)), conf), as_json=as_json, upright=True)


def log(
    table: TablePath,
    everything: Annotated[
        bool, typer.Option("--all", help="Start at version 0 instead of the latest checkpoint.")
    ] = False,
    conf: Conf = None,
    as_json: AsJson = False,
) -> None:
    """Show the actions in a table's transaction log."""
    answer = _answer(DescribeTransactionLog(Target(table), everything), conf)
    show(answer, as_json=as_json, columns=_LOG_COLUMNS)


def splits(
    table: TablePath,
    version: Version = None,
    timestamp: Timestamp = None,
    conf: Conf = None,
    as_json: AsJson = False,
) -> None:
    """Show the live splits of a table."""
    with failures():
        files = open_table(table, version, timestamp, settings(conf)).files()
    show(_split_facts(files), as_json=as_json)


def _split_facts(files: pa.Table) -> pa.Table:
    """Summarize a split for people; deleted rows are counted from its deletion vector."""
    deleted = pc.fill_null(pc.struct_field(files["deletionVector"], "cardinality"), 0)
    modified = files["modificationTime"].cast(pa.timestamp("ms", tz="UTC"))
    return pa.table(
        {
            "path": files["path"],
            "partition_values": files["partitionValues"],
            "size": files["size"],
            "rows": files["numRecords"],
            "deleted_rows": deleted,
            "merges": files["numMergeOps"],
            "modified": modified,
        }
    )


def _answer(command: Command, conf: list[str] | None) -> pa.Table:
    with failures():
        return execute(command, LocalContext(settings(conf)))
    raise AssertionError("failures() ends the program")
