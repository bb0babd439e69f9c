"""REINDEX: a reindexed table answers like one that was written with the new index."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from tests.crash.verbs import Location, change

import indextables
from indextables.errors import IndexTablesError, SchemaMismatchError
from indextables.sql.execute import execute
from indextables.sql.local import LocalContext

ADDRESSES = ["10.0.0.1", "::1", "0:0:0:0:0:0:0:1", None, "::ffff:10.0.0.1", "192.168.1.7"]
OBJECTS = ['{"a": {"b": 1}}', '{"a":"x y"}', '{"b": [1, 2.50]}', None, '{"a":  null}', "{ }"]
TEXTS = ["Connection reset by peer", "", "naïve Café", None, "x" * 70_000, "a.b.C-d/e_f 10.0.0.1"]


def rows(count: int = 60, start: int = 0) -> pa.Table:
    at = range(start, start + count)
    pick = lambda pool: [pool[i % len(pool)] for i in at]  # noqa: E731
    return pa.table(
        {
            "id": list(at),
            "text": pick(TEXTS),
            "host": pick(ADDRESSES),
            "payload": pick(OBJECTS),
            "part": pa.array([i % 2 for i in at], pa.int32()),
        }
    )


def reindex(path: str, clauses: str, **session: str) -> dict[str, Any]:
    named = {f"spark.indextables.{key}": value for key, value in session.items()}
    answer = execute(f"REINDEX INDEXTABLES '{path}' {clauses}", LocalContext(named))
    return answer.to_pylist()[0]["metrics"]


def modes(given: dict[str, str]) -> str:
    return "INDEXING MODES (" + ", ".join(f"'{k}':'{v}'" for k, v in given.items()) + ")"


def everything(table) -> list[dict]:
    return sorted(table.scan().to_pylist(), key=lambda row: row["id"])


QUERIES = [
    "connection",
    "café",
    "cafe",
    "text:*",
    "text:c*",
    "10.0.0.1",
    '"reset by"',
    "text:reset",
]
WHERE = ["text LIKE '%eset%'", "text = ''", "text IS NULL", "text > 'b'", "host = '10.0.0.1'",
         "payload LIKE '%x y%'", "payload IS NULL"]  # fmt: skip


def answers(table) -> list[Any]:
    arguments = [*({"query": query} for query in QUERIES), *({"where": where} for where in WHERE)]
    return [_count(table, each) for each in arguments]


def _count(table, arguments: dict[str, str]) -> int | str:
    try:
        return table.count(**arguments)
    except IndexTablesError as problem:
        return problem.code


BEFORE = [{}, {"text": "text"}, {"text": "string+ngram"}, {"host": "ip", "payload": "json"}]
AFTER = [
    {"text": "text"},
    {"text": "text+ngram"},
    {"text": "string"},
    {"host": "ip"},
    {"payload": "json"},
    {"host": "string", "payload": "string", "text": "text"},
    {"payload": "text", "host": "text"},
]


@pytest.mark.parametrize("layout", ["compatible", "lean"])
@pytest.mark.parametrize("before", BEFORE)
def test_a_reindexed_table_equals_one_written_like_that(tmp_path, before, layout):
    def write(path: str, chosen: dict[str, str]):
        options = {f"indexing.typemap.{name}": mode for name, mode in chosen.items()}
        options["indexing.layout"] = layout
        for start in (0, 60):
            indextables.write(rows(start=start), path, partition_by=["part"], options=options)
        return indextables.open(path)

    original = write(str(tmp_path / "original"), before)
    for at, after in enumerate(AFTER):
        path = str(tmp_path / f"t{at}")
        write(path, before)
        wanted = write(str(tmp_path / f"want{at}"), {**before, **after})
        done = reindex(path, modes(after))
        found = indextables.open(path)
        same = all(before.get(name, "string") == mode for name, mode in after.items())
        assert done["status"] == ("no_action" if same else "success")
        assert everything(found) == everything(original)
        assert answers(found) == answers(wanted), after
        assert json.loads(found.properties["indextables.indexing"]) == json.loads(
            wanted.properties["indextables.indexing"]
        )


def test_bytes_that_are_not_text_survive(tmp_path):
    raw = pa.array([b"ok", b"\xff\xfe", b"also ok"] * 3000, pa.binary())
    texts = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
    path = str(tmp_path / "t")
    indextables.write(pa.table({"t": texts}), path)
    kept = indextables.open(path).scan()["t"].cast(pa.binary())
    for mode in ("text", "string", "text+ngram"):
        assert reindex(path, modes({"t": mode}))["status"] == "success"
        assert indextables.open(path).scan()["t"].cast(pa.binary()).equals(kept)


def test_what_is_not_named_stays(tmp_path):
    path = str(tmp_path / "t")
    options = {
        "indexing.typemap.text": "text",
        "indexing.tokenizer.text": "whitespace",
        "indexing.stopwords.text": "by",
        "indexing.indexrecordoption.text": "freq",
    }
    indextables.write(rows(), path, options=options)
    reindex(path, "OPTIONS ('indexing.asciifolding.text'='true')")
    known = json.loads(indextables.open(path).properties["indextables.indexing"])["text"]
    assert known["tokenizer"] == "whitespace+fold+stop(by)"
    assert known["record"] == "freq"
    reindex(path, "TOKENIZERS ('text':'default') OPTIONS ('indexing.stopwords.text'='')")
    known = json.loads(indextables.open(path).properties["indextables.indexing"])["text"]
    assert known["tokenizer"] == "default+fold"


def test_later_writes_are_indexed_anew_and_older_options_are_refused(tmp_path):
    path, options = str(tmp_path / "t"), {"indexing.typemap.text": "string"}
    indextables.write(rows(6), path, options=options)
    reindex(path, modes({"text": "text"}))
    indextables.write(rows(6, 6), path)
    assert indextables.open(path).count(query="text:reset") == 2
    with pytest.raises(SchemaMismatchError, match="INDEXING_CHANGED"):
        indextables.write(rows(6, 12), path, options=options)


def test_properties_of_a_created_table_do_not_contradict(tmp_path):
    from indextables.spark import tables

    location = Location(str(tmp_path / "t"))
    column = {"name": "t", "type": "string", "nullable": True, "metadata": {}}
    tables.create(
        location.request(
            properties={"path": location.path, "spark.indextables.indexing.typemap.t": "string"},
            table_schema={"type": "struct", "fields": [column]},
            partition_by=[],
        )
    )
    reindex(location.path, modes({"t": "text"}))
    indextables.write(pa.table({"t": ["one two"]}), location.path)
    assert indextables.open(location.path).count(query="t:two") == 1


def test_versions_before_keep_their_index_and_restore_brings_it_back(tmp_path):
    path = str(tmp_path / "t")
    before = indextables.write(rows(12), path)
    reindex(path, modes({"text": "text"}))
    assert indextables.open(path).count(query="text:reset") == 2
    assert indextables.open(path, version=before.version).count(query="text:reset") == 0
    execute(f"RESTORE INDEXTABLES '{path}' TO VERSION AS OF {before.version}", LocalContext({}))
    assert indextables.open(path).count(query="text:reset") == 0


def test_deleted_rows_are_left_out_and_keys_still_replace(tmp_path):
    location = Location(str(tmp_path / "t"), keyed=True).make()
    change(location, "DELETE", "id < 10")
    reindex(location.path, modes({"text": "text"}))
    assert location.open().count(query="text:first") == 20
    location.save("append", pa.table({"id": [12, 5], "part": pa.array([0, 2], pa.int32()),
                                   "text": ["again 12", "again 5"]}))  # fmt: skip
    found = location.rows()
    assert len(found) == 21
    assert [row[2] for row in found if row[0] in (5, 12)] == ["again 5", "again 12"]


def test_a_damaged_split_changes_nothing(tmp_path):
    path = tmp_path / "t"
    for start in (0, 6):
        table = indextables.write(rows(6, start), str(path))
    splits = sorted(path.rglob("*.split"))
    splits[0].write_bytes(b"\0" * splits[0].stat().st_size)
    with pytest.raises(IndexTablesError, match="REINDEX_FAILED"):
        reindex(str(path), modes({"text": "text"}))
    assert indextables.open(str(path)).version == table.version
    assert sorted(path.rglob("*.split")) == splits


def test_values_that_do_not_fit_change_nothing(tmp_path):
    path = str(tmp_path / "t")
    table = indextables.write(rows(6), path)
    for mode in ("ip", "json"):
        with pytest.raises(IndexTablesError, match="REINDEX_FAILED"):
            reindex(path, modes({"text": mode}))
    assert indextables.open(path).version == table.version


def test_a_companion_is_indexed_by_its_own_command(tmp_path):
    import pyarrow.parquet as pq

    (tmp_path / "source").mkdir()
    pq.write_table(rows(6), tmp_path / "source" / "a.parquet")
    source, index = tmp_path / "source", tmp_path / "index"
    build = f"BUILD INDEXTABLES COMPANION FOR PARQUET '{source}' AT LOCATION '{index}'"
    execute(build, LocalContext({}))
    with pytest.raises(IndexTablesError, match="COMPANION_READ_ONLY"):
        reindex(f"{tmp_path}/index", modes({"text": "text"}))
