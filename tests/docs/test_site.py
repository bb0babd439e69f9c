"""The menu of the documentation site lists every page once."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HOOKS: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "site_hooks.py"))


def test_pages_that_are_not_listed_go_to_the_section_of_their_folder(tmp_path):
    for name in ("index.md", "guides/listed.md", "guides/new.md", "adr/0001.md", "top.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("# Page\n")
    nav: list[Any] = [
        {"Home": "index.md"},
        {"Guides": ["guides/listed.md"]},
        {"Reference": []},
        {"About": [{"Decisions": []}]},
    ]
    HOOKS["on_config"]({"docs_dir": str(tmp_path), "nav": nav})
    assert nav == [
        {"Home": "index.md"},
        {"Guides": ["guides/listed.md", "guides/new.md"]},
        {"Reference": ["top.md"]},
        {"About": [{"Decisions": ["adr/0001.md"]}]},
    ]
