"""Answer a path and its parameters with a page, in the query process."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from indextables.errors import IndexTablesError, TableNotFoundError, error
from indextables.page import statement
from indextables.page.answers import facts, health, versions
from indextables.page.answers.fields import choose_fields
from indextables.page.answers.search import PAGE_ROWS, Search, complete, kind_of_column, look_at
from indextables.page.answers.shelf import Shelf
from indextables.page.render import charts as draw
from indextables.page.render import health as show_health
from indextables.page.render import history as show_history
from indextables.page.render import search as show
from indextables.page.render import table as show_table
from indextables.page.render.home import home
from indextables.page.render.layout import failure_page, problem, table_page
from indextables.page.view import View
from indextables.runtime.cache import Cache
from indextables.show.markup import Html

if TYPE_CHECKING:
    from indextables.page.answers.fields import Fields
    from indextables.read.table import OpenTable

_log = logging.getLogger("indextables.page")
HTML, JSON = "text/html; charset=utf-8", "application/json"
Pairs: TypeAlias = Sequence[tuple[str, str]]
Reply: TypeAlias = tuple[int, str, str]
# columns whose values are shown at once; the others are loaded when they are opened
_OPEN_VALUES, _OPEN_NUMBERS = 4, 1


class Pages:
    """All pages of some tables."""

    def __init__(self, locations: Sequence[str], options: Mapping[str, str]) -> None:
        self.shelf = Shelf(locations, options)
        self._fields: Cache[tuple[str, int], Fields] = Cache(64)

    def answer(self, path: str, pairs: Pairs) -> Reply:
        """The page at a path; an error is a page, too."""
        parts = [part for part in path.split("/") if part]
        try:
            return self._answer(parts, [(key, value) for key, value in pairs])
        except IndexTablesError as failure:
            return self._failed(parts, failure)
        except Exception as defect:  # noqa: BLE001 (without an answer the browser waits)
            _log.exception("a page could not be made")
            return self._failed(parts, error("INTERNAL", detail=type(defect).__name__))

    def _failed(self, parts: Sequence[str], failure: IndexTablesError) -> Reply:
        if parts and parts[-1].endswith(".json"):
            return 200, JSON, json.dumps({"problem": problem(failure)})
        missing = isinstance(failure, TableNotFoundError) or failure.code == "PAGE_UNKNOWN"
        status = 404 if missing else 500
        root = "../../" if len(parts) > 1 else ""
        return status, HTML, failure_page(root, self._named(parts), failure)

    def _answer(self, parts: Sequence[str], pairs: Pairs) -> Reply:
        if not parts:
            entries = self.shelf.entries()
            return 200, HTML, home(entries, int(time.time() * 1000))
        if len(parts) != 3 or parts[0] != "t" or not parts[1].isdigit():  # noqa: PLR2004
            raise error("PAGE_UNKNOWN", path="/".join(parts))
        number, name = int(parts[1]), parts[2]
        if name in _FRAGMENTS:
            fragments = _FRAGMENTS[name](self, number, View.of(pairs), dict(pairs))
            return 200, JSON, json.dumps(fragments)
        if name not in _VIEWS:
            raise error("PAGE_UNKNOWN", path="/".join(parts))
        return 200, HTML, _VIEWS[name](self, number, View.of(pairs), dict(pairs))

    def _named(self, parts: Sequence[str]) -> str:
        try:
            return self.shelf.path(int(parts[1])) if len(parts) > 1 else ""
        except (IndexTablesError, ValueError):
            return ""

    def _looked_at(self, table: OpenTable) -> Fields:
        key = (table.path, table.snapshot.version)
        found = self._fields.get(key)
        if found is None:
            try:
                found = look_at(table)
            except IndexTablesError:  # rows that cannot be read are reported where they are shown
                return choose_fields(table.columns, None)
            self._fields.put(key, found)
        return found

    def search(self, number: int, view: View, _: Mapping[str, str]) -> Html:
        """The whole search page."""
        table = self.shelf.open(number, view.version)
        parts = {
            **_NOTHING,
            **self.hits(number, view, {}),
            **self.chart(number, view, {}),
            **self.facets(number, view, {}),
        }
        names = [(info.name, info.role) for info in table.columns.infos if info.indexed]
        body = show.frame(view, names, {name: Html(part) for name, part in parts.items()})
        return table_page(table.path, "search", view.version, self._newest(number), body)

    def hits(self, number: int, view: View, _: Mapping[str, str]) -> dict[str, Html]:
        """The rows, their number, and the statements that return them."""
        table = self.shelf.open(number, view.version)
        fields = self._looked_at(table)
        search = Search(table, view, fields)
        started = time.perf_counter()
        try:
            found = search.hits()
        except IndexTablesError as failure:
            return {"problem": show.query_problem(view, failure), "chips": show.chips(view)}
        took = (time.perf_counter() - started) * 1000
        schema = table.snapshot.schema
        return {
            "problem": Html(""),
            "chips": show.chips(view),
            "summary": show.summary(view, found, fields, took),
            "hits": show.hit_list(view, found, fields)
            if found.total
            else show.no_hits(view, search.did_you_mean()),
            "pager": show.pager(view, found.total),
            "statement": show.statement(
                statement.sql(view, table.path, schema, PAGE_ROWS),
                statement.python(view, table.path, schema, PAGE_ROWS),
            ),
        }

    def words(self, number: int, view: View, given: Mapping[str, str]) -> dict[str, Html]:
        """Words of the index that complete the input, in one column or in all."""
        table = self.shelf.open(number, view.version)
        found = complete(table, given.get("text", ""), given.get("column", ""))
        return {"words": show.word_list(found)}

    def chart(self, number: int, view: View, _: Mapping[str, str]) -> dict[str, Html]:
        """The histogram over time; errors of a search are shown beside the rows."""
        table = self.shelf.open(number, view.version)
        fields = self._looked_at(table)
        try:
            found = Search(table, view, fields).over_time()
        except (IndexTablesError, ValueError):
            return {}
        kind = kind_of_column(table, view.time or fields.time)
        return {"chart": draw.over_time(view, found, kind, fields)}

    def facets(self, number: int, view: View, _: Mapping[str, str]) -> dict[str, Html]:
        """The filters."""
        table = self.shelf.open(number, view.version)
        fields = self._looked_at(table)
        search = Search(table, view, fields)
        chosen = {*view.narrowed}
        values = [n for at, n in enumerate(fields.values) if at < _OPEN_VALUES or n in chosen]
        # columns with mostly distinct values, such as ids, are rarely worth a distribution
        numbers = [n for n in fields.numbers if n in chosen] or [*fields.numbers[-_OPEN_NUMBERS:]]
        try:
            parts = [draw.values(view, search.values(name)) for name in values]
            parts += [draw.distribution(view, search.distribution(name)) for name in numbers]
        except IndexTablesError:
            return {}
        later = [n for n in (*fields.values, *fields.numbers) if n not in (*values, *numbers)]
        return {"facets": draw.facets(view, parts, later)}

    def facet(self, number: int, view: View, given: Mapping[str, str]) -> dict[str, Html]:
        """One filter, when it is opened."""
        table = self.shelf.open(number, view.version)
        search = Search(table, view, self._looked_at(table))
        column = given.get("column", "")
        if column in search.fields.numbers:
            return {"body": draw.distribution(view, search.distribution(column))}
        if column not in search.fields.values:
            raise error("COLUMN_UNKNOWN", columns=column, available=", ".join(search.schema.names))
        return {"body": draw.values(view, search.values(column))}

    def table(self, number: int, view: View, _: Mapping[str, str]) -> Html:
        """The facts of the table."""
        table = self.shelf.open(number, view.version)
        found = facts.table_facts(table)
        body = show_table.table_view(found)
        return table_page(table.path, "table", view.version, found.newest, body)

    def components(self, number: int, view: View, _: Mapping[str, str]) -> dict[str, Html]:
        """Bytes by component."""
        found = facts.components(self.shelf.open(number, view.version))
        return {"body": show_table.components_view(found)}

    def history(self, number: int, view: View, given: Mapping[str, str]) -> Html:
        """The history, and the differences between two versions."""
        table = self.shelf.open(number)
        compared: Html | None = None
        chosen: tuple[int, int] | None = None
        ends = (given.get("from", ""), given.get("to", ""))
        if all(end.isascii() and end.isdigit() for end in ends):
            first, last = chosen = (min(map(int, ends)), max(map(int, ends)))
            try:
                found = versions.difference(
                    self.shelf.open(number, first), self.shelf.open(number, last)
                )
                compared = show_history.difference_view(found)
            except IndexTablesError as failure:
                compared = problem(failure)
        now = int(time.time() * 1000)
        body = show_history.history_view(versions.history(table), now, chosen, compared)
        return table_page(table.path, "history", view.version, table.snapshot.version, body)

    def health(self, number: int, _: View, __: Mapping[str, str]) -> Html:
        """The checks of the table."""
        table = self.shelf.open(number)
        body = show_health.health_view(health.findings(table))
        return table_page(table.path, "health", None, None, body)

    def orphans(self, number: int, _: View, __: Mapping[str, str]) -> dict[str, Html]:
        """Files that no version refers to."""
        found = health.orphans(self.shelf.open(number))
        return {"body": show_health.finding_view(found)}

    def _newest(self, number: int) -> int:
        return self.shelf.open(number).snapshot.version


_NOTHING = dict.fromkeys(
    ("problem", "chart", "facets", "chips", "summary", "hits", "pager", "statement"), Html("")
)
_VIEWS: dict[str, Callable[[Pages, int, View, Mapping[str, str]], Html]] = {
    "search": Pages.search,
    "table": Pages.table,
    "history": Pages.history,
    "health": Pages.health,
}
_FRAGMENTS: dict[str, Callable[[Pages, int, View, Mapping[str, str]], dict[str, Html]]] = {
    "hits.json": Pages.hits,
    "words.json": Pages.words,
    "chart.json": Pages.chart,
    "facets.json": Pages.facets,
    "facet.json": Pages.facet,
    "components.json": Pages.components,
    "orphans.json": Pages.orphans,
}
