"""TRUNCATE TIME TRAVEL: remove every version but the latest. Data files stay until PURGE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from indextables.commands.grammar import TARGET, Command, Flag, Rule, columns
from indextables.commands.log_files import take_log_inventory
from indextables.commands.target import Target, open_target
from indextables.errors import IndexTablesError
from indextables.log import names

if TYPE_CHECKING:
    from indextables.read.table import OpenTable, Row
    from indextables.runtime.context import Context
    from indextables.runtime.steps import Steps
_OUTPUT = columns(
    "table_path string, status string, checkpoint_version bigint, versions_deleted bigint, "
    "checkpoints_deleted bigint, files_preserved bigint, message string"
)


@dataclass(frozen=True)
class TruncateTimeTravel(Command):
    """Remove all versions but the latest. Data files stay until PURGE."""

    target: Target
    dry_run: bool = False


def run_truncate(table: OpenTable, *, dry_run: bool = False) -> list[Row]:
    """Make sure that a checkpoint of the latest version exists, then delete older log files.

    A dry run writes nothing, not even the checkpoint.
    """
    table.log.check_maintainable()
    version = table.snapshot.version
    if not dry_run and not table.log.reader.has_whole_state(version):
        # a state of this version may be incomplete or damaged: then a new one is written
        version = table.log.checkpoint(compact="only the latest version stays").version
    inventory = take_log_inventory(table.log)
    kept = _manifests_in_use(table, version)
    paths = [path for path in inventory.below(version) if path not in kept]
    versions = sum(old < version for old in inventory.versions)
    checkpoints = sum(old < version for old in inventory.bases)
    if not dry_run:
        table.store.delete(paths)
        for old in inventory.states:
            if old < version:
                # an empty folder left on a local disk would look like a state
                table.store.remove_empty(f"{names.FOLDER}/{names.state_name(old)}")
        table.log.invalidate()
    what = f"{versions} versions and their checkpoints"
    return [
        {
            "table_path": table.path,
            "status": "DRY_RUN" if dry_run else "SUCCESS",
            "checkpoint_version": version,
            "versions_deleted": versions,
            "checkpoints_deleted": checkpoints,
            "files_preserved": table.snapshot.num_files,
            "message": f"would delete {what}" if dry_run else f"deleted {what}",
        }
    ]


def _manifests_in_use(table: OpenTable, version: int) -> set[str]:
    """Return the manifests of the kept state, which may be in the folder of an older state."""
    if version not in table.log.reader.listing().states:
        return set()
    state = table.log.reader.states.read(version)
    return {f"{names.FOLDER}/{manifest.path}" for manifest in state.manifests}


def run(command: TruncateTimeTravel, context: Context) -> Steps[list[Row]]:
    """Remove older versions; report a failure as a result."""
    try:
        table = yield from open_target(command.target, context)
        return run_truncate(table, dry_run=command.dry_run)
    except IndexTablesError as problem:
        failed = {"table_path": str(command.target), "status": "ERROR"}
        return [failed | {"message": problem.message}]


RULES = (
    Rule(
        TruncateTimeTravel,
        "TRUNCATE IX TIME TRAVEL",
        (TARGET, Flag("DRY RUN", "dry_run")),
        _OUTPUT,
        run,
    ),
)
