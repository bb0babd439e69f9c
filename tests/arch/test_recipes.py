"""The recipes of CONTRIBUTING.md name a few files, which exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# the maximum number of source files that a change touches
LIMITS = {
    "A column type": 9,
    "A push-down expression": 6,
    "A log action": 4,
    "A storage backend": 4,
}
NAMED = re.compile(r"`([\w./{},]+\.(?:py|rs|scala|toml))`")


def recipes() -> dict[str, str]:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("## Recipes")[1].split("\n## ")[0]
    parts = re.split(r"^- \*\*(.+?)\*\*: ", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def files(recipe: str) -> list[Path]:
    """The files that a recipe names; paths without a top folder are in the Python package."""
    found = []
    for name in NAMED.findall(recipe):
        braces = re.search(r"\{(.+)\}", name)
        names = (
            [name.replace(braces[0], each) for each in braces[1].split(",")] if braces else [name]
        )
        tops = ("rust/", "jvm/", "tests/", "docs/")
        found += [
            ROOT / each if each.startswith(tops) else ROOT / "python" / "indextables" / each
            for each in names
        ]
    return found


def test_recipes_name_files_that_exist():
    named = [path for recipe in recipes().values() for path in files(recipe)]
    assert named
    assert [str(path) for path in named if not path.is_file()] == []


@pytest.mark.parametrize("title", LIMITS)
def test_a_change_touches_few_files(title):
    named = {path for path in files(recipes()[title]) if "tests" not in path.parts}
    assert 2 <= len(named) <= LIMITS[title]


@pytest.mark.parametrize("kind", ["byte", "short", "day_time", "year_month"])
def test_a_type_without_rules_of_its_own_is_named_in_few_files(kind):
    """Dates, timestamps and binary also have rules for buckets, casts and other table formats."""
    sources = [
        path
        for folder, suffix in (("python", "py"), ("rust/src", "rs"), ("jvm/src", "scala"))
        for path in (ROOT / folder).rglob(f"*.{suffix}")
    ]
    named = [path for path in sources if f'"{kind}"' in path.read_text("utf-8")]
    assert 1 <= len(named) <= LIMITS["A column type"]
