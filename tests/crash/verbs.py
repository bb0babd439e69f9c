"""Every verb that commits, run as by its doors on a small table: for races and failing stores.

A verb is a function of a `Location`. Rows are (id, part, text); parts are 0, 1 and 2.
"""

from __future__ import annotations

import atexit
import itertools
import json
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import pyarrow as pa

import indextables
from indextables.errors import error
from indextables.log import names
from indextables.read.rows import DOC, SPLIT
from indextables.spark import tables, write
from indextables.spark.request import Request
from indextables.spark.write_task import RowTask, WriteTask
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext
from indextables.storage import open_store

PREFIX = "spark.indextables."
FAST = {
    "transaction.retry.baseDelayMs": "1",
    "transaction.retry.maxDelayMs": "2",
    "transaction.retry.maxAttempts": "4",
    "state.retry.maxAttempts": "2",
    "state.retry.baseDelayMs": "1",
}
VERSION_FILE = re.compile(rf"{names.FOLDER}/\d{{20}}\.json")
Row = tuple[int, int, str]


@dataclass
class Location:
    """The location of a table, and the options to access it."""

    path: str
    options: dict[str, str] = field(default_factory=dict)
    keyed: bool = False

    @property
    def given(self) -> dict[str, str]:
        return {**FAST, **self.options}

    @property
    def context(self) -> LocalContext:
        return LocalContext({PREFIX + key: value for key, value in self.given.items()})

    def request(self, **body: object) -> Request:
        session = {PREFIX + key: value for key, value in self.given.items()}
        return Request({"properties": {"path": self.path}, "session": session, **body})

    def make(self) -> Location:
        """Make the table for the verbs: two saves, three parts."""
        for start in (0, 15):
            self.save("append", rows(start, 15))
        return self

    def save(self, mode: str, data: pa.Table, **options: str) -> None:
        key = {"primary-key": "id,part"} if self.keyed else {}
        given = {**self.given, **key, **options}
        indextables.write(data, self.path, mode, ["part"], given)

    def sql(self, text: str) -> list[dict]:
        return execute(text.format(path=self.path), self.context).to_pylist()

    def rows(self) -> list[Row]:
        found = indextables.open(self.path, options=self.given).scan(["id", "part", "text"])
        return sorted(zip(*found.to_pydict().values(), strict=True))

    def open(self) -> indextables.api.local.Table:
        return indextables.open(self.path, options=self.given)


def rows(start: int, count: int, text: str = "first", part: int | None = None) -> pa.Table:
    ids = range(start, start + count)
    parts = [i % 3 if part is None else part for i in ids]
    return pa.table(
        {"id": list(ids), "part": pa.array(parts, pa.int32()), "text": [f"{text} {i}" for i in ids]}
    )


def change(
    location: Location, command: str, where: str, new: str | None = None, more: int = 0
) -> None:
    """Run a row-level command as Spark's tasks and driver do."""
    table = location.open()
    found = table.scan([SPLIT, DOC, "id", "part", "text"], where).combine_chunks()
    op = 1 if new is None else 2
    batches = [_delta(op, found, new)]
    if more:
        fresh = rows(900, more, "inserted")
        nulls = {SPLIT: pa.nulls(more, pa.string()), DOC: pa.nulls(more, pa.int64())}
        batches.append(
            _delta(
                3,
                pa.table({**nulls, **dict(zip(fresh.column_names, fresh.columns, strict=True))}),
                None,
            )
        )
    body = {"command": command, "read_version": table.version}
    begun, _ = write.begin(location.request(**body))
    (report,) = RowTask(write.spec_of(location.request(**body)))(batches)
    message = json.loads(report["message"][0].as_py())
    write.commit(location.request(**body, attempt=begun["attempt"], messages=[message]))


def _delta(op: int, found: pa.Table, new: str | None) -> pa.RecordBatch:
    texts = (
        found["text"] if new is None else pa.array([f"{new} {i}" for i in found["id"].to_pylist()])
    )
    columns = [
        pa.array([op] * found.num_rows, pa.int32()),
        found[SPLIT].cast(pa.string()),
        found[DOC].cast(pa.int64()),
        found["id"],
        found["part"],
        texts,
    ]
    named = ["__op", SPLIT, DOC, "id", "part", "text"]
    return pa.table(columns, names=named).combine_chunks().to_batches()[0]


def stream(location: Location) -> None:
    """Commit one batch of a streaming query, as the sink does."""
    body = {"overwrite": "none", "query_id": "stream"}
    begun, _ = write.begin(location.request(**body))
    spec = write.spec_of(location.request(**body))
    data = rows(300, 6, "streamed").sort_by("part").combine_chunks()
    (report,) = WriteTask(spec)(data.to_batches())
    message = json.loads(report["message"][0].as_py())
    write.commit(location.request(**body, epoch=0, attempt=begun["attempt"], messages=[message]))


def repair(location: Location) -> None:
    """Rebuild the log for splits that have lost theirs."""
    (answer,) = location.sql("REPAIR INDEXFILES TRANSACTION LOG '{path}/_transaction_log'")
    if not answer["status"].startswith("SUCCESS"):
        assert "it is not known whether" in answer["status"], answer
        raise error("COMMIT_UNKNOWN", operation="REPAIR", path=location.path, detail="as it says")


def lose_log(location: Location) -> None:
    store = open_store(location.path, location.context.settings({}))
    store.delete([meta.path for meta in list(store.list(names.FOLDER))])
    location.context.invalidate(None)


VERBS: dict[str, Callable[[Location], object]] = {
    "append": lambda p: p.save("append", rows(100, 9, "appended")),
    "overwrite": lambda p: p.save("overwrite", rows(200, 9, "written over")),
    "replace partition": lambda p: p.save(
        "overwrite", rows(200, 4, "replaced", part=1), replaceWhere="part = 1"
    ),
    "replace rows": lambda p: p.save("overwrite", rows(3, 2, "replaced"), replaceWhere="id < 5"),
    "dynamic overwrite": lambda p: p.save(
        "overwrite", rows(200, 4, "dynamic", part=2), partitionOverwriteMode="dynamic"
    ),
    "delete": lambda p: change(p, "DELETE", "id < 10"),
    "update": lambda p: change(p, "UPDATE", "id < 10", "updated"),
    "merge into": lambda p: change(p, "MERGE", "id < 10", "merged", more=4),
    "merge splits": lambda p: p.sql("MERGE SPLITS '{path}' TARGET SIZE 100M"),
    "reindex": lambda p: p.sql("REINDEX INDEXTABLES '{path}' INDEXING MODES ('text':'text')"),
    "drop partitions": lambda p: p.sql("DROP INDEXTABLES PARTITIONS FROM '{path}' WHERE part = 1"),
    "alter": lambda p: tables.alter(p.request(changes=[{"set": "note", "value": "1"}])),
    "restore": lambda p: p.sql("RESTORE INDEXTABLES '{path}' TO VERSION AS OF 1"),
    "stream": stream,
}
# on a table with a primary key
KEYED_VERBS: dict[str, Callable[[Location], object]] = {
    "upsert": lambda p: p.save("append", rows(10, 10, "upserted")),
    "keyed overwrite": VERBS["overwrite"],
    "keyed replace rows": VERBS["replace rows"],
    "keyed delete": VERBS["delete"],
    "keyed update": VERBS["update"],
    "keyed merge into": VERBS["merge into"],
}
# on a path without a table
FIRST_VERBS: dict[str, Callable[[Location], object]] = {
    "create": lambda p: p.save("errorifexists", rows(0, 9, "created")),
    "first append": lambda p: p.save("append", rows(0, 9, "created")),
    "first overwrite": lambda p: p.save("overwrite", rows(0, 9, "created")),
}
ALL = [*VERBS, *KEYED_VERBS, *FIRST_VERBS, "repair"]
_numbers = itertools.count()


def prepared(verb: str, root: str, options: dict[str, str] | None = None) -> Location:
    """Make a new table for a verb."""
    location = Location(f"{root}/verb{next(_numbers)}", options or {}, verb in KEYED_VERBS)
    if verb in FIRST_VERBS:
        return location
    if options is None:
        shutil.copytree(_template(location.keyed), location.path)
    else:
        location.make()
    if verb == "repair":
        lose_log(location)
    return location


@cache
def _template(keyed: bool) -> str:
    """Make the table on local disk once; tests copy it."""
    folder = tempfile.mkdtemp(prefix="indextables-verbs-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Location(f"{folder}/table", keyed=keyed).make().path


@cache
def expected(verb: str) -> list[Row]:
    """The rows after a verb, on a table without failures."""
    with tempfile.TemporaryDirectory(prefix="indextables-verbs-") as folder:
        location = prepared(verb, folder)
        run(verb, location)
        return location.rows()


def run(verb: str, location: Location) -> None:
    everything = {**VERBS, **KEYED_VERBS, **FIRST_VERBS, "repair": repair}
    everything[verb](location)


def check_whole(location: Location) -> None:
    """Check that all files of all versions exist, and that no commit occurs twice."""
    log = location.context.log(location.path)
    listing = log.reader.listing()
    seen = []
    for version in listing.versions:
        commit = log.reader.commit(version)
        assert commit is not None
        if commit.info is not None:
            seen.append(commit.info.id)
        files = log.snapshot(version).files()
        for path in files["path"].to_pylist():
            assert log.store.head(path) is not None, f"version {version} has lost {path}"
    assert len(seen) == len(set(seen)), "a commit occurs twice"
