"""A progress bar for the jobs of long operations, in notebooks only.

Spark Connect shows a bar of its own. In a terminal Spark's console does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from indextables.show.markup import el

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SECONDS = 0.5


@contextmanager
def progress(spark: SparkSession, title: str = "running") -> Iterator[None]:
    """Show in a notebook how many tasks of the session's jobs are finished while the block runs.

    >>> with indextables.progress(spark, "indexing"):  # doctest: +SKIP
    ...     frame.write.format("indextables").save("/tmp/events")
    """
    shell = _notebook()
    context = getattr(spark, "_sc", None)  # a Connect session has none
    if shell is None or context is None:
        yield
        return
    ended = Event()
    bar = _Bar(title, context.statusTracker())
    watcher = Thread(target=bar.watch, args=(ended,), name="indextables-progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _notebook() -> Any:
    """IPython's shell if it has a kernel, which can show HTML."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell if hasattr(shell, "kernel") else None


class _Bar:
    """The bar on screen and the stages seen so far."""

    def __init__(self, title: str, tracker: Any) -> None:
        self._title, self._tracker = title, tracker
        self._stages: dict[int, tuple[int, int]] = {}
        self._shown: Any = None

    def watch(self, ended: Event) -> None:
        """Poll twice a second; operations that end sooner show nothing."""
        while not ended.wait(_SECONDS):
            self._look()
            self._show()
        if self._shown is not None:
            self._stages = {at: (total, total) for at, (_, total) in self._stages.items()}
            self._show()

    def _look(self) -> None:
        for stage in self._tracker.getActiveStageIds():
            info = self._tracker.getStageInfo(stage)
            if info is not None:
                self._stages[stage] = (info.numCompletedTasks, info.numTasks)

    def _show(self) -> None:
        from IPython.display import HTML, display

        done = sum(done for done, _ in self._stages.values())
        total = sum(total for _, total in self._stages.values())
        if not total:
            return
        label = f"{self._title}: {done} of {total} tasks"
        html = HTML(el("div", el("progress", value=str(done), max=str(total)), f" {label}"))
        if self._shown is None:
            self._shown = display(html, display_id=True)
        else:
            self._shown.update(html)
