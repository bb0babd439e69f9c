"""MERGE INTO built step by step from Python, in the manner of Delta's builder.

Conditions and values are SQL text; the table is called `target` and the rows `source` in them.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession


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
    """A MERGE INTO on its way; every clause gives a new builder, `execute` runs it."""

    spark: SparkSession = field(repr=False)
    table: str
    source: DataFrame = field(repr=False)
    condition: str
    clauses: tuple[str, ...] = ()

    def whenMatchedUpdate(  # noqa: N802
        self,
        condition: str | None = None,
        set: Mapping[str, str] | None = None,  # noqa: A002
    ) -> MergeBuilder:
        """Change rows that match; `set` is SQL text by column."""
        return self._when("MATCHED", condition, f"UPDATE SET {_assigned(set or {})}")

    def whenMatchedUpdateAll(self, condition: str | None = None) -> MergeBuilder:  # noqa: N802
        """Replace rows that match by the source's."""
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
        head = f"MERGE INTO {self.table} AS target USING {view} AS source ON {self.condition}"
        return " ".join((head, *self.clauses))

    def execute(self) -> None:
        """Run it, as one commit."""
        view = f"indextables_merge_{uuid.uuid4().hex}"
        self.source.createOrReplaceTempView(view)
        try:
            self.spark.sql(self.text(view))
        finally:
            self.spark.catalog.dropTempView(view)
