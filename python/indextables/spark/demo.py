"""The demo: index a day of log events and query it, side by side with Parquet."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

from indextables.cli.sample import events
from indextables.spark.local_session import local_session

_ROWS = 200_000
_WARM_UPS = 3  # the JVM compiles what it runs often
_SHOWN = 8
_BAR_WIDTH = 50


@dataclass(frozen=True)
class Statement:
    """A query, and the same query for Parquet if its text differs.

    `columns` are the columns to show, all if empty; `plot` draws the last one as bars.
    """

    title: str
    sql: str
    parquet: str | None = None
    columns: tuple[str, ...] = ()
    plot: bool = False


STATEMENTS = (
    Statement(
        "Search: who waited for payments in vain?",
        "SELECT ts, service, message FROM events\n"
        "WHERE message indexquery 'timeout AND payment' AND level = 'ERROR'\n"
        "ORDER BY ts DESC LIMIT 5",
        "SELECT ts, service, message FROM events WHERE message RLIKE '(?i)\\\\btimeout\\\\b' AND "
        "message RLIKE '(?i)\\\\bpayment\\\\b' AND level = 'ERROR' ORDER BY ts DESC LIMIT 5",
    ),
    Statement(
        "A phrase: how often were connections reset, by service?",
        "SELECT service, count(*) AS resets FROM events\n"
        "WHERE message indexquery '\"connection reset\"'\n"
        "GROUP BY service ORDER BY resets DESC LIMIT 5",
        "SELECT service, count(*) AS resets FROM events WHERE message RLIKE "
        "'(?i)\\\\bconnection reset\\\\b' GROUP BY service ORDER BY resets DESC LIMIT 5",
    ),
    Statement(
        "A lookup: one event by its id",
        "SELECT id, ts, host, status, message FROM events WHERE id = 123456",
    ),
    Statement(
        "A time range with a filter",
        "SELECT count(*) AS errors FROM events\n"
        "WHERE ts >= '2026-01-01 12:00:00' AND ts < '2026-01-01 13:00:00' AND level = 'ERROR'",
    ),
    Statement(
        "Aggregates straight from the index",
        "SELECT level, count(*) AS events, round(avg(latency_ms), 1) AS avg_ms, "
        "max(latency_ms) AS max_ms\nFROM events GROUP BY level ORDER BY events DESC",
    ),
    Statement(
        "Errors over the day",
        "SELECT date_trunc('HOUR', ts) AS hour, count(*) AS errors FROM events\n"
        "WHERE level = 'ERROR' GROUP BY 1 ORDER BY 1",
        plot=True,
    ),
)

# changes to the table afterwards; `{t}` is its name
CHANGES = (
    Statement(
        "A correction: resets are warnings, not errors",
        "UPDATE {t} SET level = 'WARN'\n"
        "WHERE level = 'ERROR' AND message indexquery '\"connection reset\"'",
    ),
    Statement("Debug lines may go", "DELETE FROM {t} WHERE level = 'DEBUG'"),
    Statement(
        "What is there now",
        "SELECT level, count(*) AS events FROM {t} GROUP BY level ORDER BY events DESC",
    ),
    Statement(
        "What was there before: time travel",
        "SELECT level, count(*) AS events FROM {t} VERSION AS OF 1\n"
        "GROUP BY level ORDER BY events DESC",
    ),
    Statement(
        "Maintenance: merge the splits, drop deleted rows for good",
        "MERGE SPLITS '{path}'",
        columns=(
            "metrics.status",
            "metrics.merged_files",
            "metrics.original_size_bytes",
            "metrics.merged_size_bytes",
        ),
    ),
    Statement(
        "What happened",
        "DESCRIBE INDEXTABLES HISTORY '{path}'",
        columns=("version", "timestamp", "operation", "operation_metrics"),
    ),
)


class Demo:
    """Run the steps and print each with its statement, its result and its time."""

    def __init__(self, console: Console, folder: Path) -> None:
        self.console = console
        self.folder = folder
        self.spark = local_session("demo", {"spark.sql.session.timeZone": "UTC"}, "local[2]")

    def timed(self, run: Callable[[], Any]) -> tuple[Any, float]:
        """Return the result of a call and its time in milliseconds."""
        start = time.perf_counter()
        return run(), (time.perf_counter() - start) * 1000

    def write(self) -> None:
        """Write the sample as Parquet and as an IndexTables table."""
        self.console.rule("[bold]Indexing")
        source = self.folder / "source.parquet"
        with self.console.status(f"generating {_ROWS:,} log events"):
            pq.write_table(events(_ROWS), source, compression="zstd")
        data = self.spark.read.parquet(str(source)).repartition(2).cache()
        data.count()
        with self.console.status("writing"):
            _, parquet_ms = self.timed(
                lambda: data.write.option("compression", "zstd").parquet(str(self.folder / "pq"))
            )
            writer = data.write.format("indextables")
            writer = writer.option("indexing.typemap.message", "text")
            _, table_ms = self.timed(lambda: writer.save(str(self.folder / "table")))
        data.unpersist()
        lines = Table("", "seconds", "MB")
        for name, ms, place in (("Parquet", parquet_ms, "pq"), ("IndexTables", table_ms, "table")):
            lines.add_row(name, f"{ms / 1000:.1f}", f"{_bytes(self.folder / place) / 1e6:.1f}")
        self.console.print(lines)
        table = self.spark.read.format("indextables").load(str(self.folder / "table"))
        table.createOrReplaceTempView("events")
        self.spark.read.parquet(str(self.folder / "pq")).createOrReplaceTempView("parquet_events")

    def ask(self, statement: Statement) -> None:
        """Query both tables and show the result once; they must agree."""
        self.console.rule(f"[bold]{statement.title}")
        self.console.print(Syntax(statement.sql, "sql", background_color="default"))
        other = (statement.parquet or statement.sql).replace("FROM events", "FROM parquet_events")
        run, run_other = self._query(statement.sql), self._query(other)
        for _ in range(_WARM_UPS):
            run(), run_other()
        rows, ms = self.timed(run)
        expected, other_ms = self.timed(run_other)
        self._show(rows, statement)
        agree = "same answer" if rows == expected else "[red]another answer than Parquet"
        self.console.print(
            f"[green]{ms:.0f} ms[/]   Parquet: {other_ms:.0f} ms   "
            f"[bold]{other_ms / ms:.1f}x[/]   {agree}"
        )
        if rows != expected:
            raise SystemExit(1)

    def change(self, step: Statement) -> None:
        """Run a statement on the table and show its result."""
        self.console.rule(f"[bold]{step.title}")
        path = str(self.folder / "table")
        self.console.print(
            Syntax(step.sql.format(t="events", path="events"), "sql", background_color="default")
        )
        text = step.sql.format(t=f"indextables.`{path}`", path=path)
        rows, ms = self.timed(self._query(text))
        if rows:
            self._show(rows, step)
        self.console.print(f"[green]{ms:.0f} ms[/]")

    def _query(self, sql: str) -> Callable[[], Any]:
        return lambda: self.spark.sql(sql).collect()

    def _show(self, rows: list[Any], statement: Statement) -> None:
        if not rows:
            self.console.print("(no rows)")
            return
        names = statement.columns or tuple(rows[0].asDict())
        shown = Table(*(name.rpartition(".")[2] for name in names))
        if statement.plot:
            shown.add_column("")
            most = max(row[-1] for row in rows)
        for row in rows if statement.plot else rows[:_SHOWN]:
            cells = [str(_value(row, name))[:90] for name in names]
            shown.add_row(*cells, *([f"[cyan]{_bar(row[-1] / most)}"] if statement.plot else []))
        self.console.print(shown)


def _value(row: Any, name: str) -> Any:
    """Return a column, or a member of a struct by its path."""
    for part in name.split("."):
        row = row[part]
    return row


def _bar(share: float) -> str:
    eighths = round(share * _BAR_WIDTH * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _bytes(folder: Path) -> int:
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())


def run_demo() -> None:
    """Run everything in a new folder; the table stays, to be opened in the page."""
    console = Console(width=120)
    folder = Path(tempfile.mkdtemp(prefix="indextables-demo-"))
    try:
        with console.status("starting Spark"):
            demo = Demo(console, folder)
        demo.write()
        for statement in STATEMENTS:
            demo.ask(statement)
        for step in CHANGES:
            demo.change(step)
        demo.spark.stop()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder / "pq", ignore_errors=True)
    (folder / "source.parquet").unlink(missing_ok=True)
    console.rule("[bold]Look at it in a browser")
    console.print(f"indextables ui {folder / 'table'}", soft_wrap=True)
