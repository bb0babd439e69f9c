"""Timestamps of a companion's partitions, in sessions of several time zones."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from indextables.api.ask import open_table, predicates_of
from indextables.errors import IndexTablesError
from indextables.expr.aggregation import Aggregation, Function
from indextables.expr.predicate import Column
from indextables.read.request import ScanRequest
from indextables.read.scan import count_scan, plan_scan, run_scan
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext

NOON = datetime(2024, 7, 1, 12, tzinfo=UTC)
WHERE = "hour = timestamp'2024-07-01 12:00:00'"


@pytest.fixture
def table(tmp_path):
    """The companion of a Delta table that is partitioned by a timestamp."""
    source, index = str(tmp_path / "source"), str(tmp_path / "index")
    hours = pa.array([NOON] * 3, pa.timestamp("us", "UTC"))
    write_deltalake(source, pa.table({"id": [1, 2, 3], "hour": hours}), partition_by=["hour"])
    execute(
        f"BUILD INDEXTABLES COMPANION FOR DELTA '{source}' AT LOCATION '{index}'", LocalContext({})
    )
    return open_table(index, {})


def requests(table) -> dict[str, ScanRequest]:
    """Reads that depend on the values of the partition column."""
    schema = table.snapshot.schema.to_arrow_schema()
    group = Aggregation((Column(("hour",)),), (Function("COUNT_STAR"),))
    return {
        "output": ScanRequest(schema, here=True, time_zone="Europe/Berlin"),
        "predicate": ScanRequest(
            predicates=predicates_of(table, WHERE), here=True, time_zone="Europe/Berlin"
        ),
        "group": ScanRequest(aggregation=group, here=True, time_zone="Europe/Berlin"),
    }


@pytest.mark.parametrize("which", ["output", "predicate", "group"])
def test_values_that_depend_on_the_zone_are_refused(table, which):
    request = requests(table)[which]
    run = count_scan if which == "predicate" else run_scan
    with pytest.raises(IndexTablesError, match=r"`hour`.*Europe/Berlin") as failed:
        run(plan_scan(table, request))
    assert failed.value.code == "COMPANION_TIME_ZONE"


def test_other_columns_and_utc_are_read(table):
    ids = pa.schema([pa.field("id", pa.int64())])
    elsewhere = ScanRequest(
        ids, predicates_of(table, "id > 1"), here=True, time_zone="Europe/Berlin"
    )
    assert run_scan(plan_scan(table, elsewhere))["id"].to_pylist() == [2, 3]
    here = ScanRequest(predicates=predicates_of(table, WHERE), here=True, time_zone="Etc/UTC")
    assert count_scan(plan_scan(table, here)) == 3
    everything = ScanRequest(table.snapshot.schema.to_arrow_schema(), here=True)
    assert run_scan(plan_scan(table, everything))["hour"].to_pylist() == [NOON] * 3
