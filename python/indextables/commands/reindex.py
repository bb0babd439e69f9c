"""REINDEX: change how columns of an existing table are indexed, in one commit.

    newest snapshot ──> write its splits again (tasks) ──> commit them with the new options
          ^                                                   │
          └── only those that changed <── others committed <──┘

Readers see the old index or the new one, never both. A failure leaves the table as it was.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from indextables.commands.grammar import TARGET, Clause, Command, ListKind, Rule, columns, require
from indextables.commands.merge_commit import MergedGroup, discard_merged, merged_file, vectors_of
from indextables.commands.merge_payload import common_payload, merge_input
from indextables.commands.target import Target, open_target, require_short_name
from indextables.config import indexing
from indextables.config import maintenance as keys
from indextables.config.option import PREFIX
from indextables.config.settings import resolve
from indextables.errors import ConflictError, error
from indextables.log import entries, operations
from indextables.log.conflicts import conflict
from indextables.log.partitions import split_path
from indextables.log.transaction import Operation, Transaction
from indextables.plan.fields import PER_FIELD, plan_fields
from indextables.plan.reindex import Reindexing, plan_reindex
from indextables.runtime.steps import Steps, run_tasks
from indextables.save.splits import features_of

if TYPE_CHECKING:
    from indextables.config.settings import Settings
    from indextables.log import AddFile, Snapshot
    from indextables.log.actions import Action
    from indextables.read.table import OpenTable, Row
    from indextables.runtime.context import Context

_OUTPUT = columns(
    "table_path string, metrics struct<status string, reindexed_splits bigint, "
    "original_size_bytes bigint, reindexed_size_bytes bigint, message string>"
)
_PAIRS = ListKind(separator=":")


@dataclass(frozen=True)
class Reindex(Command):
    """Change how columns are indexed: their index type, tokenizer, stop words and the like.

    Columns and options that are not named stay as they are. `INDEXING MODES` are the values of
    `indexing.typemap`, `TOKENIZERS` those of `indexing.tokenizer`; `OPTIONS` takes any indexing key
    of a column, such as `'indexing.stopwords.message' = 'en'`. All splits are written again and
    replaced in one commit: readers see the old index or the new one. Splits that other writers add
    or change in the meantime are written again, too. A write that began before the commit and
    ends after it fails with COMMIT_CONFLICT: its rows are indexed as before. Older versions keep
    their index. The replaced splits take up space until PURGE removes them.
    """

    target: Target
    indexing_modes: tuple[tuple[str, str], ...] = ()
    tokenizers: tuple[tuple[str, str], ...] = ()
    options: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        require_short_name(self.target)
        require(
            bool(self.indexing_modes or self.tokenizers or self.options),
            "REINDEX requires INDEXING MODES, TOKENIZERS or OPTIONS",
        )
        allowed = tuple(f"{option.key}." for option in PER_FIELD)
        for key, _ in self.options:
            short = key.removeprefix(PREFIX).lower()
            require(
                short.startswith(tuple(each.lower() for each in allowed)),
                f"`{key}` is not an indexing key of a column",
            )

    @property
    def given(self) -> Settings:
        """The indexing options of the clauses."""
        modes = {f"{indexing.TYPEMAP.key}.{name}": mode for name, mode in self.indexing_modes}
        tokenizers = {f"{indexing.TOKENIZER.key}.{name}": t for name, t in self.tokenizers}
        return resolve({**dict(self.options), **modes, **tokenizers})


@dataclass
class _Written:
    """Splits that were written again, by the path of their source."""

    reindexing: Reindexing
    fields: list[dict[str, Any]]
    groups: dict[str, MergedGroup] = field(default_factory=dict)
    vectors: dict[str, Any] = field(default_factory=dict)


def run_reindex(table: OpenTable, given: Settings, context: Context) -> Steps[list[Row]]:
    """Write all splits again until a commit replaces exactly those that are live."""
    table.log.check_changeable()
    written: _Written | None = None
    before = table.snapshot
    for _ in range(table.settings.get(keys.MERGE_MAX_PASSES)):
        before = table.log.snapshot()
        reindexing = plan_reindex(before.metadata, given)
        if not reindexing.columns:
            _discard(table, written)
            return [_row(table, "no_action", "The columns are already indexed like this")]
        settings = context.settings(reindexing.configuration)
        fields = _fields(before, reindexing, settings)
        if written is None or written.fields != fields:
            _discard(table, written)
            written = _Written(reindexing, fields)
        written.reindexing = reindexing
        try:
            yield from _write_again(table, before, written)
        except BaseException:
            _discard(table, written)
            raise
        try:
            return [_committed(table, before, written, settings)]
        except ConflictError:
            continue  # other writers committed: only what they changed is written again
    _discard(table, written)
    raise conflict(Operation.REINDEX, None, before.version, "other writers were always faster")


def _fields(read: Snapshot, reindexing: Reindexing, settings: Settings) -> list[dict[str, Any]]:
    return plan_fields(read.schema, settings, read.partition_columns, reindexing.configuration)


def _write_again(table: OpenTable, read: Snapshot, written: _Written) -> Steps[None]:
    """Write the live splits again that are not there yet, or were changed since."""
    adds = entries.to_adds(read.files())
    now = vectors_of(read, [add.path for add in adds])
    stale = [p for p in written.groups if p not in now or written.vectors[p] != now[p]]
    _discard(table, written, stale)
    todo = [add for add in adds if add.path not in written.groups]
    common = {**common_payload(table, read), "fields": written.fields, "rewrite": True}
    outputs = [_output(read, add) for add in todo]
    payloads = [
        {**common, "inputs": [merge_input(table, add)], "output": output}
        for add, output in zip(todo, outputs, strict=True)
    ]
    results = yield from run_tasks("merge", payloads)
    for add, output, result in zip(todo, outputs, results, strict=True):
        written.groups[add.path] = MergedGroup(add.partition_values, (add.path,), output, result)
        written.vectors[add.path] = now[add.path]
    _require_all(table, written)


def _output(read: Snapshot, add: AddFile) -> str:
    return split_path(read.partition_columns, add.partition_values, str(uuid.uuid4()))


def _require_all(table: OpenTable, written: _Written) -> None:
    for group in written.groups.values():
        problems = [group.result.get("error"), *group.skipped.values()]
        problem = next((each for each in problems if each), None)
        if problem is not None:
            raise error("REINDEX_FAILED", path=table.path, split=group.paths[0], problem=problem)


def _committed(table: OpenTable, read: Snapshot, written: _Written, settings: Settings) -> Row:
    groups = list(written.groups.values())
    changed = ", ".join(written.reindexing.columns)

    def rebuild(newest: Snapshot) -> tuple[Action, ...]:
        live = vectors_of(newest, newest.files()["path"].to_pylist())
        if newest.metadata != read.metadata or live != written.vectors:
            detail = "splits or properties changed while the table was reindexed"
            raise conflict(Operation.REINDEX, None, newest.version, detail)
        metadata = replace(newest.metadata, configuration=dict(written.reindexing.configuration))
        gone = operations.removals(newest.files(), data_change=False)
        come = (merged_file(group, read, table.now_ms(), settings) for group in groups)
        return (metadata, *gone, *come)

    # the sources and their order: a concurrent delete uses it to find its rows
    sources = {group.output: list(group.merged) for group in groups}
    table.log.commit(
        Transaction(
            Operation.REINDEX,
            read.version,
            rebuild=rebuild,
            parameters={"columns": changed, "sources": sources},
            metrics={"splits": len(groups)},
            features=features_of(settings),
        )
    )
    return _row(
        table,
        "success",
        f"columns: {changed}",
        reindexed_splits=len(groups),
        original_size_bytes=read.size_bytes,
        reindexed_size_bytes=sum(group.result["info"]["size"] for group in groups),
    )


def _discard(table: OpenTable, written: _Written | None, paths: list[str] | None = None) -> None:
    """Delete splits that are not going to be committed."""
    if written is None:
        return
    gone = list(written.groups) if paths is None else paths
    discard_merged(table, [written.groups.pop(path) for path in gone])
    for path in gone:
        del written.vectors[path]


def _row(table: OpenTable, status: str, message: str, **counted: int) -> Row:
    nothing = {"reindexed_splits": 0, "original_size_bytes": 0, "reindexed_size_bytes": 0}
    metrics = {"status": status, **nothing, **counted, "message": message}
    return {"table_path": table.path, "metrics": metrics}


def run(command: Reindex, context: Context) -> Steps[list[Row]]:
    """Reindex the columns of a table."""
    table = yield from open_target(command.target, context)
    return (yield from run_reindex(table, command.given, context))


RULES = (
    Rule(
        Reindex,
        "REINDEX IX",
        (
            TARGET,
            Clause("INDEXING MODES", "indexing_modes", _PAIRS),
            Clause("TOKENIZERS", "tokenizers", _PAIRS),
            Clause("OPTIONS", "options", ListKind(separator="=")),
        ),
        _OUTPUT,
        run,
    ),
)
