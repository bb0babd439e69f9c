"""Tokenizers and their filters: what is indexed, what is found, and what `analyze` shows."""

from __future__ import annotations

import pyarrow as pa
import pytest

import indextables
from indextables.engine.query import Query, match_rows
from indextables.errors import ConfigError
from indextables.plan.matching import describe_rows, query_tree


def make(tmp_path, values: list[str], **options: str):
    rows = pa.table({"id": range(len(values)), "m": values})
    given = {"indexing.typemap.m": "text", **{f"indexing.{k}.m": v for k, v in options.items()}}
    return rows, indextables.write(rows, str(tmp_path / "t"), options=given)


def ids(rows: pa.Table, table, text: str) -> list[int]:
    """The rows that an index finds, which must equal those matched without one."""
    columns = table._table.columns
    described = describe_rows(columns.schema.fields, columns, "any")
    compiled = Query(query_tree(text, "m", "any"))
    batch = rows.combine_chunks().to_batches()[0]
    matched = rows.filter(match_rows(compiled, batch, described))["id"].to_pylist()
    found = sorted(table.search(f"m:({text})", ["id"], None)["id"].to_pylist())
    assert found == matched
    return found


TOKENIZERS = {
    "simple": ["abc", "def"],
    "lowercase": ["abc def"],
    "keyword": ["Abc Def"],
    "identifiers": ["abc", "def"],
    "chinese_compatible": ["abc", "def"],
    "source_code_default": ["abc", "def"],
    "source_code_with_hex": ["abc", "def"],
    "de_stem": ["abc", "def"],
    "ngram(3,3)": ["abc", "bc ", "c d", " de", "def"],
    "ngram(1, 2, prefix)": ["a", "ab"],
}


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_every_tokenizer_is_allowed(tmp_path, tokenizer: str):
    _, table = make(tmp_path, ["Abc Def"], tokenizer=tokenizer)
    assert [token.text for token in table.analyze("Abc Def", "m")] == TOKENIZERS[tokenizer]
    assert table.count(query="m:*") == 1


@pytest.mark.parametrize(
    "tokenizer", ["nope", "xx_stem", "ngram(0,2)", "ngram(3,2)", "ngram(1,99)"]
)
def test_another_name_is_refused(tmp_path, tokenizer: str):
    with pytest.raises(ConfigError, match="identifiers"):
        make(tmp_path, ["x"], tokenizer=tokenizer)


LOGS = [
    "Receiver dfs.DataNode$PacketResponder terminating",
    "mail to user@example.com failed",
    "GET https://api.example.com/v2/orders/42?full=1 404",
    "wrote /var/log/app/server.log at 0x7fFF, commit deadBeef01",
    "packet responder of a data node",
]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("PacketResponder", [0, 4]),
        ("packetresponder", [0]),
        ("packet", [0, 4]),
        ('"dfs.DataNode$PacketResponder terminating"', [0]),
        ("dfs.datanode*", [0]),
        ("user\\@example.com", [1]),
        ("example.com", [1, 2]),
        ("orders", [2]),
        ("/var\\/log.*/", [3]),
        ("0x7fff", [3]),
        ("deadbeef01", [3]),
        ("server.log", [3]),
    ],
)
def test_identifiers_are_found_whole_and_in_parts(tmp_path, text: str, found: list[int]):
    rows, table = make(tmp_path, LOGS, tokenizer="identifiers")
    assert ids(rows, table, text) == found


def test_accents_are_folded(tmp_path):
    rows, table = make(tmp_path, ["Café Crème", "cafe"], asciifolding="true")
    assert ids(rows, table, "cafe") == ids(rows, table, "CAFÉ") == [0, 1]


def test_stop_words_are_not_looked_for_beside_others(tmp_path):
    rows, table = make(tmp_path, ["the disk is full", "disk full"], stopwords="en")
    assert ids(rows, table, "the disk") == [0, 1]
    assert ids(rows, table, "the") == []
    assert ids(rows, table, '"disk is full"') == [0]
    rows, table = make(tmp_path / "list", ["alpha beta", "beta"], stopwords="alpha, gamma")
    assert ids(rows, table, "alpha beta") == [0, 1]


def test_synonyms_are_one_word(tmp_path):
    rows, table = make(
        tmp_path,
        ["pg down", "PostgreSQL down", "db"],
        synonyms="postgres=pg=postgresql, database=db",
    )
    assert ids(rows, table, "postgres") == ids(rows, table, "postgresql") == [0, 1]
    assert ids(rows, table, '"pg down"') == [0, 1]
    assert ids(rows, table, "database") == [2]


def test_analyze_says_where_tokens_lie(tmp_path):
    _, table = make(tmp_path, ["x"], tokenizer="identifiers")
    found = [(t.text, t.position, t.start, t.end) for t in table.analyze("a fooBar", "m")]
    assert found == [("a", 0, 0, 1), ("foobar", 1, 2, 8), ("foo", 1, 2, 5), ("bar", 2, 5, 8)]


def test_words_are_suggested(tmp_path):
    rows = ["timeout again", "timeout", "timer", "disk"]
    _, table = make(tmp_path, rows)
    table = indextables.write(pa.table({"id": [9], "m": ["Timeout time"]}), table.path)
    assert table.suggest("request TIME", "m").to_pylist() == [
        {"word": "timeout", "rows": 3},
        {"word": "time", "rows": 1},
        {"word": "timer", "rows": 1},
    ]
    assert table.suggest("tiemout", "m", similar=True)["word"].to_pylist() == ["timeout"]
    assert table.suggest("tx", "m").num_rows == 0


def test_the_largest_splits_are_asked_for_suggestions(tmp_path):
    path = str(tmp_path / "table")
    options = {"indexing.typemap.m": "text"}
    for rows, word in ((40, "timeout"), (3, "timer"), (20, "tinder"), (3, "tidy")):
        noise = [f"{word} {number * 7919:x}" for number in range(rows)]
        indextables.write(pa.table({"m": noise}), path, options=options)

    def suggested(most: int, text: str = "ti", **how: bool) -> list[tuple[str, int]]:
        table = indextables.open(path, options={"read.suggest.maxSplits": str(most)})
        found = table.suggest(text, "m", **how).to_pylist()
        return [(each["word"], each["rows"]) for each in found]

    words = [("timeout", 40), ("tinder", 20), ("tidy", 3), ("timer", 3)]
    assert suggested(0) == suggested(4) == suggested(100) == words
    assert suggested(2) == words[:2]
    assert suggested(1) == words[:1]
    assert suggested(1, "tindre", similar=True) == []
    assert suggested(2, "tindre", similar=True) == [("tinder", 20)]
    table = indextables.open(path, options={"read.suggest.maxSplits": "1"})
    typical = table.significant_terms("m", "tinder", limit=1).to_pylist()[0]
    assert (typical["word"], typical["rows"], typical["all_rows"]) == ("tinder", 20, 20)
