"""Every Python and SQL block that a reader can copy runs, in page order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(python|sql)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text("utf-8"))


@pytest.mark.spark
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: p.stem)
def test_the_blocks_of_a_page_run(page: Path, spark: Any, tmp_path: Path, monkeypatch: Any):
    """Paths under /tmp become paths in the test's folder; `spark` is the test's session."""
    monkeypatch.chdir(tmp_path)
    before = set(spark.conf.getAll)
    try:
        run(page, spark, tmp_path)
    finally:
        for key in set(spark.conf.getAll) - before:
            spark.conf.unset(key)
        # a page does not see the views of other pages
        for view in spark.catalog.listTables():
            if view.isTemporary:
                spark.catalog.dropTempView(view.name)


def run(page: Path, spark: Any, tmp_path: Path) -> None:
    names: dict[str, Any] = {"spark": spark}
    for language, text in blocks(page):
        here = text.replace("/tmp/", f"{tmp_path}/")
        if language == "python":
            exec(compile(here, str(page), "exec"), names)
        else:
            for statement in filter(str.strip, re.split(r";\s*(?:\n|$)", here)):
                spark.sql(statement).collect()
