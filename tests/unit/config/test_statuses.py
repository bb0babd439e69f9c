"""The registry is right about keys: used keys are used somewhere."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from indextables.config.option import Option, Status

SOURCE = Path(__file__).resolve().parents[3] / "python" / "indextables"
ROOMS = ("cache", "companion", "indexing", "log", "maintenance", "read", "rows", "storage", "write")
WORDS = {
    word
    for path in SOURCE.rglob("*.py")
    if path.parent.name != "config"
    for word in re.findall(r"\b[A-Z][A-Z0-9_]+\b", path.read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("room", ROOMS)
def test_used_keys_are_used(room):
    declared = vars(import_module(f"indextables.config.{room}"))
    unused = {
        name
        for name, option in declared.items()
        if isinstance(option, Option) and option.status is Status.USED and name not in WORDS
    }
    assert unused == set(), "move these to ignored.toml, or use them"
