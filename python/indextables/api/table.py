"""`IndexTable`: a table in a Python program with a Spark session.

Every method runs the SQL command of the same name, which docs/sql.md describes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from indextables.api.arguments import Names, Path, names_of, path_of, values_of
from indextables.api.ask import search_text
from indextables.api.local import Table
from indextables.api.local import open as open_local
from indextables.api.notebook import Explanation
from indextables.api.page import Page, is_setting
from indextables.commands.build_companion import BuildCompanion
from indextables.commands.checkpoint import Checkpoint
from indextables.commands.describe_detail import DescribeDetail
from indextables.commands.describe_history import DescribeHistory
from indextables.commands.grammar import Command, Span
from indextables.commands.merge_splits import MergeSplits
from indextables.commands.purge import Purge
from indextables.commands.reindex import Reindex
from indextables.commands.restore import Restore
from indextables.commands.target import Target
from indextables.config.settings import resolve
from indextables.errors import TableNotFoundError, error
from indextables.log import open_log
from indextables.show.notebook import MOST_ROWS, facts_line, grid, hits_table, table_card
from indextables.spark.failures import translate_errors
from indextables.spark.functions import indexqueryall
from indextables.spark.merge_builder import TARGET, MergeBuilder
from indextables.spark.merge_builder import Target as ChangeTarget
from indextables.spark.progress import progress
from indextables.sql.render import render
from indextables.sql.values import parse_size
from indextables.storage import find_location, open_store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.types import StructType

    from indextables.engine.query import Token
    from indextables.spark.merge_builder import Expression, Values

FORMAT = "indextables"
# the columns of a history that notebooks show
_HISTORY = ("version", "timestamp", "operation", "operation_metrics")


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

    def _repr_html_(self) -> str:
        detail = self.detail().collect()[0]
        facts = facts_line(
            detail["version"], detail["num_records"], detail["num_files"], detail["size_in_bytes"]
        )
        columns = [(f.name, f.dataType.simpleString(), "") for f in self.toDF().schema.fields]
        return table_card(self.name or self.path, facts, columns)

    def ui(self) -> Page:
        """Open the page of this table in the background; the result has its link.

        It runs in the process of this program, with the configuration of the session.
        """
        return Page([self.path], self._options)

    @classmethod
    def forPath(cls, spark: SparkSession, path: Path) -> IndexTable:  # noqa: N802
        """Return the table at a path."""
        location = path_of(path)
        if not cls.isIndexTable(spark, location):
            raise error("TABLE_NOT_FOUND", path=location)
        return cls(spark, location)

    @classmethod
    def forName(cls, spark: SparkSession, name: str) -> IndexTable:  # noqa: N802
        """Return the table with this name in the catalog."""
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
        facts = {row["col_name"]: row["data_type"] for row in rows}
        location = facts.get("Location")
        if str(facts.get("Provider", "")).lower() != FORMAT or not location:
            raise error("TABLE_NOT_FOUND", path=name)
        return cls(spark, location, name)

    @classmethod
    def isIndexTable(cls, spark: SparkSession, path: Path) -> bool:  # noqa: N802
        """Whether there is a table at this path, with the session's credentials."""
        try:
            with translate_errors():
                spark.sql(render(DescribeHistory(Target(path=path_of(path)), 1))).collect()
        except TableNotFoundError:
            return False
        return True

    @classmethod
    def create(
        cls,
        spark: SparkSession,
        path: Path,
        schema: StructType | str,
        partition_by: Names = (),
        **options: str,
    ) -> IndexTable:
        """Create an empty table; `options` are the writer's, such as `indexing.typemap.message`."""
        location = path_of(path)
        if cls.isIndexTable(spark, location):
            raise error("TABLE_EXISTS", path=location)
        empty = spark.createDataFrame([], schema)
        writer = empty.write.format(FORMAT).options(**options)
        # Spark parses these names as SQL
        names = (f"`{name.replace('`', '``')}`" for name in names_of(partition_by, "partition_by"))
        writer.partitionBy(*names).save(location)
        return cls(spark, location)

    def alias(self, name: str) -> IndexTable:
        """Return the table with an alias for the conditions of `merge`, `delete` and `update`."""
        return IndexTable(self._spark, self.path, self.name, name)

    def toDF(self, version: int | None = None) -> DataFrame:  # noqa: N802
        """Return the rows, of the latest or an older version."""
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
        """Return the rows that changed from version to version, inclusive.

        `starting` and `ending` are versions (numbers) or timestamps (strings); `ending` defaults to
        the latest version.
        """
        reader = self._spark.read.format(FORMAT).option("readChangeFeed", "true")
        for name, value in (("starting", starting), ("ending", ending)):
            if value is not None:
                unit = "Version" if isinstance(value, int) else "Timestamp"
                reader = reader.option(name + unit, str(value))
        return reader.load(self.path)

    def search(
        self,
        query: str,
        columns: Names | None = None,
        limit: int = 10,
        *,
        mode: str = "query",
        fields: Mapping[str, float] | Names = (),
    ) -> DataFrame:
        """Return the best matches for a query, best first, with `_score` and `_snippet`.

        With `mode="simple"` the query is free text: words, quoted phrases, `-word`.
        `fields` are the columns to search, with weights if they are a mapping.
        """
        found = self.toDF().where(indexqueryall(search_text(query, mode, fields)))
        shown = list(names_of(columns or found.columns, "columns"))
        ranked = found.select(*shown, "_score", "_snippet")
        best = ranked.orderBy("_score", ascending=False).limit(limit)
        # notebooks ask the object itself; the rows are read when they do
        best._repr_html_ = lambda: hits_table(  # type: ignore[method-assign]
            [row.asDict() for row in best.limit(MOST_ROWS).collect()]
        )
        return best

    def explain(
        self,
        where: str | None = None,
        query: str | None = None,
        *,
        order_by: Sequence[str] = (),
        limit: int | None = None,
    ) -> Explanation:
        """Explain how rows that match a predicate and a query would be read."""
        return self._local().explain(where, query, order_by=order_by, limit=limit)

    def explain_score(
        self, query: str, where: str | None = None, limit: int = 10
    ) -> list[dict[str, Any]]:
        """Explain the scores of the best rows for a query.

        The driver reads the rows itself; see `indextables.api.local.Table.explain_score`.
        """
        return self._local().explain_score(query, where, limit)

    def analyze(self, text: str, column: str) -> list[Token]:
        """Return the tokens that the index stores for a text in a column, with their positions."""
        return self._local().analyze(text, column)

    def suggest(
        self, text: str, column: str | None = None, limit: int = 10, *, similar: bool = False
    ) -> Any:
        """Return words that complete the last word of a text, as an Arrow table.

        They are words of one column, or of all text columns. With `similar`, return corrections of
        the word. The driver reads the dictionaries itself; see
        `indextables.api.local.Table.suggest`.
        """
        return self._local().suggest(text, column, limit, similar=similar)

    def significantTerms(  # noqa: N802
        self,
        column: str,
        query: str | None = None,
        where: str | None = None,
        limit: int = 10,
        *,
        sample: int = 10_000,
        min_rows: int = 2,
    ) -> Any:
        """Return the words that are typical of the rows of a search, as an Arrow table.

        The driver reads the rows itself; see `indextables.api.local.Table.significant_terms`.
        """
        return self._local().significant_terms(
            column, query, where, limit, sample=sample, min_rows=min_rows
        )

    def _local(self) -> Table:
        return open_local(self.path, options=self._options)

    @property
    def _options(self) -> dict[str, str]:
        """The session's settings for tables, for work that is done without Spark."""
        return {key: text for key, text in self._spark.conf.getAll.items() if is_setting(key)}

    def delete(self, condition: Expression | None = None) -> None:
        """Delete the rows that match a condition, which may include searches, or all rows.

        Conditions and values are SQL text or columns, here and in `update` and `merge`.
        """
        ChangeTarget(self._spark, self._sql_name, self._alias).delete(condition)

    def update(self, condition: Expression | None = None, set: Values | None = None) -> None:  # noqa: A002
        """Update rows; `set` has values by column."""
        new = values_of(set, "set")
        ChangeTarget(self._spark, self._sql_name, self._alias).update(condition, new)

    def merge(self, source: DataFrame, condition: Expression) -> MergeBuilder:
        """Start a MERGE INTO; the condition refers to both sides by their aliases.

        The default aliases are `target` and `source`.
        """
        target = ChangeTarget(self._spark, self._sql_name, self._alias or TARGET)
        return MergeBuilder(target, source, condition)

    @property
    def _sql_name(self) -> str:
        path = self.path.replace("`", "``")
        return self.name or f"{FORMAT}.`{path}`"

    def history(self, limit: int | None = None) -> DataFrame:
        """Return the commits of the table, newest first."""
        found = self._command(DescribeHistory(self._target, limit))
        # notebooks ask the object itself
        found._repr_html_ = lambda: grid(  # type: ignore[method-assign]
            _HISTORY, [_texts(row, _HISTORY) for row in found.head(MOST_ROWS)]
        )
        return found

    def detail(self) -> DataFrame:
        """Return version, splits, rows, bytes, partitions and properties, in one row."""
        return self._command(DescribeDetail(self._target))

    @classmethod
    def buildCompanion(  # noqa: N802
        cls,
        spark: SparkSession,
        path: str,
        source: str,
        source_format: str = "delta",
        *,
        catalog: str | None = None,
        catalog_type: str | None = None,
        warehouse: str | None = None,
        indexing_modes: Mapping[str, str] | None = None,
        include_columns: Sequence[str] = (),
        exclude_columns: Sequence[str] = (),
        fastfields_mode: str | None = None,
        target_input_size: str | None = None,
        where: str | None = None,
        invalidate_all: bool = False,
        table_roots: Mapping[str, str] | None = None,
        dry_run: bool = False,
    ) -> DataFrame:
        """Index a Delta, Iceberg or Parquet table where it is, or bring its index up to date.

        Arguments are the clauses of BUILD INDEXTABLES COMPANION. The result has one row.
        """
        command = BuildCompanion(
            source_format=source_format.upper(),
            source=source,
            destination=path,
            catalog=catalog,
            catalog_type=catalog_type,
            warehouse=warehouse,
            indexing_modes=tuple((indexing_modes or {}).items()),
            include_columns=tuple(include_columns),
            exclude_columns=tuple(exclude_columns),
            fastfields_mode=fastfields_mode,
            target_input_size=None if target_input_size is None else parse_size(target_input_size),
            where=where,
            invalidate_all=invalidate_all,
            table_roots=tuple((table_roots or {}).items()),
            dry_run=dry_run,
        )
        with progress(spark, "indexing"):
            return spark.sql(render(command))

    def mergeSplits(self, where: str | None = None, target_size: str | None = None) -> DataFrame:  # noqa: N802
        """Merge small splits into larger ones."""
        size = None if target_size is None else parse_size(target_size)
        with progress(self._spark, "merging splits"):
            return self._command(MergeSplits(self._target, where, size))

    def reindex(
        self,
        indexing_modes: Mapping[str, str] | None = None,
        tokenizers: Mapping[str, str] | None = None,
        options: Mapping[str, str] | None = None,
    ) -> DataFrame:
        """Change how columns are indexed, in one commit; arguments are the clauses of REINDEX.

        For example `reindex({"message": "text+ngram"}, {"message": "identifiers"})`.
        """
        pairs = (tuple((given or {}).items()) for given in (indexing_modes, tokenizers, options))
        return self._command(Reindex(self._target, *pairs))

    def purge(self, older_than_hours: int = 168, *, dry_run: bool = False) -> DataFrame:
        """Delete files that no retained version refers to."""
        span = Span(older_than_hours, "HOURS")
        with progress(self._spark, "purging"):
            return self._command(Purge(self._target, span, dry_run=dry_run))

    def checkpoint(self) -> DataFrame:
        """Write a compact checkpoint of the table."""
        return self._command(Checkpoint(self._target))

    def restoreToVersion(self, version: int) -> DataFrame:  # noqa: N802
        """Restore an older version, as a new commit."""
        return self._command(Restore(self._target, version))

    def restoreToTimestamp(self, timestamp: str) -> DataFrame:  # noqa: N802
        """Restore the version at a timestamp, as a new commit."""
        return self._command(Restore(self._target, timestamp=timestamp))

    def files(self) -> Any:
        """Return the live splits as an Arrow table."""
        settings = resolve(session=self._spark.conf.getAll)
        store = open_store(find_location(self.path, settings), settings)
        return open_log(store, settings).snapshot().files()

    @property
    def _target(self) -> Target:
        return Target(path=self.path)

    def _command(self, command: Command) -> DataFrame:
        return self._spark.sql(render(command))


def _texts(row: Row, names: Sequence[str]) -> list[str]:
    return ["" if row[name] is None else str(row[name]) for name in names]
