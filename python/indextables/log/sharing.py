"""Commit the appends of several threads in one version: the first thread commits for all.

A version file costs as much for many appends as for one. Every append keeps its id, its metrics and
its outcome: if the shared commit fails, each append is committed separately.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from itertools import groupby
from typing import Any, TypeAlias

from indextables.errors import CommitUnknownError, IndexTablesError, error
from indextables.log.actions import Action, AddFile
from indextables.log.conflicts import conflict
from indextables.log.snapshot import Snapshot
from indextables.log.transaction import Committed, Operation, Transaction

Outcome: TypeAlias = Committed | IndexTablesError
# the member of commitInfo that lists the appends of a version
APPENDS = "appends"


def commit_together(
    commit: Callable[[Transaction], Committed], appends: Sequence[Transaction]
) -> list[Outcome]:
    """The outcome of each append; they share one version if possible.

    After a failure that certainly wrote nothing, each is committed separately, so that the failure
    of one append does not fail the others. An unknown outcome is unknown for all.
    """
    outcomes: list[Outcome] = []
    for _, alike in groupby(appends, key=lambda each: each.user_metadata):
        outcomes += _commit_alike(commit, list(alike))
    return outcomes


def _commit_alike(
    commit: Callable[[Transaction], Committed], appends: Sequence[Transaction]
) -> list[Outcome]:
    if len(appends) == 1:
        return [_outcome(commit, appends[0])]
    done = _outcome(commit, join_appends(appends))
    if isinstance(done, Committed):
        return [done] * len(appends)
    if isinstance(done, CommitUnknownError):
        return [error(done.code, **done.context) for _ in appends]
    return [_outcome(commit, append) for append in appends]


def _outcome(commit: Callable[[Transaction], Committed], transaction: Transaction) -> Outcome:
    try:
        return commit(transaction)
    except IndexTablesError as failure:
        return failure


def join_appends(appends: Sequence[Transaction]) -> Transaction:
    """One append with the splits of several, which it lists."""

    def rebuild(newest: Snapshot) -> tuple[Action, ...]:
        return tuple(action for append in appends for action in _adds(append, newest))

    metrics: Counter[str] = Counter()
    for append in appends:
        metrics.update(append.metrics)
    listed = [_listed(append) for append in appends]
    return Transaction(
        Operation.APPEND,
        # everything committed after the oldest version is checked for all
        min(append.read_version for append in appends),
        rebuild=rebuild,
        features=frozenset[str]().union(*(append.features for append in appends)),
        metrics=metrics,
        user_metadata=appends[0].user_metadata,
        notes=lambda: {APPENDS: listed},
    )


def _listed(append: Transaction) -> dict[str, Any]:
    """One append in `commitInfo`."""
    return {
        "id": append.id,
        "readVersion": append.read_version,
        "operationParameters": dict(append.parameters),
        "operationMetrics": dict(append.metrics),
    }


def _adds(append: Transaction, newest: Snapshot) -> tuple[Action, ...]:
    """The splits of an append; one that also changes the table gets its own version."""
    found = append.actions if append.rebuild is None else append.rebuild(newest)
    if not all(isinstance(action, AddFile) for action in found):
        detail = "it changes more than rows, so it is committed on its own"
        raise conflict(append.operation, None, newest.version, detail)
    return found


class CommitQueue:
    """Commits of one table, one at a time: a thread commits for all that wait."""

    def __init__(
        self, path: str, run: Callable[[Sequence[Transaction]], Sequence[Outcome]]
    ) -> None:
        self._path = path
        self._run = run
        # held during a commit
        self._turn = threading.RLock()
        self._lock = threading.Lock()
        self._waiting: list[tuple[Transaction, Future[Committed]]] = []

    def commit(self, append: Transaction) -> Committed:
        """Commit an append, perhaps together with others; raise its own failure."""
        mine: tuple[Transaction, Future[Committed]] = (append, Future())
        with self._lock:
            self._waiting.append(mine)
        try:
            with self._turn:
                if not mine[1].done():
                    self._lead()
        except BaseException:
            # an append whose thread was interrupted while it waited must not be committed later
            with self._lock:
                self._waiting = [each for each in self._waiting if each is not mine]
            raise
        return mine[1].result()

    def _lead(self) -> None:
        """Commit all waiting appends."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        try:
            outcomes = self._run([append for append, _ in waiting])
        except BaseException:
            for append, answer in waiting:
                answer.set_exception(self._unknown(append))
            raise
        for (_, answer), outcome in zip(waiting, outcomes, strict=True):
            if isinstance(outcome, Committed):
                answer.set_result(outcome)
            else:
                answer.set_exception(outcome)

    def _unknown(self, append: Transaction) -> IndexTablesError:
        """The outcome of waiting appends if the thread that committed them was interrupted."""
        detail = "the thread that committed it was interrupted"
        operation = str(append.operation)
        return error("COMMIT_UNKNOWN", path=self._path, operation=operation, detail=detail)
