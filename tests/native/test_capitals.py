"""Substrings of words are found through the terms of a column, in any case."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow as pa
import pytest

import indextables
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext

WORDS = (
    "timeout", "Timeout", "TIMEOUT", "timeOut", "banana", "banaNa", "plain", "only", "Only2",
    "größe", "Größe", "GRÖẞE", "Kelvin", "KELVIN", "kelvin", "\u212aelvin", "İstanbul", "istanbul",
    "x" * 31 + "Late", "x" * 31 + "late", "日本語", "ΟΔΟΣ", "οδος", "42", "7a7A", "é", "É",
)  # fmt: skip
PARTS = (
    "imeou", "time", "Time", "TIME", "meOu", "ana", "aNa", "an", "nan", "lai", "only", "Only",
    "röß", "RÖ", "elv", "ELV", "kel", "Kel", "K", "İs", "i", "stan", "xLa", "xla", "ate", "本",
    "ΔΟ", "δος", "ς", "Σ", "4", "a7", "7A", "é", "É", "out ban", "e-t", "absent", "ABSENT",
)  # fmt: skip
TEXT = {"indexing.typemap.message": "text"}


def make_rows(seed: int, first: int = 0) -> pa.Table:
    rng = random.Random(seed)

    def message() -> str | None:
        words = rng.choices(WORDS, k=rng.randint(0, 6))
        return None if rng.random() < 0.1 else rng.choice([" ", "-", ", "]).join(words)

    ids = pa.array(range(first, first + 800))
    return pa.table({"id": ids, "message": pa.array([message() for _ in ids], pa.string())})


def check(path: Path, rows: pa.Table) -> None:
    table = indextables.open(str(path))
    texts = [text for text in rows["message"].to_pylist() if text is not None]
    for part in PARTS:
        found = table.scan(["id", "message"], f"contains(message, '{part}')")
        assert all(part in text for text in found["message"].to_pylist()), part
        assert found.num_rows == sum(part in text for text in texts), part
        assert table.count(f"message LIKE '%{part}%'") == found.num_rows, part
        assert table.count(f"NOT contains(message, '{part}')") == len(texts) - found.num_rows
        if part.isascii():
            low = sum(part.lower() in text.lower() for text in texts)
            assert table.count(f"message ILIKE '%{part}%'") == low, part


@pytest.mark.parametrize("layout", ["compatible", "lean"])
def test_parts_of_words_are_found_before_and_after_merges(tmp_path, layout):
    options = {**TEXT, "indexing.layout": layout, "primary-key": "id"}
    first, second = make_rows(1), make_rows(2, first=400)
    indextables.write(first, str(tmp_path), options=options)
    check(tmp_path, first)
    indextables.write(second, str(tmp_path))
    both = pa.concat_tables([first.slice(0, 400), second])
    check(tmp_path, both)
    execute(f"MERGE SPLITS '{tmp_path}'", LocalContext())
    assert indextables.open(str(tmp_path)).num_files == 1
    check(tmp_path, both)


def test_parts_of_words_that_are_too_long_for_the_index_are_found(tmp_path):
    rows = pa.table({"id": range(900), "message": ["some words of a row"] * 899 + ["y" * 300]})
    for length, more in (("default", {}), ("short", {"indexing.tokenLength.message": "3"})):
        table = indextables.write(rows, str(tmp_path / length), options={**TEXT, **more})
        assert table.count("message LIKE '%yyy%'") == 1
        assert table.count("message LIKE '%ord%'") == 899


def test_values_are_not_read_where_the_terms_are_certain(tmp_path):
    starts = ("Timeout of a request", "a timeout", "nothing", "TIME is up")
    rng = random.Random(3)
    # more bytes than one checksum covers, so that opening the split does not meet the damage
    numbers = [" ".join(str(rng.randrange(1000)) for _ in range(20)) for _ in range(8000)]
    messages = [f"{starts[at % 4]} {text}" for at, text in enumerate(numbers)]
    rows = pa.table({"id": range(8000), "message": messages})
    options = {**TEXT, "indexing.layout": "lean"}
    indextables.write(rows, str(tmp_path), options=options)
    damage_rows(next((tmp_path / "splits").glob("*.split")))
    table = indextables.open(str(tmp_path))
    assert table.count("message LIKE '%imeou%'") == 4000
    assert table.count("message LIKE '%reques%'") == 2000
    assert table.count("message ILIKE '%Time%'") == 6000
    assert table.count("message LIKE '%QUES%'") == 0
    with pytest.raises(Exception, match="FILE_CORRUPT"):
        table.count("message LIKE '%Time%'")


def damage_rows(split: Path) -> None:
    """Change the first bytes of the stored rows of a split."""
    content = bytearray(split.read_bytes())
    hot = int.from_bytes(content[-4:], "little")
    end = len(content) - 8 - hot
    size = int.from_bytes(content[end : end + 4], "little")
    files = json.loads(content[end - size + 8 : end])["files"]
    start = next(file["start"] for name, file in files.items() if name.endswith(".store"))
    content[start : start + 64] = bytes(64)
    split.write_bytes(content)
