"""DESCRIBE TRANSACTION LOG: one row per action of the transaction log."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indextables.commands.grammar import DESCRIBE, TARGET, Command, Flag, Rule, columns
from indextables.commands.target import Target, open_target
from indextables.commands.timestamps import to_datetime
from indextables.log import entries, members, names
from indextables.log.actions import Action, UnknownAction
from indextables.log.checkpoints import kept_actions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indextables.log import Snapshot
    from indextables.log.members import Kind
    from indextables.log.names import Listing
    from indextables.read.table import OpenTable, Row
    from indextables.runtime.context import Context
    from indextables.runtime.steps import Steps
_OUTPUT = columns(
    "version bigint, log_file_path string, action_type string, path string, "
    "partition_values string, size bigint, data_change boolean, tags string, "
    "modification_time timestamp, stats string, min_values string, max_values string, "
    "num_records bigint, footer_start_offset bigint, footer_end_offset bigint, "
    "hotcache_start_offset bigint, hotcache_length bigint, has_footer_offsets boolean, "
    "time_range_start string, time_range_end string, split_tags string, delete_opstamp bigint, "
    "num_merge_ops int, doc_mapping_json string, doc_mapping_ref string, "
    "uncompressed_size_bytes bigint, deletion_timestamp timestamp, "
    "extended_file_metadata boolean, skip_timestamp timestamp, skip_reason string, "
    "skip_operation string, skip_retry_after timestamp, skip_count int, "
    "protocol_min_reader_version int, protocol_min_writer_version int, "
    "protocol_reader_features string, protocol_writer_features string, metadata_id string, "
    "metadata_name string, metadata_description string, metadata_format_provider string, "
    "metadata_format_options string, metadata_schema_string string, "
    "metadata_partition_columns string, metadata_configuration string, "
    "metadata_created_time timestamp, is_checkpoint boolean"
)


@dataclass(frozen=True)
class DescribeTransactionLog(Command):
    """Show the actions of the transaction log, since the latest checkpoint or all of them.

    Actions and members without columns of their own are shown as JSON in `tags`; the type of such
    an action is `unknown`.
    """

    target: Target
    include_all: bool = False


def run_describe_transaction_log(table: OpenTable, *, include_all: bool) -> list[Row]:
    """Return the actions since the latest checkpoint, or since the oldest available version."""
    reader = table.log.reader
    listing = reader.listing()
    # not the cached snapshot: another process may have written a checkpoint
    newest = reader.load()
    rows: list[Row] = []
    start = -1 if include_all else newest.checkpoint_version
    if not include_all and start >= 0:
        rows += _checkpoint_rows(table, table.log.snapshot(start), listing)
    for version in sorted({*listing.versions, *listing.bases} - {-1}):
        if version <= start or version > newest.version:
            continue
        commit = reader.commit(version) if version in listing.versions else None
        if commit is None and not reader.exists(listing, version):
            continue
        if commit is None:
            # clean-ups, and older writers, leave versions that exist as a checkpoint only
            rows += _checkpoint_rows(table, table.log.snapshot(version), listing)
            continue
        place = f"{table.path}/{names.version_file(version)}"
        rows += [
            {"version": version, "log_file_path": place, "is_checkpoint": False} | _cells(action)
            for action in commit.actions
        ]
    return rows


def _checkpoint_rows(table: OpenTable, snapshot: Snapshot, listing: Listing) -> Iterator[Row]:
    version = snapshot.version
    file = names.state_file if version in listing.states else names.checkpoint_file
    place = f"{table.path}/{file(version)}"
    head: Row = {"version": version, "log_file_path": place, "is_checkpoint": True}
    for action in (snapshot.protocol, snapshot.metadata, *kept_actions(snapshot)[1:]):
        yield head | _cells(action)
    for add in entries.to_adds(snapshot.files()):
        yield head | _cells(add)


def _cells(action: Action) -> Row:
    """Return the columns of an action; what has no column of its own goes to `tags`, as JSON."""
    if isinstance(action, UnknownAction):
        return {"action_type": members.NOT_SHOWN, "tags": _json({action.kind: action.value})}
    kind = members.BY_TYPE[type(action)]
    row: Row = {"action_type": kind.shown}
    others = dict(action.extra)
    for name, column in (kind.also_shown or {}).items():
        value = others.pop(name, None)
        row[column] = _json(value) if isinstance(value, dict | list) else value
    for member in kind.members:
        value = getattr(action, member.attribute)
        if member.shown is not None:
            row[member.shown] = _shown(member.kind, value)
        elif value is not None and member.logged:
            others[member.name] = member.kind.write(value)
    if kind.shown == members.NOT_SHOWN:
        return row | {"tags": _json({kind.name: others})}
    if not others:
        return row
    tags = action.extra.get("tags")
    return row | {"tags": _json({**(tags if isinstance(tags, dict) else {}), **others})}


def _shown(kind: Kind, value: Any) -> Any:
    if value is None:
        return None
    if kind is members.TIME:
        return to_datetime(value)
    written = kind.write(value)
    return _json(written) if isinstance(written, dict | list) else written


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def run(command: DescribeTransactionLog, context: Context) -> Steps[list[Row]]:
    """Run the command."""
    table = yield from open_target(command.target, context)
    return run_describe_transaction_log(table, include_all=command.include_all)


RULES = (
    Rule(
        DescribeTransactionLog,
        f"{DESCRIBE} TRANSACTION LOG",
        (TARGET, Flag("INCLUDE ALL", "include_all")),
        _OUTPUT,
        run,
    ),
)
