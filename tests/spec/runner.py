"""Run a spec file through one door."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path

import pytest
from tests.spec.language import Block, read_blocks, read_table, shown
from tests.spec.tables import append, arrow_rows, create, write_delta, write_parquet

from indextables.commands.registry import output_of
from indextables.errors import IndexTablesError, from_text
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext
from indextables.sql.parser import parse
from indextables.storage import open_store


class LocalDoor:
    """Commands without Spark, on paths or on names of a mapping."""

    def __init__(self, place, scratch: Path, *, by_name: bool) -> None:
        self.place, self.scratch, self.by_name = place, scratch, by_name
        self.context = LocalContext(session=place.options)

    def register(self, name: str) -> None:
        if self.by_name:
            self.context.tables = {**self.context.tables, f"spec.{name}": self.place.path(name)}

    def session(self, key: str, value: str) -> None:
        self.context.session = {**self.context.session, key: value}

    def run(self, text: str) -> tuple[list[str], list[dict]]:
        table = execute(text, self.context)
        return table.column_names, table.to_pylist()

    def close(self) -> None:
        pass


class SparkDoor:
    """Commands through `spark.sql`, on paths or on catalog tables."""

    def __init__(self, place, scratch: Path, spark, *, by_name: bool) -> None:
        self.place, self.scratch, self.spark, self.by_name = place, scratch, spark, by_name
        self.context = LocalContext(session=place.options)
        self._set: list[str] = []
        self._named: list[str] = []
        for key, value in place.options.items():
            self.session(key, value)
        if by_name:
            spark.sql("CREATE DATABASE IF NOT EXISTS spec")

    def register(self, name: str) -> None:
        if self.by_name:
            self.spark.sql(f"DROP TABLE IF EXISTS spec.{name}")
            path = self.place.path(name)
            self.spark.sql(f"CREATE TABLE spec.{name} USING indextables LOCATION '{path}'")
            self._named.append(name)

    def session(self, key: str, value: str) -> None:
        self.spark.conf.set(key, value)
        self._set.append(key)

    def run(self, text: str) -> tuple[list[str], list[dict]]:
        frame = self.spark.sql(text)
        return frame.columns, [row.asDict(recursive=True) for row in frame.collect()]

    def close(self) -> None:
        # the store must still be running: Spark loads a table before it drops it
        for name in self._named:
            self.spark.sql(f"DROP TABLE IF EXISTS spec.{name}")
        for key in self._set:
            self.spark.conf.unset(key)


class Run:
    """One spec file at one door."""

    def __init__(self, path: Path, door) -> None:
        self.path, self.door, self.tables = path, door, {}

    def all(self) -> None:
        try:
            for block in read_blocks(self.path):
                __tracebackhide__ = True
                try:
                    getattr(self, f"do_{block.kind}")(block)
                except (AssertionError, IndexTablesError) as failure:
                    pytest.fail(f"{self.path.name}:{block.line}: {failure}", pytrace=False)
        finally:
            self.door.close()

    def log(self, name):
        # another process may have committed: drop cached logs
        log = self.door.context.log(self.door.place.path(name))
        log.invalidate()
        return log

    def command(self, block: Block) -> str:
        def replace(found):
            name, _, kind = found[1].partition(".")
            if kind == "path" or not self.door.by_name:
                return f"'{self.door.place.path(name)}{found[2] or ''}'"
            return f"spec.{name}"

        return re.sub(r"\$\{([\w.]+)\}(/[\w/.-]+)?", replace, block.command)

    def do_create(self, block):
        spec = read_table(block.rest)
        self.tables[spec.name] = spec
        create(self.log(spec.name), spec)
        self.door.register(spec.name)

    def do_append(self, block):
        append(self.log(block.rest), self.tables[block.rest], block.body)

    def do_source(self, block):
        spec = read_table(block.rest)
        self.tables[spec.name] = spec

    def do_file(self, block):
        name, path = block.rest.split()
        rows = arrow_rows(self.tables[name], block.body)
        # partition values are in folder names, not in the file
        kept = [column for column in rows.column_names if f"{column}=" not in path]
        store = open_store(self.door.place.path(name), self.door.context.settings({}))
        write_parquet(store, f"{path}.parquet", rows.select(kept))

    def do_delta(self, block):
        rows = arrow_rows(self.tables[block.rest], block.body)
        write_delta(self.door.place.path(block.rest), self.door.context.settings({}), rows)

    def do_session(self, block):
        key, value = block.rest.split()
        self.door.session(key, value.replace("${root}", str(self.door.scratch)))

    def do_age(self, block):
        name, hours = block.rest.split()
        self.door.place.age(name, float(hours))

    def do_remove(self, block):
        name, pattern = block.rest.split()
        gone = self.matching(name, pattern)
        assert gone, f"nothing matches {pattern}"
        self.door.place.remove(name, gone)

    def matching(self, name, pattern):
        return [file for file in self.door.place.files(name) if fnmatch.fnmatch(file, pattern)]

    def do_rows(self, block):
        name, wanted = block.rest.split()
        assert self.log(name).snapshot().num_records == int(wanted)

    def do_splits(self, block):
        name, wanted = block.rest.split()
        assert self.log(name).snapshot().num_files == int(wanted)

    def do_files(self, block):
        name, pattern, wanted = block.rest.split()
        assert len(self.matching(name, pattern)) == int(wanted)

    def do_statement(self, block):
        outcome, _, rest = block.rest.partition(" ")
        if outcome == "ok":
            self.door.run(self.command(block))
            return
        code, _, text = rest.partition(" ")
        with pytest.raises(Exception) as caught:
            self.door.run(self.command(block))
        found = caught.value if isinstance(caught.value, IndexTablesError) else None
        found = found or from_text(str(caught.value))
        assert found is not None, f"not an error of this package: {caught.value}"
        assert found.code == code, f"{found}"
        assert text in str(caught.value), f"`{text}` is not in: {caught.value}"

    def do_query(self, block):
        command = self.command(block)
        columns, rows = self.door.run(command)
        wanted = output_of(parse(command)).names
        assert columns == wanted, f"columns {columns}, not {wanted}"
        header, *expected = block.expected
        found = [[shown(_cell(row, name)) for name in header] for row in rows]
        assert len(found) == len(expected), f"{len(found)} rows, not {len(expected)}: {found}"
        for got, want in zip(found, expected, strict=True):
            pairs = zip(got, want, strict=True)
            assert all(w in ("*", g) for g, w in pairs), f"found {got}, not {want}"


def _cell(row, name):
    for part in name.split("."):
        row = row[part]
    return row
