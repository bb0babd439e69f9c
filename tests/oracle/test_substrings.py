"""Patterns on columns with trigrams find the rows that Spark finds in Parquet."""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

LOCAL = "spark.indextables.read.local.enabled"
PIECES = [
    "Error",
    "time",
    "OUT",
    "ÄÖü",
    "ß",
    "İx",
    "KELVİN \u212a",
    "ΟΔΟΣ ",
    "οδος",
    "a.b",
    "%_",
    " ",
    "7",
    "日本語",
]
OPTIONS = {"indexing.typemap.message": "text+ngram", "indexing.typemap.name": "string+ngram"}


@pytest.fixture(scope="module")
def views(spark, tmp_path_factory):
    rng = random.Random(5)

    def text() -> str | None:
        return None if rng.random() < 0.1 else "".join(rng.choices(PIECES, k=rng.randint(0, 7)))

    columns = {name: [text() for _ in range(400)] for name in ("message", "name")}
    folder = tmp_path_factory.mktemp("substrings")
    pq.write_table(pa.table({"id": range(400), **columns}), folder / "rows.parquet")
    plain = spark.read.parquet(str(folder / "rows.parquet"))
    plain.createOrReplaceTempView("plain")
    writer = plain.repartition(3).write.format("indextables").options(**OPTIONS)
    writer.save(str(folder / "table"))
    spark.read.format("indextables").load(str(folder / "table")).createOrReplaceTempView("indexed")
    return [value for value in columns["message"] if value]


def conditions(rng: random.Random, values: list[str]) -> list[str]:
    found = []
    for _ in range(6):
        value = rng.choice(values)
        start = rng.randrange(len(value))
        part = value[start : start + rng.randint(1, 6)]
        like = part.replace("%", "\\\\%").replace("_", "\\\\_")
        column = rng.choice(["message", "name"])
        found += [
            f"{column} LIKE '%{like}%'",
            f"{column} ILIKE '%{like}%'",
            f"lower({column}) LIKE '%{like.lower()}%'",
            f"{column} ILIKE '{like}%_t%'",
            f"contains({column}, '{part}')",
            f"NOT contains(lower({column}), '{part.lower()}')",
            f"{column} RLIKE 'rr.r{rng.choice(['', '.*', 't'])}'",
            f"endswith({column}, '{part}')",
        ]
    return found


WORDS = (
    "Timeout",
    "timeout",
    "TIMEOUT",
    "banana",
    "banaNa",
    "größe",
    "Größe",
    "KELVİN",
    "\u212aelvin",
)
PARTS = (
    "imeou",
    "time",
    "Time",
    "IME",
    "ana",
    "aNa",
    "öß",
    "Öß",
    "elv",
    "ELV",
    "k",
    "İ",
    "i",
    "ut b",
)


def test_parts_of_words_are_found_without_trigrams(spark, tmp_path):
    rng = random.Random(9)
    texts = [" ".join(rng.choices(WORDS, k=5)) if rng.random() < 0.9 else None for _ in range(900)]
    pq.write_table(pa.table({"id": range(900), "message": texts}), tmp_path / "rows.parquet")
    plain = spark.read.parquet(str(tmp_path / "rows.parquet"))
    plain.createOrReplaceTempView("plain_words")
    writer = plain.repartition(2).write.format("indextables")
    writer.option("indexing.typemap.message", "text").save(str(tmp_path / "table"))
    indexed = spark.read.format("indextables").load(str(tmp_path / "table"))
    indexed.createOrReplaceTempView("indexed_words")
    for part in PARTS:
        for test in (f"LIKE '%{part}%'", f"NOT LIKE '%{part}%'", f"ILIKE '%{part}%'"):
            sql = f"SELECT count(*) FROM {{}}_words WHERE message {test}"
            found, want = (spark.sql(sql.format(view)).first()[0] for view in ("indexed", "plain"))
            assert found == want, test


@pytest.mark.parametrize("local", ["true", "false"], ids=["planner", "executors"])
@pytest.mark.parametrize("seed", range(2))
def test_the_same_rows_are_found(spark, views, local: str, seed: int):
    predicates = conditions(random.Random(seed), views)
    parts = [f"count_if(id >= 0) FILTER (WHERE {each})" for each in predicates]
    want = list(spark.sql(f"SELECT {', '.join(parts)} FROM plain").first())
    spark.conf.set(LOCAL, local)
    try:
        for condition, count in zip(predicates, want, strict=True):
            found = spark.sql(f"SELECT id FROM indexed WHERE {condition}").collect()
            rows = spark.sql(f"SELECT id FROM plain WHERE {condition}").collect()
            assert sorted(found) == sorted(rows), condition
            assert len(rows) == count
    finally:
        spark.conf.unset(LOCAL)


def test_explain_says_what_is_read(spark, views):
    def plan(condition: str) -> str:
        return spark.sql(f"EXPLAIN SELECT id FROM indexed WHERE {condition}").first()[0]

    assert "reads every value" not in plan("message LIKE '%rror%'")
    assert "reads every value of: [message]" in plan("message LIKE '%r %'")
    assert "reads words or values of: [message]" in plan("message LIKE '%rr%'")
    assert "CONTAINS(LOWER(message)" in plan("message ILIKE '%rror%'")


def plan_of_counts(spark, local: str, condition: str) -> str:
    """Compare aggregates of the rows with Parquet; return the output of EXPLAIN."""
    counted = "SELECT count(*), min(id), max(id) FROM {} WHERE " + condition
    wanted = spark.sql(counted.format("plain")).first()
    spark.conf.set(LOCAL, local)
    try:
        assert spark.sql(counted.format("indexed")).first() == wanted
        plan = spark.sql("EXPLAIN " + counted.format("indexed")).first()[0]
    finally:
        spark.conf.unset(LOCAL)
    return plan


@pytest.mark.parametrize("local", ["true", "false"], ids=["planner", "executors"])
@pytest.mark.parametrize(
    "condition",
    [
        "message ILIKE '%Kel%'",
        "lower(message) LIKE '%i'",
        "message ILIKE 'errorTIME%'",
        "name ILIKE '%(k'",
        "message ILIKE 'e%T%i%7'",
        "name ILIKE '%Time%out%' OR message ILIKE 'error%'",
        "name ILIKE '%k%' AND NOT message ILIKE '%elvi%'",
    ],
)
def test_ascii_in_any_case_is_counted_by_the_index(spark, views, local: str, condition: str):
    plan = plan_of_counts(spark, local, condition)
    assert "pushed aggregates: [COUNT(*), MIN(id), MAX(id)]" in plan


@pytest.mark.parametrize("local", ["true", "false"], ids=["planner", "executors"])
@pytest.mark.parametrize(
    "condition",
    [
        "message ILIKE '%ÖÜE%'",
        "message ILIKE 'é%'",
        "name ILIKE '%οδος %'",
        "name ILIKE '%İ%' OR message ILIKE '%ẞ%'",
        "message ILIKE '%r_or%'",
        "name ILIKE '_%7'",
        "lower(message) LIKE '%日本_%'",
        "lower(name) LIKE 'i̇%' AND NOT message ILIKE '%__É%'",
    ],
)
def test_other_texts_in_any_case_are_checked_by_spark(spark, views, local: str, condition: str):
    plan = plan_of_counts(spark, local, condition)
    assert "pushed aggregates" not in plan
    # substrings that are too short for the index are not pushed down
    assert ("LOWER(" in plan) == ("checked by Spark: [" in plan)
    assert any(word in plan for word in ("filtered by", "Filter "))


def test_other_texts_in_any_case_are_narrowed_by_the_index(spark, views):
    plan = spark.sql("EXPLAIN SELECT count(*) FROM indexed WHERE message ILIKE '%ÖÜE%'").first()[0]
    assert "checked by Spark: [CONTAINS(LOWER(message), 'öüe')]" in plan
    assert "reads every value" not in plan
    plan = spark.sql("EXPLAIN SELECT count(*) FROM indexed WHERE message ILIKE '%rror%'").first()[0]
    assert "checked by Spark" not in plan
