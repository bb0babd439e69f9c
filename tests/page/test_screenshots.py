"""The screenshots of the guide: `make screenshots` writes them, every test run compares them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.page.conftest import DESKTOP, PHONE

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
SHOTS = {
    "page-search": ("search?q=timeout+AND+payment&f.level=ERROR&f.level=WARN", DESKTOP, "light"),
    "page-search-dark": ("search?q=%22connection+reset%22", DESKTOP, "dark"),
    "page-table": ("table", DESKTOP, "light"),
    "page-history": ("history?from=3&to=4", DESKTOP, "light"),
    "page-health": ("health", {"width": 1280, "height": 560}, "light"),
    "page-phone": ("search?q=timeout", PHONE, "light"),
}
RENAME = """(folder) => {
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        walk.currentNode.data = walk.currentNode.data.replaceAll(folder, '/data');
    }
}"""


@pytest.mark.parametrize("name", SHOTS)
def test_a_picture_of_the_guide(name, look, site, folder, tmp_path):
    address, viewport, scheme = SHOTS[name]
    page = look(site.url("events", address), viewport=viewport, scheme=scheme)
    page.wait_for_load_state("networkidle")
    # hide the folder that the tests run in
    page.evaluate(RENAME, str(folder))
    keeps = os.environ.get("INDEXTABLES_SCREENSHOTS")
    target = (IMAGES if keeps else tmp_path) / f"{name}.png"
    page.screenshot(path=target)
    assert target.stat().st_size > 10_000


def test_the_guide_shows_exactly_these_pictures():
    guide = (IMAGES.parent / "guides" / "page.md").read_text("utf-8")
    assert {path.stem for path in IMAGES.glob("page-*.png")} == set(SHOTS)
    for name in SHOTS:
        assert f"../images/{name}.png" in guide
