"""The spark-sql shell with a script, started as in the guide."""

from __future__ import annotations

import subprocess

import pytest
from tests.connect.server import HOME, environment, settings

pytestmark = pytest.mark.spark

SCRIPT = """
CREATE TABLE events (id INT, message STRING) USING indextables
  TBLPROPERTIES ('spark.indextables.indexing.typemap.message' = 'text');
INSERT INTO events VALUES (1, 'timeout of payment'), (2, 'cart opened'), (3, 'a timeout');
SELECT 'found', id FROM events WHERE message indexquery 'timeout' ORDER BY id;
DELETE FROM events WHERE id = 3;
MERGE SPLITS events;
SELECT 'left', count(*) FROM events;
DESCRIBE INDEXTABLES HISTORY events;
"""


def test_spark_sql_runs_a_script(tmp_path):
    script = tmp_path / "script.sql"
    script.write_text(SCRIPT)
    conf = [p for k, v in settings(tmp_path).items() for p in ("--conf", f"{k}={v}")]
    done = subprocess.run(
        [str(HOME / "bin" / "spark-sql"), *conf, "-f", str(script)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("found")] == ["found\t1", "found\t3"]
    assert "left\t2" in lines
    assert any("\tMERGE SPLITS\t" in line for line in lines)
