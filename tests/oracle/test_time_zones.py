"""Timestamps truncated in time zones equal Spark's over Parquet, on both paths."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from tests.oracle.paths import PATHS, TRUTH, check, make_views

import indextables
from indextables.errors import IndexTablesError
from indextables.expr.clocks import clock_of

ZONE = "spark.sql.session.timeZone"
# half an hour of daylight saving, changes at midnight, rules until 2087, a skipped day, no changes
ZONES = [
    "America/New_York",
    "Europe/Berlin",
    "Europe/Dublin",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "America/Sao_Paulo",
    "Africa/Casablanca",
    "Pacific/Apia",
    "+05:30",
]
UNITS = ["MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"]
AROUND = (-90_000, -5400, -1800, -1, 0, 1, 1800, 3599, 7200, 86_399, 90_000)
YEAR = 31_556_952


def seconds() -> list[int]:
    """Epoch seconds around the changes of all zones, before 1900 and long after 2037."""
    chance = random.Random(31)
    changes = [at for zone in ZONES[:-1] for at, _ in clock_of(zone)["transitions"]]
    around = [at + step for at in changes for step in AROUND]
    far = [chance.randrange(-200 * YEAR, 900 * YEAR) for _ in range(4000)]
    # beyond the listed changes: every two hours of a year
    late = range(2089 * YEAR - 1970 * YEAR, 2090 * YEAR - 1970 * YEAR, 7200)
    return sorted({*around, *far, *late})


@pytest.fixture(scope="module")
def table(tmp_path_factory: Any) -> str:
    return str(tmp_path_factory.mktemp("zones") / "table")


@pytest.fixture(scope="module")
def views(spark: Any, table: str, tmp_path_factory: Any) -> dict[str, str]:
    rows = spark.createDataFrame([(at,) for at in seconds()], "id long").repartition(3)
    parquet = str(tmp_path_factory.mktemp("zones") / "parquet")
    rows.selectExpr("id", "timestamp_micros(id * 1000000 + 123456) AS ts").write.parquet(parquet)
    frame = spark.read.parquet(parquet)
    frame.write.format("indextables").save(table)
    return make_views(spark, frame, table, "zones")


@pytest.fixture(autouse=True)
def session_zone(spark: Any) -> Iterator[None]:
    before = spark.conf.get(ZONE)
    yield
    spark.conf.set(ZONE, before)


def cuts(units: list[str]) -> str:
    """A query of truncated timestamps as numbers: clients show timestamps in their own zone."""
    keys = ", ".join(f"date_trunc('{unit}', ts) AS {unit}" for unit in units)
    numbers = ", ".join(f"unix_micros({unit})" for unit in units)
    grouped = f"SELECT {keys}, count(*) AS n, min(id) AS first FROM {{t}} GROUP BY ALL"
    return f"SELECT {numbers}, n, first FROM ({grouped})"


@pytest.mark.parametrize("zone", ZONES)
def test_timestamps_are_cut_as_by_spark(spark: Any, views: dict[str, str], zone: str) -> None:
    spark.conf.set(ZONE, zone)
    check(spark, views, cuts(UNITS))
    for unit in ("DAY", "WEEK"):
        check(spark, views, cuts([unit]))
    for path in PATHS:
        plan = spark.sql("EXPLAIN " + cuts(UNITS).replace("{t}", views[path])).head()[0]
        keys = ", ".join(f"date_trunc('{unit}', ts)" for unit in UNITS)
        assert f"pushed aggregates: [COUNT(*), MIN(id)] group by [{keys}]" in plan, plan


def test_a_view_keeps_the_zone_it_was_made_in(spark: Any, views: dict[str, str]) -> None:
    spark.conf.set(ZONE, "America/Sao_Paulo")
    for name, source in views.items():
        spark.sql(
            f"CREATE OR REPLACE TEMP VIEW cut_{name} AS {cuts(['DAY'])}".replace("{t}", source)
        )
    spark.conf.set(ZONE, "+09:00")
    check(spark, {name: f"cut_{name}" for name in views}, "SELECT * FROM {t}")
    plain = cuts(["DAY"]).replace("{t}", views[TRUTH])
    assert spark.sql(plain).count() != spark.table(f"cut_{TRUTH}").count()


def test_conditions_keep_the_zone_of_their_view(spark: Any, views: dict[str, str]) -> None:
    days = "CAST(ts AS DATE) IN (DATE'2018-11-02', DATE'2018-11-03')"
    conditions = [
        f"SELECT id FROM {{t}} WHERE {days}",
        f"SELECT count(*) AS a0 FROM {{t}} WHERE NOT {days}",
        f"SELECT count_if({days}) AS a0 FROM {{t}}",
        f"SELECT max(CASE WHEN {days} THEN id END) AS a0 FROM {{t}}",
    ]
    for made, read in (("America/Sao_Paulo", "UTC"), ("UTC", "America/Sao_Paulo")):
        for statement in conditions:
            spark.conf.set(ZONE, made)
            for name, source in views.items():
                text = statement.replace("{t}", source)
                spark.sql(f"CREATE OR REPLACE TEMP VIEW day_{name} AS {text}")
            spark.conf.set(ZONE, read)
            check(spark, {name: f"day_{name}" for name in views}, "SELECT * FROM {t}")


def day_of(second: int, zone: ZoneInfo) -> int:
    """The start of a day: midnight, with the offset of the timestamp if midnight occurs twice."""
    local = dt.datetime.fromtimestamp(second, dt.UTC).astimezone(zone)
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    again = midnight.replace(fold=1)
    same = again.utcoffset() == local.utcoffset() and again.utcoffset() < midnight.utcoffset()
    return int((again if same else midnight).timestamp())


@pytest.mark.parametrize("zone", ZONES[:-1])
def test_plain_python_cuts_by_a_named_zone(views: dict[str, str], table: str, zone: str) -> None:
    found = indextables.open(table).aggregate(
        ["count(*)"], by={"day": f"date_trunc('day', ts, '{zone}')"}
    )
    wanted: dict[int, int] = {}
    for second in seconds():
        begin = day_of(second, ZoneInfo(zone))
        wanted[begin] = wanted.get(begin, 0) + 1
    begins = found["day"].cast(pa.int64()).to_pylist()
    assert dict(zip(begins, found["count(*)"].to_pylist(), strict=True)) == {
        begin * 1_000_000: n for begin, n in wanted.items()
    }


def test_an_unknown_zone_is_named(views: dict[str, str], table: str) -> None:
    with pytest.raises(IndexTablesError, match="`Europe/Atlantis` is not a time zone"):
        indextables.open(table).aggregate(
            ["count(*)"], by=["date_trunc('day', ts, 'Europe/Atlantis')"]
        )
