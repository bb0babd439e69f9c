"""The table of tokens in docs/concepts/tokenizers.md matches the engine."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

import indextables

PAGE = Path(__file__).resolve().parents[2] / "docs" / "concepts" / "tokenizers.md"
TEXT = PAGE.read_text("utf-8").partition("What they do")[2].partition("What follows")[0]
ROWS = [
    [re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split("|")]
    for line in TEXT.splitlines()
    if line.startswith("| `")
]
CASES = [
    (tokenizer, row[0][0], row[column])
    for row in ROWS
    for column, tokenizer in ((1, "default"), (2, "en_stem"), (3, "whitespace"), (3, "raw"))
]


def test_the_table_is_read():
    assert len(CASES) == 20


@pytest.mark.parametrize(("tokenizer", "value", "tokens"), CASES)
def test_tokens_of_a_value(tmp_path, tokenizer: str, value: str, tokens: list[str]):
    """A value of the listed tokens is found by the same words, and not by parts of them."""
    options = {"indexing.typemap.m": "text", "indexing.tokenizer.m": tokenizer}
    table = indextables.write(pa.table({"m": [value]}), str(tmp_path / "t"), options=options)
    assert [token for token in tokens if not table.count(query=f'm:"{token}"')] == []
    parts = {part for part in re.split(r"[^A-Za-z0-9]+", value) if part} - set(tokens)
    unlisted = [part for part in parts if part.lower() not in tokens and tokenizer != "en_stem"]
    assert [part for part in unlisted if table.count(query=f'm:"{part}"')] == []
