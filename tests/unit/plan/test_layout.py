"""Distribution and order of rows before they are written."""

from __future__ import annotations

import pytest

from indextables.config.settings import resolve
from indextables.model.types import Array, Atomic, Field, Struct
from indextables.plan.layout import Layout, plan_layout

SCHEMA = Struct(
    (
        Field("tags", Array(Atomic("string"))),
        Field("id", Atomic("long")),
        Field("day", Atomic("date")),
    )
)
ON = {"write.optimizeWrite.enabled": "true", "write.optimizeWrite.targetSplitSize": "100M"}


def test_partitions_come_together_and_in_order():
    assert plan_layout(SCHEMA, ("day",), resolve({})) == Layout(("day",), ("day",))


def test_nothing_is_moved_when_there_are_no_partitions():
    assert plan_layout(SCHEMA, (), resolve({})) == Layout()


@pytest.mark.parametrize(("partitions", "cluster"), [((), ("id",)), (("day",), ("day",))])
def test_optimised_writing_asks_for_tasks_of_a_size(partitions, cluster):
    found = plan_layout(SCHEMA, partitions, resolve(ON))
    assert found == Layout(cluster, partitions, int((100 << 20) * 1.1))


def test_optimised_writing_can_leave_rows_where_they_are():
    settings = resolve({**ON, "write.optimizeWrite.distributionMode": "none"})
    assert plan_layout(SCHEMA, (), settings) == Layout()


def test_changed_rows_without_partitions_are_not_moved():
    assert plan_layout(SCHEMA, (), resolve(ON), whole_rows=False) == Layout()
