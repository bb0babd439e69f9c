"""Words that are typical of the rows that a search finds."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
import pytest

import indextables
from indextables.errors import IndexTablesError

COMMON = ["request", "of", "user", "the", "service"]
TYPICAL = {"disk": ["full", "node"], "network": ["peer", "reset"]}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    rng = random.Random(3)
    topics = [rng.choice([*TYPICAL, "quiet"]) for _ in range(900)]
    texts = [
        " ".join(
            [
                topic,
                *rng.sample(COMMON, 3),
                *(w for w in TYPICAL.get(topic, ()) if rng.random() < 0.7),
            ]
        )
        for topic in topics
    ]
    path = str(tmp_path_factory.mktemp("significant") / "table")
    rows = pa.table({"id": range(900), "topic": topics, "message": [*texts[:-1], None]})
    for start in range(0, 900, 300):
        options = {"indexing.typemap.message": "text"}
        indextables.write(rows.slice(start, 300), path, options=options)
    return indextables.open(path), rows.to_pylist()


def expected(rows: list[dict], chosen: list[dict]) -> dict[str, tuple[int, int, float]]:
    def count(of: list[dict]) -> Counter[str]:
        return Counter(word for row in of for word in {*(row["message"] or "").split()})

    everywhere, here = count(rows), count(chosen)
    found = {}
    for word, number in here.items():
        share, of_all = number / len(chosen), everywhere[word] / len(rows)
        if number > 1 and share > of_all:
            found[word] = (number, everywhere[word], (share - of_all) * share / of_all)
    return found


@pytest.mark.parametrize("topic", TYPICAL)
def test_typical_words_are_those_of_a_count_in_python(written, topic):
    table, rows = written
    wanted = expected(rows, [row for row in rows if topic in (row["message"] or "").split()])
    found = table.significant_terms("message", f"message:{topic}", limit=100).to_pylist()
    assert {
        f["word"]: (f["rows"], f["all_rows"], pytest.approx(f["score"])) for f in found
    } == wanted
    assert {f["word"] for f in found[:3]} == {topic, *TYPICAL[topic]}
    assert [f["score"] for f in found] == sorted((f["score"] for f in found), reverse=True)


def test_conditions_columns_and_limits(written):
    table, rows = written
    wanted = expected(rows, [row for row in rows if row["topic"] == "disk"])
    found = table.significant_terms("message", where="topic = 'disk'", limit=2)
    assert found["word"].to_pylist() == sorted(wanted, key=lambda w: -wanted[w][2])[:2]
    values = table.significant_terms("topic", "peer")
    assert values["word"].to_pylist() == ["network"]
    assert table.significant_terms("message", "nosuchword").num_rows == 0
    few = table.significant_terms("message", "disk", sample=20, limit=100)
    assert max(few["rows"].to_pylist()) == 20
    for column in ("id", "nosuch"):
        with pytest.raises(IndexTablesError, match="COLUMN_UNKNOWN"):
            table.significant_terms(column, "disk")
