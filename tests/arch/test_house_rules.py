"""Project rules that no linter checks."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIMITS = {".py": 450, ".scala": 400, ".rs": 700}
# each file is one table by design: it grows by rows, not by logic
TABLES = {"python/indextables/errors.py", "python/indextables/_native.pyi"}


def tracked(*suffixes: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    paths = [ROOT / line for line in listed.stdout.splitlines()]
    return [p for p in paths if p.suffix in suffixes and p.is_file()]


def source(*suffixes: str) -> list[Path]:
    return [
        p for p in tracked(*suffixes) if p.relative_to(ROOT).parts[0] in {"python", "rust", "jvm"}
    ]


def lines_without_tests(path: Path) -> int:
    text = path.read_text("utf-8")
    return text.split("#[cfg(test)]")[0].count("\n")


@pytest.mark.parametrize("suffix", LIMITS)
def test_source_files_fit_a_reader(suffix: str):
    long = {
        str(p.relative_to(ROOT)): lines_without_tests(p)
        for p in source(suffix)
        if lines_without_tests(p) > LIMITS[suffix] and str(p.relative_to(ROOT)) not in TABLES
    }
    assert not long


def test_configuration_keys_are_spelled_only_in_config():
    literal = re.compile(r"""["']spark\.indextables\.""")
    elsewhere = [
        str(p.relative_to(ROOT))
        for p in source(".py", ".scala", ".rs")
        if "config" not in p.parts and literal.search(p.read_text("utf-8"))
    ]
    assert elsewhere == []


def test_no_file_names_a_machine_or_a_registry_host():
    # split in halves, so that this file does not match itself
    halves = ("pypi .org", "pythonhosted .org", "repo1. maven", "registry. npmjs",
              "static. crates.io", "index. crates.io", "/ root/", "/ work/")  # fmt: skip
    hosts = [half.replace(" ", "") for half in halves]
    found = [
        (str(p.relative_to(ROOT)), host)
        for p in tracked(
            ".py", ".rs", ".scala", ".md", ".toml", ".txt", ".slt", ".lock", ".json", ""
        )
        for host in hosts
        if host in p.read_text("utf-8", errors="replace")
    ]
    assert found == []


def test_no_vague_names_in_source():
    vague = re.compile(
        r"^ *(?:class|object|struct|trait) +\w*(?:Manager|Helper|Util)\b", re.MULTILINE
    )
    found = [
        str(p.relative_to(ROOT))
        for p in source(".py", ".scala", ".rs")
        if vague.search(p.read_text("utf-8"))
    ]
    assert found == []


def builders(*names: str) -> set[str]:
    """The packages that construct one of these classes; an unused name fails."""
    rooms = {name: set[str]() for name in names}
    for path in source(".py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                function = node.func
                name = getattr(function, "id", None) or getattr(function, "attr", None)
                if name in rooms:
                    rooms[name].add(path.parent.name)
    assert all(rooms.values())
    return set().union(*rooms.values())


def test_reads_are_planned_only_in_read():
    assert builders("ReadSpec", "ScanPlan", "Scan", "ScanTask") == {"read"}


def test_only_rooms_that_change_tables_build_transactions():
    assert builders("Transaction") <= {"save", "rows", "commands", "log"}


def test_kernels_are_imported_when_the_first_one_is_called():
    found = [p.name for p in source(".py") if "import pyarrow.compute" in p.read_text("utf-8")]
    assert found == ["kernels.py"]


def test_words_of_commands_stand_only_in_commands():
    """The parser hook has them as a generated resource; all other code renders commands."""
    # the operation names in version files, and the statements of the demo
    elsewhere = {"python/indextables/log/transaction.py", "python/indextables/spark/demo.py"}
    from indextables.commands.grammar import words_of
    from indextables.commands.registry import RULES

    # matched with their opening quote, so that prose may name them
    starts = {" ".join(rule.start.replace(" IX", "").split()[:2]) for rule in RULES}
    phrases = {f'"{start}' for start in starts if " " in start and "|" not in start}
    verbs = {word for rule in RULES for word in words_of(rule.start)[0]} - {"SET", "DROP", "MERGE"}
    phrases |= {f'"{verb}"' for verb in verbs}
    found = [
        (str(p.relative_to(ROOT)), phrase)
        for p in source(".py", ".scala")
        if "commands" not in p.relative_to(ROOT).parts and str(p.relative_to(ROOT)) not in elsewhere
        for phrase in phrases
        if phrase in p.read_text("utf-8")
    ]
    assert found == []
