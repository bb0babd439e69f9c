"""The hooks know for every planner call whether it may be repeated."""

from __future__ import annotations

import re
from pathlib import Path

from indextables.spark.planner import OPERATIONS

RPC = Path(__file__).resolve().parents[2] / "jvm" / "src" / "Rpc.scala"
# a second call would change a table twice, or interfere with a running statement
ONCE = {
    "create",
    "adopt",
    "prepare_location",
    "replace",
    "alter",
    "finish_alter",
    "undo_alter",
    "evolve",
    "drop",
    "commit",
    "delete",
    "command",
    "command_next",
    "command_stop",
}


def test_a_call_is_repeatable_or_changes_something():
    found = re.search(r"val repeatable = Set\(([^)]*)\)", RPC.read_text("utf-8"))
    assert found is not None
    repeatable = set(re.findall(r'"(\w+)"', found[1]))
    assert repeatable.isdisjoint(ONCE)
    assert repeatable | ONCE == set(OPERATIONS)
