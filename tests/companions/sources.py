"""Sources that real writers change at random, and the rows of each of their versions.

The rows of a version are read with the format's own library right after it is written. Otherwise a
library that lists files incorrectly would agree with the index.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo, In, LessThan
from pyiceberg.transforms import IdentityTransform
from tests.companions.iceberg_deletes import delete_positions
from tests.companions.questions import message_column
from tests.companions.rows import SCHEMA, Row, RowMaker, to_arrow
from tests.unit.sources.delta_tables import HandWrittenDelta


class History(Protocol):
    """A source with its history."""

    kind: str
    location: str
    maker: RowMaker
    # whether files of older versions may be deleted
    lossy: bool

    def change(self) -> str:
        """Change the source; return what was done."""

    def now(self) -> tuple[str, list[Row]]:
        """The newest version and its rows."""

    def past(self) -> dict[str, list[Row]]:
        """The readable versions with their rows."""


def _steps(history: Any, names: list[str]) -> Callable[[], str]:
    def step() -> str:
        name: str = history.maker.rng.choice(names)
        getattr(history, name)()
        return name

    return step


class DeltaHistory:
    """A Delta table written by `deltalake`, optionally partitioned by day."""

    kind = "DELTA"

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.maker, self.lossy = RowMaker(rng), False
        self.location = str(folder / "delta")
        self.partitions = rng.choice([[], ["day"]])
        self._past: dict[str, list[Row]] = {}
        self._write(mode="append")
        self._step = _steps(
            self,
            ["append", "append", "overwrite", "one_day", "widen", "delete", "update", "merge",
             "optimize", "vacuum", "restore", "checkpoint"],
        )  # fmt: skip

    def change(self) -> str:
        done = self._step()
        self._note()
        return done

    def now(self) -> tuple[str, list[Row]]:
        version = str(DeltaTable(self.location).version())
        return version, self._past[version]

    def past(self) -> dict[str, list[Row]]:
        return self._past

    def _note(self) -> None:
        table = DeltaTable(self.location)
        self._past[str(table.version())] = table.to_pyarrow_table().to_pylist()

    def _write(self, *, extra: bool = False, day: str | None = None, **options: Any) -> None:
        rows = to_arrow(self.maker.rows(day=day, extra=extra))
        write_deltalake(self.location, rows, partition_by=self.partitions, **options)
        self._note()

    def append(self) -> None:
        self._write(mode="append", schema_mode="merge")

    def overwrite(self) -> None:
        # an overwrite with fewer columns keeps the schema
        self._write(mode="overwrite", schema_mode="merge")

    def one_day(self) -> None:
        self._write(day="x", mode="overwrite", predicate="day = 'x'", schema_mode="merge")

    def widen(self) -> None:
        self._write(extra=True, mode="append", schema_mode="merge")

    def delete(self) -> None:
        DeltaTable(self.location).delete(f"id % {self.maker.rng.randint(2, 5)} = 0")

    def update(self) -> None:
        values = {"message": "'word9 again'", "amount": "amount + 1"}
        DeltaTable(self.location).update(updates=values, predicate="id % 3 = 1")

    def merge(self) -> None:
        last = self.maker.made
        rows = to_arrow(
            [row | {"id": max(1, row["id"] - 3)} for row in self.maker.rows(1)] + self.maker.rows(2)
        )
        table = DeltaTable(self.location)
        merged = table.merge(rows, "t.id = s.id", source_alias="s", target_alias="t")
        names = {name: f"s.{name}" for name in SCHEMA.names}
        done = merged.when_matched_update(names).when_not_matched_insert(names).execute()
        assert done["num_output_rows"] >= 0 < self.maker.made - last

    def optimize(self) -> None:
        DeltaTable(self.location).optimize.compact()

    def vacuum(self) -> None:
        self.lossy = True
        DeltaTable(self.location).vacuum(0, dry_run=False, enforce_retention_duration=False)

    def restore(self) -> None:
        table = DeltaTable(self.location)
        if table.version() and not self.lossy:
            table.restore(self.maker.rng.randrange(table.version()))

    def checkpoint(self) -> None:
        DeltaTable(self.location).create_checkpoint()


class VectorHistory:
    """A Delta table with deletion vectors that grow, shrink and disappear."""

    kind = "DELTA"

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.maker, self.lossy = RowMaker(rng), False
        self.location = str(folder / "vectors")
        kinds = {"id": "long", "amount": "double", "seen": "date"}
        fields = [
            {"name": n, "type": kinds.get(n, "string"), "nullable": True, "metadata": {}}
            for n in SCHEMA.names
        ]
        schema = {"type": "struct", "fields": fields}
        self._log = HandWrittenDelta(Path(self.location), schema, features=["deletionVectors"])
        # path -> the action that added it, its rows, the rows deleted
        self._files: dict[str, tuple[dict[str, Any], list[Row], set[int]]] = {}
        self._past: dict[str, list[Row]] = {str(self._log.version): []}
        self.append()
        self._step = _steps(
            self, ["append", "delete", "delete", "undelete", "compact", "drop", "rewrite"]
        )

    def change(self) -> str:
        return self._step()

    def now(self) -> tuple[str, list[Row]]:
        version = str(self._log.version)
        return version, self._past[version]

    def past(self) -> dict[str, list[Row]]:
        return self._past

    def _add(self, rows: list[Row]) -> dict[str, Any]:
        path = f"part-{len(self._past)}-{self.maker.made}.parquet"
        size = self._log.write(path, to_arrow(rows))
        added = self._log.add(path, size, len(rows))
        self._files[path] = (added, rows, set())
        return added

    def _commit(self, *actions: dict[str, Any]) -> None:
        self._log.commit(*actions)
        live = [
            row
            for _, rows, deleted in self._files.values()
            for at, row in enumerate(rows)
            if at not in deleted
        ]
        self._past[str(self._log.version)] = live

    def _changed(self, path: str, deleted: set[int]) -> None:
        added, rows, before = self._files[path]
        if deleted == before:
            # a commit may not remove and add the same file with the same vector
            return
        body = added["add"]
        now = self._log.add(path, body["size"], len(rows), deleted=sorted(deleted))
        self._files[path] = (now, rows, deleted)
        self._commit(self._log.remove(added), now)

    def append(self) -> None:
        self._commit(self._add(self.maker.rows()))

    def _pick(self) -> str | None:
        return self.maker.rng.choice(sorted(self._files)) if self._files else None

    def delete(self) -> None:
        path = self._pick()
        if path is None:
            return
        _, rows, deleted = self._files[path]
        more = {at for at in range(len(rows)) if self.maker.rng.random() < 0.3}
        self._changed(path, deleted | more)

    def undelete(self) -> None:
        path = self._pick()
        if path is not None:
            self._changed(
                path, {at for at in self._files[path][2] if self.maker.rng.random() < 0.5}
            )

    def drop(self) -> None:
        path = self._pick()
        if path is not None:
            self._commit(self._log.remove(self._files.pop(path)[0]))

    def compact(self) -> None:
        gone = [self._log.remove(added) for added, _, _ in self._files.values()]
        rows = list(self.now()[1])
        self._files.clear()
        self._commit(*gone, *([self._add(rows)] if rows else []))

    def rewrite(self) -> None:
        path = self._pick()
        if path is None:
            return
        added, rows, deleted = self._files.pop(path)
        kept = [row for at, row in enumerate(rows) if at not in deleted]
        fresh = [self._add(kept)] if kept else []
        self._commit(self._log.remove(added), *fresh)


class IcebergHistory:
    """An Iceberg table written by `pyiceberg` in a separate catalog."""

    kind = "ICEBERG"

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.maker, self.lossy = RowMaker(rng), False
        catalog = SqlCatalog(
            "c", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse"
        )
        catalog.create_namespace("ns")
        self.catalog, self.location = catalog, f"{folder}/warehouse/ns/t"
        self.table = catalog.create_table("ns.t", SCHEMA)
        if rng.random() < 0.5:
            with self.table.update_spec() as spec:
                spec.add_identity("day")
        self._past: dict[str, list[Row]] = {}
        self.append()
        self._note()
        self._step = _steps(
            self,
            ["append", "append", "overwrite", "delete", "upsert", "rename", "add_column",
             "reorder", "evolve_partitions", "tag", "hide", "hide"],
        )  # fmt: skip

    def change(self) -> str:
        with warnings.catch_warnings():
            # an overwrite may find nothing to replace
            warnings.filterwarnings("ignore", "Delete operation did not match any records")
            done = self._step()
        self._note()
        return done

    def now(self) -> tuple[str, list[Row]]:
        snapshot = self.table.current_snapshot()
        assert snapshot is not None
        return str(snapshot.snapshot_id), self.table.scan().to_arrow().to_pylist()

    def past(self) -> dict[str, list[Row]]:
        return self._past

    @property
    def message(self) -> str:
        """The current name of the column `message`."""
        return message_column(self.table.schema().as_arrow().names)

    def _note(self) -> None:
        snapshot = self.table.current_snapshot()
        assert snapshot is not None
        number = snapshot.snapshot_id
        # a snapshot has the schema it was written with, not the current one
        self._past[str(number)] = self.table.scan(snapshot_id=number).to_arrow().to_pylist()

    def _fresh(self) -> pa.Table:
        """Make rows with the current columns of the table."""
        now = self.table.schema().as_arrow()
        rows = self.maker.rows(extra="extra" in now.names)
        table = to_arrow(rows)
        names = [self.message if name == "message" else name for name in table.column_names]
        return table.rename_columns(names).select(now.names)

    def append(self) -> None:
        self.table.append(self._fresh())

    def overwrite(self) -> None:
        if self.maker.rng.random() < 0.3:
            self.table.overwrite(self._fresh())
        else:
            self.table.overwrite(self._fresh(), overwrite_filter=EqualTo("level", "INFO"))

    def delete(self) -> None:
        live = self.table.scan(selected_fields=("id",)).to_arrow()["id"].to_pylist()
        if not live:
            return
        # one row, some rows of every file, or whole files
        old = self.maker.rng.choice(live)
        self.table.delete(
            self.maker.rng.choice(
                [EqualTo("id", old), In("id", live[::3]), LessThan("id", old + 1)]
            )
        )

    def hide(self) -> None:
        """Delete rows by position, as merge-on-read engines do."""
        tasks = list(self.table.scan().plan_files())
        if tasks:
            task = self.maker.rng.choice(tasks)
            rows = range(task.file.record_count)
            delete_positions(self.table, task, [r for r in rows if self.maker.rng.random() < 0.4])

    def upsert(self) -> None:
        snapshot = self.table.current_snapshot()
        if snapshot is None or snapshot.schema_id != self.table.schema().schema_id:
            # the library compares with the columns of the newest snapshot
            self.append()
        old = self.maker.rng.randint(1, self.maker.made)
        rows = self._fresh()
        numbers = [old, *rows["id"].to_pylist()[1:]]
        at = rows.schema.get_field_index("id")
        self.table.upsert(rows.set_column(at, "id", pa.array(numbers, pa.int64())), ["id"])

    def rename(self) -> None:
        name = {"message": "body", "body": "message"}[self.message]
        with self.table.update_schema() as change:
            change.rename_column(self.message, name)

    def add_column(self) -> None:
        if "extra" in self.table.schema().as_arrow().names:
            return
        from pyiceberg.types import LongType

        with self.table.update_schema() as change:
            change.add_column("extra", LongType())

    def reorder(self) -> None:
        with self.table.update_schema() as change:
            change.move_first(self.maker.rng.choice(["id", "level", "amount"]))

    def evolve_partitions(self) -> None:
        names = {field.name for field in self.table.spec().fields}
        with self.table.update_spec() as spec:
            if names:
                spec.remove_field(min(names))
            else:
                column = self.maker.rng.choice(["day", "level"])
                spec.add_field(column, IdentityTransform(), f"{column}_{self.maker.made}")

    def tag(self) -> None:
        snapshot = self.table.current_snapshot()
        assert snapshot is not None
        name = f"tag{self.maker.made}"
        self.table.manage_snapshots().create_tag(snapshot.snapshot_id, name).commit()
