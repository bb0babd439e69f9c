"""A site with tables of all kinds, and a real browser."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.page import tables

from indextables.page.serve import Site, running_site

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@dataclass(frozen=True)
class Tables:
    """A running site and the URLs of its tables."""

    site: Site
    numbers: dict[str, int]

    def url(self, name: str, page: str = "search") -> str:
        return f"{self.site.url}t/{self.numbers[name]}/{page}"


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="session")
def site(folder):
    made = {
        "events": tables.write_events,
        "partitioned": tables.write_partitioned,
        "hostile": tables.write_hostile,
        "corrupt": tables.write_corrupt,
        "damaged": tables.write_damaged_split,
    }
    paths = [make(str(folder / name)) for name, make in made.items()]
    with running_site(paths, {}) as running:
        yield Tables(running, {name: at for at, name in enumerate(made)})


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    from playwright.sync_api import sync_playwright

    program = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("no chromium: apt-get install chromium, or run `make setup` as root")
    with sync_playwright() as playwright:
        # a new, empty profile, whose contexts share nothing
        started = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture
def look(browser):
    """Open a URL in a new window; any error that the browser reports fails the test."""
    opened = []

    def _look(url: str, *, viewport=None, scheme: str = "light", **context):
        window = browser.new_context(viewport=viewport or DESKTOP, color_scheme=scheme, **context)
        page = window.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda problem: problems.append(str(problem)))
        page.on("console", lambda line: problems.append(line.text) if line.type == "error" else 0)
        page.on("dialog", lambda shown: problems.append(shown.message))
        page.goto(url)
        opened.append(window)
        return page

    problems: list[str] = []
    yield _look
    for window in opened:
        window.close()
    assert problems == []
