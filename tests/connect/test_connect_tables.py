"""Tables and views created through Spark Connect."""

from __future__ import annotations

import pytest

from indextables.log import open_log
from indextables.storage import open_store

pytestmark = pytest.mark.spark


def rows(frame) -> list[tuple]:
    return sorted(tuple(row) for row in frame.collect())


def test_create_table_creates_the_table(remote, table_path):
    remote.sql("DROP TABLE IF EXISTS connect_made")
    remote.sql(
        "CREATE TABLE connect_made (id INT, message STRING) USING indextables "
        f"LOCATION '{table_path}' TBLPROPERTIES ('primary-key'='id')"
    )
    made = open_log(open_store(table_path)).snapshot()
    assert (made.version, made.metadata.configuration["primary-key"]) == (0, "id")
    remote.sql("UPDATE connect_made SET message = 'x'")
    remote.sql("INSERT INTO connect_made VALUES (1, 'a'), (1, 'b')")
    assert remote.table("connect_made").count() == 1
    remote.sql("DROP TABLE connect_made")


def test_views_over_temporary_views(remote, table_path):
    frame = remote.createDataFrame([(1, "a fox"), (2, "a dog")], "id int, content string")
    frame.write.format("indextables").option("indexing.typemap.content", "text").save(table_path)
    remote.read.format("indextables").load(table_path).createOrReplaceTempView("remote_a")
    remote.sql("CREATE OR REPLACE TEMP VIEW remote_v AS SELECT *, _doc FROM remote_a")
    found = remote.sql("SELECT id FROM remote_v WHERE content indexquery 'fox'")
    assert rows(found) == [(1,)]
    with pytest.raises(Exception, match="INVALID_TEMP_OBJ_REFERENCE"):
        remote.sql("CREATE VIEW remote_kept AS SELECT * FROM remote_a")
    remote.catalog.dropTempView("remote_v")
    remote.catalog.dropTempView("remote_a")
