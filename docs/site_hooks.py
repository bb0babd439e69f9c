"""Hooks of the documentation site: pages from the root of the repository, and a complete menu."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
# pages outside docs/ and their names on the site
_ROOT_PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
# where the menu shows pages that mkdocs.yml does not list, by folder; the others are reference
_SECTIONS = {
    "adr": "Decisions",
    "concepts": "Concepts",
    "guides": "Guides",
    "operations": "Operations",
}


def on_config(config: Any) -> Any:
    """Add the pages that mkdocs.yml does not list to the section of their folder."""
    docs = Path(config["docs_dir"])
    listed = set(_listed(config["nav"]))
    for page in sorted(docs.rglob("*.md")):
        name = page.relative_to(docs).as_posix()
        if name not in listed:
            folder = name.rpartition("/")[0]
            _section(config["nav"], _SECTIONS.get(folder, "Reference")).append(name)
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages at the root of the repository."""
    for source, name in _ROOT_PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        for other, shown in _ROOT_PAGES.items():
            text = text.replace(f"]({other})", f"]({shown})")
        files.append(File.generated(config, name, content=text))
    return files


def _listed(nav: list[Any]) -> list[str]:
    found: list[str] = []
    for entry in nav:
        if isinstance(entry, str):
            found.append(entry)
            continue
        for value in entry.values():
            found += [value] if isinstance(value, str) else _listed(value)
    return found


def _section(nav: list[Any], title: str) -> Any:
    """Return the list of pages of a section, wherever it is in the menu."""
    for entry in nav:
        if not isinstance(entry, dict):
            continue
        for name, value in entry.items():
            if name == title:
                return value
            if isinstance(value, list):
                try:
                    return _section(value, title)
                except KeyError:
                    continue
    raise KeyError(title)

