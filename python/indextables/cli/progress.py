"""Long work that shows how far it is; on a terminal only, and never among the results."""

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
    """Runs commands here and moves a bar for every piece of work."""

    bar: Progress = field(default_factory=Progress)
    title: str = "working"

    def tasks(
        self, kind: str, payloads: Sequence[Mapping[str, Any]], places: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Run the work under a bar of its own."""
        self._current = self.bar.add_task(self.title, total=len(payloads))
        return super().tasks(kind, payloads, places)

    def run_task(self, kind: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Do one piece of the work and move the bar."""
        done = super().run_task(kind, payload)
        self.bar.advance(self._current)
        return done


@contextlib.contextmanager
def followed(title: str, session: Mapping[str, str]) -> Iterator[FollowedContext]:
    """A context whose work is shown while it runs."""
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
    """A moving sign beside work that cannot be counted."""
    with console(stderr=True).status(title):
        yield
