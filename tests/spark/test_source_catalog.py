"""`IndexTablesCatalog` finds companions by the names of their source tables."""

from __future__ import annotations

import re
import shutil

import pytest

# the names in configurations for the existing implementation
CATALOGS = (
    "io.indextables.catalog.IndexTablesCatalog",
    "io.indextables.spark.catalog.IndexTables4SparkCatalog",
)


@pytest.fixture
def named(spark, tmp_path, request):
    """A catalog table with its companion, and the catalog that finds it."""
    path, index = str(tmp_path / "src"), str(tmp_path / "ix")
    spark.range(50).selectExpr("id", "concat('word', id % 5) AS message").write.parquet(path)
    spark.sql(f"CREATE TABLE catalog_source USING parquet LOCATION '{path}'")
    spark.sql(
        f"BUILD INDEXTABLES COMPANION FOR PARQUET '{path}' "
        f"INDEXING MODES ('message':'text') AT LOCATION '{index}'"
    )
    # a catalog caches what it finds: each test has its own
    catalog = "ix_" + re.sub(r"\W", "_", request.node.name)
    spark.conf.set(f"spark.sql.catalog.{catalog}", getattr(request, "param", CATALOGS[0]))
    yield f"{catalog}.spark_catalog.default.catalog_source", str(tmp_path)
    spark.sql("DROP TABLE catalog_source")


def properties(spark, **values: str) -> None:
    listed = ", ".join(f"'indextables.companion.{k}' = '{v}'" for k, v in values.items())
    spark.sql(f"ALTER TABLE catalog_source SET TBLPROPERTIES ({listed})")


@pytest.mark.parametrize("named", CATALOGS, indirect=True)
def test_companions_have_the_names_of_their_source_tables(spark, named):
    name, root = named
    query = f"SELECT id FROM {name} WHERE message indexquery 'word3' AND id < 10"
    with pytest.raises(Exception, match="COMPANION_UNNAMED"):
        spark.sql(query)
    properties(spark, indexroot=f"{root}/")
    with pytest.raises(Exception, match="COMPANION_INDEX_ROOT"):
        spark.sql(query)
    properties(spark, **{"tableroot.relativepath": "/ix"})
    assert sorted(row.id for row in spark.sql(query).collect()) == [3, 8]
    shown = spark.sql(f"EXPLAIN {query}").first()[0]
    assert re.search(r"pushed filters: \[.*message indexquery 'word3'", shown)
    # the result is cached: the next region is not used yet
    properties(spark, **{"indexroot.eu": "/nowhere"})
    spark.conf.set("spark.indextables.companion.region", "eu")
    try:
        assert spark.sql(query).count() == 2
    finally:
        spark.conf.unset("spark.indextables.companion.region")


def test_a_remembered_companion_that_fails_is_looked_for_again(spark, named, tmp_path):
    name, root = named
    properties(spark, location=f"{root}/ix")
    assert spark.table(name).count() == 50
    shutil.move(tmp_path / "ix", tmp_path / "elsewhere")
    with pytest.raises(Exception, match="TABLE_NOT_FOUND"):
        spark.table(name)
    properties(spark, location=f"{root}/elsewhere")
    assert spark.table(name).count() == 50
    assert spark.sql(f"SELECT id FROM {name} WHERE message indexquery 'word3'").count() == 10


def test_a_region_has_its_own_root(spark, named):
    name, root = named
    spark.conf.set("spark.indextables.catalog.cache.ttl.minutes", "0")
    spark.conf.set("spark.indextables.companion.region", "eu")
    try:
        relative = {"tableroot.relativepath": "ix"}
        properties(spark, indexroot="/nowhere", **{"indexroot.eu": root}, **relative)
        assert spark.table(name).count() == 50
        spark.conf.set("spark.indextables.companion.region", "us")
        with pytest.raises(Exception, match="TABLE_NOT_FOUND"):
            spark.table(name)
    finally:
        spark.conf.unset("spark.indextables.catalog.cache.ttl.minutes")
        spark.conf.unset("spark.indextables.companion.region")


def test_the_catalog_only_reads(spark, named):
    name, root = named
    catalog = name.partition(".")[0]
    properties(spark, location=f"{root}/ix")
    assert spark.table(name).count() == 50
    assert spark.sql(f"SHOW TABLES IN {catalog}.spark_catalog.default").count() == 0
    assert spark.sql(f"SHOW NAMESPACES IN {catalog}").count() == 0
    with pytest.raises(Exception, match="CATALOG_READ_ONLY"):
        spark.sql(f"CREATE TABLE {catalog}.spark_catalog.default.other (id int)")
    with pytest.raises(Exception, match="COMPANION_READ_ONLY"):
        spark.sql(f"INSERT INTO {name} VALUES (1, 'x')")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.table(f"{catalog}.spark_catalog.default.nothing")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.table(f"{catalog}.too_short")
