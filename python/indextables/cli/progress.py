"""Progress bars for long operations, on terminals only and never in the results."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.progress import TimeElapsedColumn as Elapsed

from indextables.cli.output import console
from indextables.sql.local import LocalContext


@dataclass
class FollowedContext(LocalContext):
    """Run commands in this process and advance a progress bar for every task."""

    bar: Progress = field(default_factory=Progress)
    title: str = "working"

    def tasks(
        self, kind: str, payloads: Sequence[Mapping[str, Any]], places: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Run the tasks with a progress bar."""
        self._current = self.bar.add_task(self.title, total=len(payloads))
        return super().tasks(kind, payloads, places)

    def run_task(self, kind: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Run one task and advance the bar."""
        done = super().run_task(kind, payload)
        self.bar.advance(self._current)
        return done


@contextlib.contextmanager
def followed(title: str, session: Mapping[str, str]) -> Iterator[FollowedContext]:
    """Return a context that shows progress while it runs."""
    parts = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn())
    terminal = console(stderr=True)
    bar = Progress(
        *parts,
        MofNCompleteColumn(),
        Elapsed(),
        console=terminal,
        transient=True,
        disable=not terminal.is_terminal,
    )
    with bar:
        yield FollowedContext(session, bar=bar, title=title)


@contextlib.contextmanager
def waiting(title: str) -> Iterator[None]:
    """Show a spinner during an operation of unknown length."""
    with console(stderr=True).status(title):
        yield
