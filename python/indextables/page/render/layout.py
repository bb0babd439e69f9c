"""The frame of every page: head, title line, tabs, and error pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indextables.show.markup import Child, Html, el, join

if TYPE_CHECKING:
    from indextables.errors import IndexTablesError

TABS = (("search", "Search"), ("table", "Table"), ("history", "History"), ("health", "Health"))
_DOCTYPE = Html("<!doctype html>\n")


def document(title: str, root: str, *body: Child) -> Html:
    """A whole page; `root` is the relative path to the start of the site."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", f"{title} · IndexTables"),
        el("link", rel="icon", type="image/svg+xml", href=f"{root}static/icon.svg"),
        el("link", rel="stylesheet", href=f"{root}static/page.css"),
        # in the head and not deferred, so that the theme is set before anything is drawn
        el("script", src=f"{root}static/theme.js"),
        el("script", src=f"{root}static/page.js", defer=True),
    )
    return join(_DOCTYPE, el("html", head, el("body", body), lang="en"))


def table_page(path: str, tab: str, version: int | None, newest: int | None, *body: Child) -> Html:
    """A page about one table, with the tabs and the shown version."""
    keep = "" if version is None else f"?version={version}"
    tabs = [
        el(
            "a",
            name,
            href=where + (keep if where != "health" else ""),
            aria_current="page" if where == tab else None,
        )
        for where, name in TABS
    ]
    return document(
        path.rsplit("/", 1)[-1],
        "../../",
        el("a", "Skip to the content", href="#content", class_="skip"),
        _top("../../", path),
        el("nav", tabs, class_="tabs", aria_label="Views of the table"),
        None if version is None else _travel(version, newest, tab),
        el("div", body, id="content", class_=f"page {tab}"),
    )


def home_page(*body: Child) -> Html:
    """The page of all tables."""
    return document("Tables", "", _top("", ""), el("div", body, id="content", class_="page home"))


def failure_page(root: str, path: str, failure: IndexTablesError) -> Html:
    """An error page for a table that cannot be shown."""
    return document("Problem", root, _top(root, path), el("div", problem(failure), class_="page"))


def problem(failure: IndexTablesError) -> Html:
    """An error and its hint."""
    return el(
        "div",
        el("p", el("code", failure.code, class_="code"), " ", failure.message),
        el("p", failure.hint, class_="hint") if failure.hint else None,
        class_="problem",
        role="alert",
    )


def problem_page(title: str, text: str) -> Html:
    """A page without style, for requests without access."""
    head = el("head", el("meta", charset="utf-8"), el("title", title))
    return join(_DOCTYPE, el("html", head, el("body", el("h1", title), el("p", text)), lang="en"))


def copyable(text: str, label: str) -> Html:
    """Text in a box with a button that copies it."""
    return el(
        "div",
        el("pre", el("code", text)),
        el("button", "Copy", type="button", data_copy=True, aria_label=f"Copy {label}"),
        class_="copy",
    )


def _top(root: str, path: str) -> Html:
    name = path.rstrip("/").rsplit("/", 1)[-1]
    place = path[: len(path.rstrip("/")) - len(name)]
    return el(
        "header",
        el("a", el("span", class_="logo", aria_hidden="true"), "IndexTables", href=root or "./",
           class_="brand", aria_label="IndexTables, all tables"),
        el("h1", el("span", place, class_="place"), name, class_="path", title=path)
        if path
        else el("h1", "Tables", class_="path"),
        el("button", el("span", "◐", aria_hidden="true"), type="button", class_="theme",
           data_theme=True, aria_label="Switch between light and dark"),
        class_="top",
    )  # fmt: skip


def _travel(version: int, newest: int | None, tab: str) -> Html:
    last = "" if newest is None else f" of {newest}"
    return el(
        "p",
        el("strong", f"Version {version}{last}"),
        ". You are looking at the table as it was then. ",
        el("a", "Back to the newest version", href=tab),
        class_="travel",
        role="status",
    )
