"""DELETE, UPDATE and MERGE INTO from Python, in the manner of Delta's API.

Conditions and values are SQL text or columns. In a merge the table is called `target` and the rows
`source`, unless they have an alias: `table.alias("t").merge(rows.alias("s"), "t.id = s.id")`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from indextables.spark.compat import alias_of, expression
from indextables.sql.values import quote_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    Expression: TypeAlias = str | Column
    Values: TypeAlias = Mapping[str, Expression]


TARGET, SOURCE = "target", "source"
_ALWAYS = "true"
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


@dataclass(frozen=True)
class Target:
    """A table to change: its name in SQL, and the alias that conditions use."""

    spark: SparkSession = field(repr=False)
    table: str
    alias: str | None = None

    def named(self, verb: str) -> str:
        """The target of a MERGE that the hooks turn into this verb on this table."""
        alias = {} if self.alias is None else {"alias": self.alias}
        named = json.dumps({"verb": verb, "table": self.table} | alias)
        return f"indextables_change.{quote_name(named)}"

    def column(self, given: Expression) -> Column:
        """A condition or value as a column."""
        found: Column = expression(self.spark, given) if isinstance(given, str) else given
        return found

    def columns(self, given: Values | None) -> dict[str, Column]:
        """Values by column; names that need quotes may come without them."""
        return {self._name(name): self.column(value) for name, value in (given or {}).items()}

    def _name(self, given: str) -> str:
        if _PLAIN.fullmatch(given) or given not in self.spark.table(self.table).columns:
            return given
        return quote_name(given)

    def delete(self, condition: Expression | None) -> None:
        """Delete the rows that match, or all."""
        self._change("delete", condition).delete().merge()

    def update(self, condition: Expression | None, values: Values | None) -> None:
        """Set columns of the rows that match, or of all."""
        self._change("update", condition).update(self.columns(values)).merge()

    def _change(self, verb: str, condition: Expression | None) -> Any:
        # a MERGE in name only, so its source is never read
        source = self.spark.range(0)
        matched = self.column(_ALWAYS if condition is None else condition)
        return source.mergeInto(self.named(verb), matched).whenMatched()


@dataclass(frozen=True)
class _Clause:
    """`WHEN MATCHED ... THEN ...`: methods of Spark's writer, and what they take."""

    when: str
    condition: Expression | None
    action: str
    values: Values | None = None


@dataclass(frozen=True)
class MergeBuilder:
    """A MERGE INTO under construction; every clause returns a new builder, `execute` runs it."""

    target: Target
    source: DataFrame = field(repr=False)
    condition: Expression
    clauses: tuple[_Clause, ...] = ()
    evolving: bool = False

    def withSchemaEvolution(self) -> MergeBuilder:  # noqa: N802
        """Add the new columns and wider types of the source to the table."""
        return replace(self, evolving=True)

    def whenMatchedUpdate(  # noqa: N802
        self,
        condition: Expression | None = None,
        set: Values | None = None,  # noqa: A002
    ) -> MergeBuilder:
        """Change rows that match; `set` has values by column."""
        return self._when("whenMatched", condition, "update", set or {})

    def whenMatchedUpdateAll(self, condition: Expression | None = None) -> MergeBuilder:  # noqa: N802
        """Replace rows that match by the source's."""
        return self._when("whenMatched", condition, "updateAll")

    def whenMatchedDelete(self, condition: Expression | None = None) -> MergeBuilder:  # noqa: N802
        """Delete rows that match."""
        return self._when("whenMatched", condition, "delete")

    def whenNotMatchedInsert(  # noqa: N802
        self, condition: Expression | None = None, values: Values | None = None
    ) -> MergeBuilder:
        """Insert rows of the source that match none; `values` has values by column."""
        return self._when("whenNotMatched", condition, "insert", values or {})

    def whenNotMatchedInsertAll(self, condition: Expression | None = None) -> MergeBuilder:  # noqa: N802
        """Insert rows of the source that match none."""
        return self._when("whenNotMatched", condition, "insertAll")

    def whenNotMatchedBySourceUpdate(  # noqa: N802
        self,
        condition: Expression | None = None,
        set: Values | None = None,  # noqa: A002
    ) -> MergeBuilder:
        """Change rows of the table that no row of the source matches."""
        return self._when("whenNotMatchedBySource", condition, "update", set or {})

    def whenNotMatchedBySourceDelete(  # noqa: N802
        self, condition: Expression | None = None
    ) -> MergeBuilder:
        """Delete rows of the table that no row of the source matches."""
        return self._when("whenNotMatchedBySource", condition, "delete")

    def _when(
        self, when: str, condition: Expression | None, action: str, values: Values | None = None
    ) -> MergeBuilder:
        return replace(self, clauses=(*self.clauses, _Clause(when, condition, action, values)))

    def execute(self) -> None:
        """Run it, as one commit."""
        target = self.target
        source = self.source if alias_of(self.source) else self.source.alias(SOURCE)
        writer: Any = source.mergeInto(target.named("merge"), target.column(self.condition))
        for clause in self.clauses:
            when = getattr(writer, clause.when)
            matched = when() if clause.condition is None else when(target.column(clause.condition))
            action = getattr(matched, clause.action)
            writer = action() if clause.values is None else action(target.columns(clause.values))
        (writer.withSchemaEvolution() if self.evolving else writer).merge()
