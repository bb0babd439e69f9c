"""Collated strings: the index answers only what bytes decide; every answer equals Parquet's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.oracle.paths import check, make_views

pytestmark = pytest.mark.spark

COLLATIONS = [
    "UTF8_LCASE", "UNICODE", "UNICODE_CI", "UNICODE_AI", "UNICODE_CI_AI", "UTF8_BINARY_RTRIM",
    "UNICODE_RTRIM", "UNICODE_CI_RTRIM", "UTF8_LCASE_RTRIM",
]  # fmt: skip


@pytest.fixture(scope="module", params=COLLATIONS)
def views(request: Any, spark: Any, tmp_path_factory: Any) -> dict[str, str]:
    folder: Path = tmp_path_factory.mktemp(f"collation-{request.param}")
    name = request.param
    words = "'a', 'A', 'b', 'B ', 'b', 'ä', 'Ä', 'aa', 'AA ', 'Straße', 'STRASSE', 'é', 'é', ' c'"
    data = spark.sql(f"""
        SELECT id, CAST(v AS STRING COLLATE {name}) AS c, v AS plain,
               CAST(array(v, 'x') AS ARRAY<STRING COLLATE {name}>) AS l,
               named_struct('m', CAST(v AS STRING COLLATE {name})) AS st
        FROM (SELECT id, CASE WHEN id % 9 <> 8 THEN
              element_at(array({words}), CAST(id % 14 AS INT) + 1) END AS v FROM range(80))
    """)
    data.write.parquet(str(folder / "pq"))
    data = spark.read.parquet(str(folder / "pq"))
    data.write.format("indextables").save(str(folder / "table"))
    found = make_views(spark, data, str(folder / "table"), f"collation_{name}")
    assert name in spark.table(found["planner"]).schema["c"].dataType.simpleString()
    return found


def test_statements_agree_with_parquet(spark: Any, views: dict[str, str]):
    name = views["truth"].removeprefix("collation_").removesuffix("_truth")
    item = f"CAST('A' AS STRING COLLATE {name})"
    check(spark, views, f"SELECT id FROM {{t}} WHERE array_contains(l, {item})")
    shown = "lower(rtrim(CAST(c AS STRING COLLATE UTF8_BINARY)))"
    for statement in (
        "SELECT id, c, l, st FROM {t}",
        "SELECT count(*) FROM {t} GROUP BY c",
        "SELECT count(*), sum(id) FROM {t} GROUP BY c, id % 2",
        "SELECT count(DISTINCT c), count(c) FROM {t}",
        "SELECT count(*) FROM (SELECT DISTINCT c FROM {t})",
        "SELECT count(*) FROM {t} WHERE c = 'A'",
        "SELECT id FROM {t} WHERE c = 'b'",
        "SELECT id FROM {t} WHERE c <> 'a'",
        "SELECT id FROM {t} WHERE c < 'b'",
        "SELECT id FROM {t} WHERE c >= 'AA'",
        "SELECT id FROM {t} WHERE c IN ('STRASSE', 'é')",
        "SELECT id FROM {t} WHERE array_contains(l, element_at(l, 1))",
        "SELECT id FROM {t} WHERE st.m = 'A'",
        "SELECT id FROM {t} WHERE plain = 'a'",
        "SELECT id FROM {t} WHERE plain COLLATE UTF8_LCASE = 'A'",
        "SELECT a.id, b.id FROM {t} a JOIN {t} b ON a.c = b.c WHERE b.id < 9",
    ):
        check(spark, views, statement)
    if "_AI" not in name:  # Spark supports neither function for collations that ignore accents
        check(spark, views, "SELECT id FROM {t} WHERE startswith(c, 'A')")
        check(spark, views, "SELECT id FROM {t} WHERE contains(c, 'S')")
    if name == "UTF8_LCASE":  # the only one of these for which Spark supports LIKE
        check(spark, views, "SELECT id FROM {t} WHERE c LIKE 'A%'")
    for order in ("ASC", "DESC"):
        top = f"SELECT c FROM {{t}} ORDER BY c {order} LIMIT 20"
        check(spark, views, f"SELECT count(*) FROM ({top}) WHERE c < 'b'")
        check(spark, views, f"SELECT {shown} FROM {{t}} WHERE c = (SELECT min(c) FROM {{t}})")
        check(spark, views, f"SELECT {shown} FROM {{t}} WHERE c = (SELECT max(c) FROM {{t}})")


@pytest.mark.parametrize("collation", ["UTF8_LCASE", "UNICODE_CI"])
def test_partitions_and_keys_need_plain_strings(spark: Any, tmp_path: Path, collation: str):
    data = spark.sql(f"SELECT id, CAST('a' AS STRING COLLATE {collation}) AS c FROM range(3)")
    writer = data.write.format("indextables")
    with pytest.raises(Exception, match="PARTITION_TYPE"):
        writer.partitionBy("c").save(str(tmp_path / "p"))
    with pytest.raises(Exception, match="KEY_TYPE"):
        data.write.format("indextables").option("primary-key", "c").save(str(tmp_path / "k"))
