"""Pages name every option, command, error and public function, and none that does not exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from typer.main import get_command

from indextables.cli.app import app
from indextables.commands.grammar import PRODUCT, shown_words
from indextables.commands.registry import RULES
from indextables.config.option import PREFIX
from indextables.config.registry import OPTIONS
from indextables.errors import CODES

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "python" / "indextables"
# decisions describe the past, and docs/words.md lists phrases to avoid
PAGES = [
    ROOT / "README.md",
    *(p for p in sorted(DOCS.rglob("*.md")) if p.parent.name != "adr" and p.name != "words.md"),
]
CODE = re.compile(r"`([^`\n]+)`")
BLOCK = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
# words that look like error codes
OTHER_CAPITALS = re.compile(
    r"(AWS|AZURE|GOOGLE|PYSPARK|SPARK|JAVA|INDEXTABLES|HADOOP|KRB5)_\w+"
    r"|(CURRENT|EXISTS)_DEFAULT|TIMESTAMP_NTZ|DRY_RUN|\w*_PER_\w*"
)
STATEMENT = re.compile(r"(DESCRIBE|FLUSH|INVALIDATE|PREWARM|PURGE|COMPACT|RESET|WAIT FOR)\b[A-Z ]*")
CLI = set(get_command(app).commands)
KEYS = {option.full_key if not option.bare else option.key for option in OPTIONS}
SHORT = {key.removeprefix(PREFIX) for key in KEYS} | {a for o in OPTIONS for a in o.aliases}
FIRST_PARTS = {key.partition(".")[0] for key in SHORT if "." in key}


def _title(words: str) -> str:
    return " ".join(word for word in words.split() if word not in PRODUCT)


TITLES = {_title(shown_words(rule.start)) for rule in RULES}


def inline(page: Path) -> list[str]:
    """The inline code of a page."""
    return CODE.findall(BLOCK.sub("", page.read_text("utf-8")))


def _key_problem(text: str) -> bool:
    key = text.removeprefix(PREFIX).partition("=")[0].strip()
    named = key.removesuffix(".*").rstrip(".")
    known = any(k == named or k.startswith(f"{named}.") or named.startswith(f"{k}.") for k in SHORT)
    return not known


def looks_like_key(text: str) -> bool:
    if text.startswith(PREFIX):
        return text != PREFIX
    shape = re.fullmatch(r"[a-z0-9]+(\.[A-Za-z0-9]+)+(\.\*)?", text) is not None
    return shape and text.partition(".")[0] in FIRST_PARTS - {"catalog"}


def problems(page: Path) -> list[str]:
    """Names on a page that the package does not have."""
    found = []
    for text in inline(page):
        if looks_like_key(text) and _key_problem(text):
            found.append(f"no such key: {text}")
        code = re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+", text)
        if code and text not in CODES and not OTHER_CAPITALS.fullmatch(text):
            found.append(f"no such error: {text}")
        verb = re.match(r"indextables ([a-z]+)", text)
        if verb and verb[1] not in CLI:
            found.append(f"no such command: {text}")
        words = STATEMENT.match(text)
        if words and len(words[0].split()) > 1:
            title = _title(words[0])
            if not any(title.startswith(known) or known.startswith(title) for known in TITLES):
                found.append(f"no such statement: {text}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_names_only_what_exists(page: Path):
    assert problems(page) == []


def test_names_that_do_not_exist_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "`spark.indextables.read.mod` `read.nothing` `COMMIT_CONFLIKT` `indextables serch t` "
        "`DESCRIBE INDEXTABLES WEATHER` and `read.mode`, `COMMIT_CONFLICT`, `MERGE SPLITS`"
    )
    assert len(problems(page)) == 5


def _text(*names: str) -> str:
    return "\n".join((DOCS / name).read_text("utf-8") for name in names)


def test_every_key_is_on_the_page_of_keys():
    page = _text("configuration.md")
    assert [key for key in KEYS if f"`{key}`" not in page and f"`{key}.<" not in page] == []


def test_every_error_is_on_the_page_of_errors():
    page = _text("errors.md")
    assert [code for code in CODES if f"| `{code}` |" not in page] == []


def test_every_statement_and_command_has_a_section():
    page = _text("sql.md")
    missing = [rule for rule in RULES if " ".join(shown_words(rule.start).split()[:1]) not in page]
    assert missing == []
    assert [verb for verb in CLI if f"\n## {verb}\n" not in _text("cli.md")] == []


def _public(file: str, owner: str) -> list[str]:
    tree = ast.parse((PACKAGE / file).read_text("utf-8"))
    body = next(n.body for n in tree.body if isinstance(n, ast.ClassDef) and n.name == owner)
    names = [n.name for n in body if isinstance(n, ast.FunctionDef)]
    return [name for name in names if not name.startswith("_")]


def test_every_public_function_is_on_the_page_of_python():
    import indextables

    page = _text("python.md")
    functions = [name for name in indextables.__all__ if name.islower() and name[0] != "_"]
    methods = [*_public("api/table.py", "IndexTable"), *_public("api/local.py", "Table")]
    assert [name for name in [*functions, *methods] if f"\n### {name}\n" not in page] == []
