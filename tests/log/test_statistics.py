"""How much of a string the log keeps as its minimum and maximum."""

from __future__ import annotations

import pyarrow as pa
import pytest

import indextables
from indextables.config.option import PREFIX
from indextables.log import open_log
from indextables.storage import open_store


@pytest.mark.parametrize(
    ("options", "length"),
    [
        ({}, 32),
        ({"stats.truncation.maxLength": "8"}, 8),
        ({"stats.truncation.maxLength": "64"}, 64),
        ({"stats.truncation.maxLength": "200"}, 100),
        ({"stats.truncation.enabled": "false"}, 100),
        ({"stats.truncation.enabled": "false", "stats.truncation.maxLength": "8"}, 100),
    ],
)
def test_strings_are_cut_where_the_settings_say(tmp_path, options, length):
    path = str(tmp_path / "t")
    given = {PREFIX + key: value for key, value in options.items()}
    indextables.write(pa.table({"s": ["a" * 100, "b" * 100]}), path, options=given)
    (row,) = open_log(open_store(path)).snapshot().files().to_pylist()
    low, high = dict(row["minValues"])["s"], dict(row["maxValues"])["s"]
    assert low == "a" * length
    assert high == ("b" * 100 if length == 100 else "b" * (length - 1) + "c")
