"""`IndexTable`: a table in the hands of a Python program with a Spark session.

Every method says what the SQL command of the same name says, and runs it, so that there is one way
to do a thing and one place where it is described (docs/sql.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from indextables.commands.checkpoint import Checkpoint
from indextables.commands.describe_detail import DescribeDetail
from indextables.commands.describe_history import DescribeHistory
from indextables.commands.grammar import Command, Span
from indextables.commands.merge_splits import MergeSplits
from indextables.commands.purge import Purge
from indextables.commands.restore import Restore
from indextables.commands.target import Target
from indextables.config.settings import resolve
from indextables.errors import TableExistsError, TableNotFoundError, error
from indextables.log import open_log
from indextables.spark.failures import as_ours
from indextables.spark.functions import indexqueryall
from indextables.spark.merge_builder import (
    TARGET,
    MergeBuilder,
    delete_text,
    named,
    update_text,
)
from indextables.sql.render import render
from indextables.sql.values import parse_size
from indextables.storage import find_location, open_store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

FORMAT = "indextables"


class IndexTable:
    """A table by path or by name.

    >>> IndexTable.forPath(spark, "/tmp/events").search("timeout").show()  # doctest: +SKIP
    """

    def __init__(
        self, spark: SparkSession, path: str, name: str | None = None, alias: str | None = None
    ) -> None:
        self._spark = spark
        self.path = path
        self.name = name
        self._alias = alias

    def __repr__(self) -> str:
        return f"IndexTable({self.name or self.path!r})"

    @classmethod
    def forPath(cls, spark: SparkSession, path: str) -> IndexTable:  # noqa: N802
        """The table in a folder."""
        if not cls.isIndexTable(spark, path):
            raise error("TABLE_NOT_FOUND", path=path)
        return cls(spark, path)

    @classmethod
    def forName(cls, spark: SparkSession, name: str) -> IndexTable:  # noqa: N802
        """The table of this name in the catalog."""
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
        facts = {row["col_name"]: row["data_type"] for row in rows}
        location = facts.get("Location")
        if str(facts.get("Provider", "")).lower() != FORMAT or not location:
            raise error("TABLE_NOT_FOUND", path=name)
        return cls(spark, location, name)

    @classmethod
    def isIndexTable(cls, spark: SparkSession, path: str) -> bool:  # noqa: N802
        """Whether there is a table in this folder, as the session sees it."""
        try:
            with as_ours():
                spark.sql(render(DescribeHistory(Target(path=path), 1))).collect()
        except TableNotFoundError:
            return False
        return True

    @classmethod
    def create(
        cls,
        spark: SparkSession,
        path: str,
        schema: StructType,
        partition_by: Sequence[str] = (),
        **options: str,
    ) -> IndexTable:
        """An empty table; `options` are the writer's, such as `indexing.typemap.message`."""
        if cls.isIndexTable(spark, path):
            raise TableExistsError("TABLE_EXISTS", f"a table exists already at `{path}`")
        empty = spark.createDataFrame([], schema)
        writer = empty.write.format(FORMAT).options(**options)
        writer.partitionBy(*partition_by).save(path)
        return cls(spark, path)

    def alias(self, name: str) -> IndexTable:
        """The same table, under this name in the conditions of `merge`, `delete` and `update`."""
        return IndexTable(self._spark, self.path, self.name, name)

    def toDF(self, version: int | None = None) -> DataFrame:  # noqa: N802
        """The rows, now or at a version."""
        reader = self._spark.read.format(FORMAT)
        if version is not None:
            reader = reader.option("versionAsOf", str(version))
        rows = reader.load(self.path)
        return rows if self._alias is None else rows.alias(self._alias)

    def changes(
        self,
        starting: int | str,
        ending: int | str | None = None,
    ) -> DataFrame:
        """The rows that came and went from version to version, both ends included.

        `starting` and `ending` are versions (numbers) or times (text); without an end, up to now.
        """
        reader = self._spark.read.format(FORMAT).option("readChangeFeed", "true")
        for name, value in (("starting", starting), ("ending", ending)):
            if value is not None:
                unit = "Version" if isinstance(value, int) else "Timestamp"
                reader = reader.option(name + unit, str(value))
        return reader.load(self.path)

    def search(
        self, query: str, columns: Sequence[str] | None = None, limit: int = 10
    ) -> DataFrame:
        """The best rows for a search text, best first, with `_score` and `_snippet`."""
        found = self.toDF().where(indexqueryall(query))
        shown = list(columns or found.columns)
        ranked = found.select(*shown, "_score", "_snippet")
        return ranked.orderBy("_score", ascending=False).limit(limit)

    def delete(self, condition: str | None = None) -> None:
        """Delete rows by a condition in SQL, search predicates included; all rows without one."""
        self._spark.sql(delete_text(named(self._sql_name, self._alias), condition))

    def update(self, condition: str | None = None, set: Mapping[str, str] | None = None) -> None:  # noqa: A002
        """Change rows; `set` is SQL text by column."""
        table = named(self._sql_name, self._alias)
        self._spark.sql(update_text(table, condition, set or {}))

    def merge(self, source: DataFrame, condition: str) -> MergeBuilder:
        """Begin a MERGE INTO; the condition names both sides by their aliases.

        Without an alias they are called `target` and `source`.
        """
        target = self._alias or TARGET
        return MergeBuilder(self._spark, self._sql_name, source, condition, target=target)

    @property
    def _sql_name(self) -> str:
        path = self.path.replace("`", "``")
        return self.name or f"{FORMAT}.`{path}`"

    def history(self, limit: int | None = None) -> DataFrame:
        """What happened to the table, newest first."""
        return self._command(DescribeHistory(self._target, limit))

    def detail(self) -> DataFrame:
        """One row of facts: version, files, rows, bytes, partitions, properties."""
        return self._command(DescribeDetail(self._target))

    def mergeSplits(self, where: str | None = None, target_size: str | None = None) -> DataFrame:  # noqa: N802
        """Merge small splits into larger ones."""
        size = None if target_size is None else parse_size(target_size)
        return self._command(MergeSplits(self._target, where, size))

    def purge(self, older_than_hours: int = 168, *, dry_run: bool = False) -> DataFrame:
        """Delete files no retained version needs."""
        span = Span(older_than_hours, "HOURS")
        return self._command(Purge(self._target, span, dry_run=dry_run))

    def checkpoint(self) -> DataFrame:
        """Write the state of the table anew, compact."""
        return self._command(Checkpoint(self._target))

    def restoreToVersion(self, version: int) -> DataFrame:  # noqa: N802
        """Make a new version that equals an old one."""
        return self._command(Restore(self._target, version))

    def restoreToTimestamp(self, timestamp: str) -> DataFrame:  # noqa: N802
        """Make a new version that equals the table at a time."""
        return self._command(Restore(self._target, timestamp=timestamp))

    def files(self) -> Any:
        """The live splits as an Arrow table."""
        settings = resolve(session=self._spark.conf.getAll)
        store = open_store(find_location(self.path, settings), settings)
        return open_log(store, settings).snapshot().files()

    @property
    def _target(self) -> Target:
        return Target(path=self.path)

    def _command(self, command: Command) -> DataFrame:
        return self._spark.sql(render(command))
