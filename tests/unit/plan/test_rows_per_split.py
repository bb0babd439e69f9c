"""The number of rows that fill a split."""

from __future__ import annotations

import pytest

from indextables.config.settings import resolve
from indextables.plan.layout import rows_per_split

BALANCED = {
    "write.optimizeWrite.enabled": "true",
    "write.optimizeWrite.distributionMode": "balanced",
    "write.optimizeWrite.maxSplitSize": "1M",
}


def test_the_rows_so_far_tell_how_many_fill_a_split():
    assert rows_per_split(10_000, 10 << 20, resolve(BALANCED)) == 1000


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (9_999, {}),
        (None, {}),
        (10_000, {"write.optimizeWrite.distributionMode": "hash"}),
        (10_000, {"write.optimizeWrite.enabled": "false"}),
        (10_000, {"write.optimizeWrite.minRowsForEstimation": "10001"}),
    ],
)
def test_nothing_is_said_when_rows_are_few_or_nobody_asks(rows, options):
    assert rows_per_split(rows, 10 << 20, resolve({**BALANCED, **options})) is None
