"""Queries with equal answers from a companion and from a list of its source's rows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from tests.companions.rows import Row

import indextables
from indextables.api.local import Table

Test = Callable[[Row], bool]


@dataclass(frozen=True)
class Case:
    """A predicate, a search or both, and the result to compute from the matching rows."""

    shape: str
    where: str | None
    query: str | None
    matches: Test
    # the column that the search names in Spark SQL
    column: str = "message"

    def __str__(self) -> str:
        return f"{self.shape} where {self.where} query {self.query}"

    def ask(self, table: Table) -> Any:
        """The answer of a table opened without Spark."""
        given = {"where": self.where, "query": self.query}
        if self.shape == "rows":
            return multiset(table.scan(**given).to_pylist())
        if self.shape == "count":
            return table.count(**given)
        if self.shape == "top":
            found = table.scan(["id", "level"], order_by=["id DESC"], limit=5, **given)
            return found.to_pylist()
        if self.shape == "groups":
            functions = ["count(*)", "sum(amount)", "min(id)", "max(id)"]
            return multiset(table.aggregate(functions, ["level"], **given).to_pylist())
        functions = ["count(*)", "count(level)", "sum(id)", "min(seen)", "max(amount)"]
        return table.aggregate(functions, **given).to_pylist()

    def truth(self, rows: Sequence[Row]) -> Any:
        """The expected answer, computed from rows."""
        chosen = [row for row in rows if self.matches(row)]
        if self.shape == "rows":
            return multiset(chosen)
        if self.shape == "count":
            return len(chosen)
        if self.shape == "top":
            best = sorted(chosen, key=lambda row: -row["id"])[:5]
            return [{"id": row["id"], "level": row["level"]} for row in best]
        if self.shape == "groups":
            return multiset(_group(level, chosen) for level in {row["level"] for row in chosen})
        return [
            {
                "count(*)": len(chosen),
                "count(level)": len(_values(chosen, "level")),
                "sum(id)": _folded(sum, _values(chosen, "id")),
                "min(seen)": _folded(min, _values(chosen, "seen")),
                "max(amount)": _folded(max, _values(chosen, "amount")),
            }
        ]

    def sql(self, columns: Sequence[str]) -> str:
        """The same query as a SQL statement; `{t}` is the table."""
        search = None if self.query is None else f"{self.column} indexquery '{self.query}'"
        tests = [f"({each})" for each in (self.where, search) if each is not None]
        condition = f" WHERE {' AND '.join(tests)}" if tests else ""
        wanted, rest = {
            "rows": (", ".join(columns), ""),
            "count": ("count(*) AS n", ""),
            "top": ("id, level", " ORDER BY id DESC LIMIT 5"),
            "groups": (
                f"level, {_named('count(*)', 'sum(amount)', 'min(id)', 'max(id)')}",
                " GROUP BY level",
            ),
            "totals": (
                _named("count(*)", "count(level)", "sum(id)", "min(seen)", "max(amount)"),
                "",
            ),
        }[self.shape]
        return f"SELECT {wanted} FROM {{t}}{condition}{rest}"

    def answer(self, found: Sequence[Row]) -> Any:
        """The rows of `sql` in the form of `ask`."""
        if self.shape == "count":
            return found[0]["n"]
        return list(found) if self.shape in ("top", "totals") else multiset(found)


def _named(*functions: str) -> str:
    return ", ".join(f"{each} AS `{each}`" for each in functions)


def multiset(rows: Any) -> Counter[str]:
    """Rows without an order."""
    return Counter(repr(sorted(row.items())) for row in rows)


def _values(rows: Sequence[Row], name: str) -> list[Any]:
    return [row[name] for row in rows if row[name] is not None]


def _folded(fold: Callable[[list[Any]], Any], values: list[Any]) -> Any:
    return fold(values) if values else None


def _group(level: str | None, rows: Sequence[Row]) -> Row:
    mine = [row for row in rows if row["level"] == level]
    return {
        "level": level,
        "count(*)": len(mine),
        "sum(amount)": _folded(sum, _values(mine, "amount")),
        "min(id)": min(row["id"] for row in mine),
        "max(id)": max(row["id"] for row in mine),
    }


def _is(name: str, test: Callable[[Any], bool]) -> Test:
    return lambda row: row[name] is not None and test(row[name])


def _message(test: Callable[[str], bool]) -> Test:
    """A test of the column `message`, which is renamed in some versions."""

    def found(row: Row) -> bool:
        text = row[message_column(row)]
        return text is not None and test(text)

    return found


def message_column(names: Container[str]) -> str:
    """The current name of the column `message`."""
    return "message" if "message" in names else "body"


def _has(word: str) -> Test:
    return _message(lambda text: word in text.split())


def _predicates(rng: random.Random, made: int) -> list[tuple[str | None, Test]]:
    low = rng.randint(0, max(made, 1))
    level, day = rng.choice(["INFO", "WARN", "ERROR"]), rng.choice(["x", "y y", "z/é=%"])
    return [
        (None, lambda _: True),
        (f"id >= {low}", lambda row: row["id"] >= low),
        (f"id = {low}", lambda row: row["id"] == low),
        (f"level = '{level}'", _is("level", lambda value: value == level)),
        (f"NOT (level = '{level}')", _is("level", lambda value: value != level)),
        ("level IS NULL", lambda row: row["level"] is None),
        ("amount > 0.5 AND level IS NOT NULL",
         lambda row: row["level"] is not None and _is("amount", lambda v: v > 0.5)(row)),
        ("seen < DATE '2024-01-20'", _is("seen", lambda value: value < date(2024, 1, 20))),
        (f"day = '{day}'", _is("day", lambda value: value == day)),
        (f"day IS NULL OR id < {low}", lambda row: row["day"] is None or row["id"] < low),
        ("message LIKE 'word1%'", _message(lambda text: text.startswith("word1"))),
    ]  # fmt: skip


def _searches(rng: random.Random, made: int) -> list[tuple[str, Test]]:
    word, line = f"word{rng.randint(0, 5)}", f"line{rng.randint(1, max(made, 1))}"
    both = _has(word), _has("even")
    return [
        ("even", both[1]),
        (line, _has(line)),
        (f"{word} AND even", lambda row: both[0](row) and both[1](row)),
        (f"{word} OR {line}", lambda row: both[0](row) or _has(line)(row)),
    ]


SHAPES = ("rows", "rows", "count", "top", "groups", "totals")


def draw(rng: random.Random, made: int, column: str = "message") -> Case:
    """A random query of rows with ids up to `made`; `column` is the current name of `message`."""
    where, test = rng.choice(_predicates(rng, made))
    shape = rng.choice(SHAPES)
    if rng.random() < 0.5:
        return Case(shape, _renamed(where, column), None, test, column)
    text, found = rng.choice(_searches(rng, made))
    if rng.random() < 0.5:
        return Case(shape, None, text, found, column)
    return Case(shape, _renamed(where, column), text, lambda row: test(row) and found(row), column)


def _renamed(where: str | None, column: str) -> str | None:
    return None if where is None else where.replace("message", column)


def open_index(location: str, **options: str) -> Table:
    """Open the companion as a new process would."""
    return indextables.open(location, options=options)
