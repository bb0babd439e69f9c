"""Write the classes that Spark loads to an archive that the JVMs of the tests map into memory.

Run as `python -m tests.archive_classes FILE`. The archive saves a third of the time to the first
answers of a JVM; a JVM with a different class path ignores it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.conftest import JVM_OPTIONS


def statements(folder: str) -> list[str]:
    """Statements like those of most tests: write, filter, group, sort, join, change rows."""
    table, plain = f"indextables.`{folder}/table`", f"parquet.`{folder}/plain`"
    rows = "SELECT id, id % 7 AS n, concat('word ', id) AS s, current_date() AS d FROM range(100)"
    return [
        f"CREATE TABLE {table} USING indextables AS {rows}",
        f"SELECT n, count(*), sum(id) FROM {table} WHERE s LIKE 'word 1%' GROUP BY n ORDER BY n",
        f"SELECT s, year(d) FROM {table} WHERE s indexquery 'word' ORDER BY id DESC LIMIT 5",
        f"SELECT t.n, max(p.s) FROM {table} t JOIN {plain} p USING (id) GROUP BY t.n",
        f"SELECT n, row_number() OVER (PARTITION BY n ORDER BY id) FROM {table}",
        f"UPDATE {table} SET s = 'another' WHERE id = 7",
        f"MERGE INTO {table} t USING (SELECT 8 AS id) c ON t.id = c.id WHEN MATCHED THEN DELETE",
        f"DESCRIBE INDEXTABLES DETAIL '{folder}/table'",
    ]


def main(archive: Path) -> None:
    """Run the statements in a JVM that writes the archive when it exits."""
    os.environ["JDK_JAVA_OPTIONS"] = JVM_OPTIONS
    from pyspark.sql import SparkSession

    import indextables

    with tempfile.TemporaryDirectory() as folder:
        builder = indextables.configure(SparkSession.builder.master("local[2]"))
        for key, value in {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "OFF",
            "spark.driver.extraJavaOptions": f"-XX:ArchiveClassesAtExit={archive}",
        }.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
        spark.range(100).selectExpr("id", "string(id) AS s").write.parquet(f"{folder}/plain")
        for statement in statements(folder):
            spark.sql(statement).collect()
        spark.stop()
        process = spark.sparkContext._gateway.proc
        process.stdin.close()  # exits the JVM
        process.wait(60)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
