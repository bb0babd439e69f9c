"""The plan of a companion's fields is cached until an input changes."""

from __future__ import annotations

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import indextables
from indextables.api.ask import open_table
from indextables.config.settings import resolve
from indextables.read.companion import version_of
from indextables.read.companion_plan import definition_of, plan_as_indexed, plan_at
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext


@pytest.fixture
def place(tmp_path):
    """A Delta table of two columns, and its companion."""
    source, index = str(tmp_path / "source"), str(tmp_path / "index")
    write_deltalake(source, pa.table({"id": [1, 2], "word": ["a", "b"]}))
    build(source, index)
    return source, index


def build(source: str, index: str) -> None:
    execute(
        f"BUILD INDEXTABLES COMPANION FOR DELTA '{source}' AT LOCATION '{index}'",
        LocalContext({}),
    )


def planned(index: str, options: dict[str, str] | None = None):
    table = open_table(index, options or {}, None)
    snapshot, settings = table.log.snapshot(), table.settings
    source, _ = version_of(definition_of(snapshot), snapshot, settings)
    return plan_at(snapshot, source, settings)


def test_one_plan_serves_all_queries_of_a_version(place):
    _, index = place
    assert planned(index) is planned(index)
    snapshot = open_table(index, {}).log.snapshot()
    assert plan_as_indexed(snapshot, resolve()) is plan_as_indexed(snapshot, resolve())


def test_other_settings_have_a_plan_of_their_own(place):
    _, index = place
    kept = [
        field.get("kept") for field in planned(index, {"companion.storedColumns": "word"}).fields
    ]
    assert kept == [None, True]
    assert [field.get("kept") for field in planned(index).fields] == [None, None]


def test_a_column_that_the_source_gets_is_planned(place):
    source, index = place
    assert indextables.open(index).schema.names == ["id", "word"]
    more = pa.table({"id": [3], "word": ["c"], "more": [1.5]})
    write_deltalake(source, more, mode="append", schema_mode="merge")
    assert [field["name"] for field in planned(index).fields] == ["id", "word", "more"]
    assert indextables.open(index).count("more = 1.5") == 1


def test_another_index_in_its_place_is_planned_anew(place, tmp_path):
    source, index = place
    first = planned(index)
    (tmp_path / "index").rename(tmp_path / "before")
    build(source, index)
    again = planned(index)
    assert again is not first
    assert again.metadata.id != first.metadata.id
    assert DeltaTable(source).version() == 0
