"""Links between pages, to files of the repository, and in the README work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
# pages of the site that are files in the root of the repository (docs/site_hooks.py)
ON_THE_SITE = {"architecture.md", "changelog.md", "contributing.md", "security.md"}


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and mkdocs generate them."""
    found = set()
    for heading in re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text("utf-8")), re.MULTILINE):
        plain = re.sub(r"[`*_]", "", heading).strip().lower()
        found.add(re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", plain)))
    return found


def broken(page: Path) -> list[str]:
    """The broken links of a page."""
    found = []
    for link in LINK.findall(BLOCK.sub("", page.read_text("utf-8"))):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        name, _, anchor = link.partition("#")
        target = page if not name else (page.parent / name).resolve()
        if target.parent == ROOT / "docs" and target.name in ON_THE_SITE:
            target = ROOT / target.name.replace(target.stem, target.stem.upper())
        if not target.exists() or (anchor and anchor not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path):
    assert broken(page) == []


def test_broken_links_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One\n[a](page.md#one) [b](page.md#two) [c](other.md) [d](#one)\n")
    assert broken(page) == ["page.md#two", "other.md"]
