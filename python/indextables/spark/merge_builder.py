"""Build MERGE INTO from Python, similar to Delta's builder.

Conditions and values are SQL. In them the table is called `target` and the rows `source`, unless
they have an alias: `table.alias("t").merge(rows.alias("s"), "t.id = s.id")`.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from indextables.spark.compat import alias_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession


TARGET, SOURCE = "target", "source"


def named(table: str, alias: str | None) -> str:
    """A table in a statement, under its alias if it has one."""
    return table if alias is None else f"{table} AS {quoted(alias)}"


def quoted(name: str) -> str:
    """A name in back quotes."""
    return "`" + name.replace("`", "``") + "`"


def delete_text(table: str, condition: str | None) -> str:
    """DELETE FROM as text."""
    return " ".join(("DELETE FROM", table, *_where(condition)))


def update_text(table: str, condition: str | None, values: Mapping[str, str]) -> str:
    """UPDATE as text."""
    return " ".join(("UPDATE", table, "SET", _assigned(values), *_where(condition)))


def _where(condition: str | None) -> tuple[str, ...]:
    return ("WHERE", condition) if condition else ()


def _assigned(values: Mapping[str, str]) -> str:
    return ", ".join(f"{column} = {text}" for column, text in values.items())


@dataclass(frozen=True)
class MergeBuilder:
    """A MERGE INTO under construction; every clause returns a new builder, `execute` runs it."""

    spark: SparkSession = field(repr=False)
    table: str
    source: DataFrame = field(repr=False)
    condition: str
    clauses: tuple[str, ...] = ()
    target: str = TARGET
    evolving: bool = False

    def withSchemaEvolution(self) -> MergeBuilder:  # noqa: N802
        """Let the table add columns and wider types of the source."""
        return replace(self, evolving=True)

    def whenMatchedUpdate(  # noqa: N802
        self,
        condition: str | None = None,
        set: Mapping[str, str] | None = None,  # noqa: A002
    ) -> MergeBuilder:
        """Change rows that match; `set` is SQL text by column."""
        return self._when("MATCHED", condition, f"UPDATE SET {_assigned(set or {})}")

    def whenMatchedUpdateAll(self, condition: str | None = None) -> MergeBuilder:  # noqa: N802
        """Replace rows that match by those of the source."""
        return self._when("MATCHED", condition, "UPDATE SET *")

    def whenMatchedDelete(self, condition: str | None = None) -> MergeBuilder:  # noqa: N802
        """Delete rows that match."""
        return self._when("MATCHED", condition, "DELETE")

    def whenNotMatchedInsert(  # noqa: N802
        self, condition: str | None = None, values: Mapping[str, str] | None = None
    ) -> MergeBuilder:
        """Insert rows of the source that match none; `values` is SQL text by column."""
        given = values or {}
        columns, texts = ", ".join(given), ", ".join(given.values())
        action = f"INSERT ({columns}) VALUES ({texts})"  # noqa: S608 (the caller writes SQL)
        return self._when("NOT MATCHED", condition, action)

    def whenNotMatchedInsertAll(self, condition: str | None = None) -> MergeBuilder:  # noqa: N802
        """Insert rows of the source that match none."""
        return self._when("NOT MATCHED", condition, "INSERT *")

    def whenNotMatchedBySourceUpdate(  # noqa: N802
        self,
        condition: str | None = None,
        set: Mapping[str, str] | None = None,  # noqa: A002
    ) -> MergeBuilder:
        """Change rows of the table that no row of the source matches."""
        action = f"UPDATE SET {_assigned(set or {})}"
        return self._when("NOT MATCHED BY SOURCE", condition, action)

    def whenNotMatchedBySourceDelete(  # noqa: N802
        self, condition: str | None = None
    ) -> MergeBuilder:
        """Delete rows of the table that no row of the source matches."""
        return self._when("NOT MATCHED BY SOURCE", condition, "DELETE")

    def _when(self, match: str, condition: str | None, action: str) -> MergeBuilder:
        also = f" AND ({condition})" if condition else ""
        return replace(self, clauses=(*self.clauses, f"WHEN {match}{also} THEN {action}"))

    def text(self, view: str) -> str:
        """The statement, with the source under a name."""
        verb = "MERGE WITH SCHEMA EVOLUTION INTO" if self.evolving else "MERGE INTO"
        source = alias_of(self.source) or SOURCE
        sides = f"{named(self.table, self.target)} USING {view} AS {quoted(source)}"
        return " ".join((f"{verb} {sides} ON {self.condition}", *self.clauses))

    def execute(self) -> None:
        """Run it, as one commit."""
        view = f"indextables_merge_{uuid.uuid4().hex}"
        self.source.createOrReplaceTempView(view)
        try:
            self.spark.sql(self.text(view))
        finally:
            self.spark.catalog.dropTempView(view)
