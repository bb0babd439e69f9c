"""The page in a real browser: search, brush, filters, versions, health, keyboard, phone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.page.conftest import PHONE
from tests.page.tables import SCRIPT

import indextables


def settled(page) -> None:
    page.locator("body[data-ready]:not([data-busy])").wait_for()


def total(page) -> int:
    settled(page)
    return int(page.locator("#summary strong").inner_text().replace(",", ""))


def type_query(page, text: str) -> None:
    settled(page)  # the script does not see input that is typed before it runs
    page.locator("#q").press_sequentially(text, delay=5)
    page.wait_for_url(lambda url: parse_qs(urlsplit(url).query).get("q") == [text])
    settled(page)


def load_by(page, control) -> None:
    """Click a link to another page, and wait until that page has loaded."""
    with page.expect_navigation():
        control.click()


@pytest.fixture
def events(folder):
    return indextables.open(str(folder / "events"))


def test_a_search_while_typing_shows_marked_rows_and_the_number_of_all(look, site, events):
    page = look(site.url("events"))
    assert total(page) == events.count()
    type_query(page, "timeout AND payment")
    assert total(page) == events.count(query="timeout AND payment")
    marks = {text.lower() for text in page.locator("#hits mark").all_inner_texts()}
    assert marks == {"timeout", "payment"}
    first = page.locator("#hits .hit").first
    first.locator("summary").click()
    assert first.locator("dt").all_inner_texts() == events.schema.names


def test_an_error_stands_below_its_character(look, site):
    page = look(site.url("events"))
    type_query(page, "level:ERROR AND")
    assert "has nothing after it" in page.locator("#problem").inner_text()
    where = page.evaluate("""() => {
        const box = document.querySelector('#q'), sign = document.querySelector('.caret .here');
        const style = getComputedStyle(box), canvas = document.createElement('canvas');
        const pen = canvas.getContext('2d');
        pen.font = style.font;
        const wanted = box.getBoundingClientRect().left + parseFloat(style.paddingLeft)
            + parseFloat(style.borderLeftWidth) + pen.measureText('level:ERROR ').width;
        return [wanted, sign.getBoundingClientRect().left];
    }""")
    assert abs(where[0] - where[1]) < 3
    page.locator("#q").fill("")
    type_query(page, "level:ERROR AND id:1")
    assert page.locator("#problem").inner_text() == ""


def test_fields_are_completed(look, site):
    page = look(site.url("events"))
    page.locator("#q").press_sequentially("lev")
    page.locator("#suggestions li").first.wait_for()
    assert page.locator("#suggestions li").first.get_attribute("data-text") == "level:"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#q").input_value() == "level:"
    page.locator("#q").press_sequentially("ERROR")
    settled(page)


def test_words_of_the_index_are_completed(look, site):
    page = look(site.url("events"))
    page.locator("#q").press_sequentially("timeo")
    word = page.locator("#suggestions li[data-text=timeout]")
    word.wait_for()
    assert "rows" in word.inner_text()
    word.click()
    assert page.locator("#q").input_value() == "timeout "
    assert page.locator("#suggestions").is_hidden()
    page.locator("#q").press_sequentially("AND level:ERR")
    page.locator("#suggestions li[data-text=ERROR]").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    assert page.locator("#q").input_value() == "timeout AND level:ERROR "
    settled(page)
    assert total(page) > 0


def test_a_misspelt_query_is_corrected_by_a_click(look, site):
    page = look(site.url("events"))
    type_query(page, "tiemout")
    page.locator("#hits a", has_text="timeout").click()
    settled(page)
    assert page.locator("#q").input_value() == "timeout"
    assert total(page) > 0


def test_a_brush_narrows_the_time(look, site, events):
    page = look(site.url("events"))
    before = total(page)
    area = page.locator(".histogram").bounding_box()
    middle = area["y"] + area["height"] / 2
    page.mouse.move(area["x"] + area["width"] * 0.251, middle)
    page.mouse.down()
    page.mouse.move(area["x"] + area["width"] * 0.4, middle)
    page.mouse.move(area["x"] + area["width"] * 0.499, middle)
    page.mouse.up()
    page.wait_for_url(re.compile("from="))
    after = total(page)
    assert 0 < after < before
    chip = page.locator("#chips .chip").inner_text()
    start, end = re.search(r"ts: (.*) to (.*) ✕", chip).groups()
    assert after == events.count(f"ts >= '{start}Z' AND ts < '{end}Z'")
    page.locator("#chips .chip").click()
    page.wait_for_url(lambda url: "from=" not in url)
    assert total(page) == before


def test_a_bar_narrows_to_its_time(look, site):
    page = look(site.url("events"))
    before = total(page)
    page.locator(".histogram svg a").first.click()
    page.wait_for_url(re.compile("from="))
    assert 0 < total(page) < before


def test_a_value_and_a_range_narrow(look, site, events):
    page = look(site.url("events"))
    total(page)
    page.get_by_role("button", name=re.compile("^ERROR")).click()
    page.wait_for_url(re.compile("f.level=ERROR"))
    assert total(page) == events.count("level = 'ERROR'")
    page.get_by_role("button", name=re.compile("^WARN")).click()
    page.wait_for_url(re.compile("WARN"))
    assert total(page) == events.count("level IN ('ERROR', 'WARN')")
    assert (
        page.get_by_role("button", name=re.compile("ERROR")).get_attribute("aria-pressed") == "true"
    )
    page.get_by_label("latency_ms, from").fill("100")
    page.get_by_label("latency_ms, from").press("Enter")
    page.wait_for_url(re.compile("min.latency_ms=100"))
    assert total(page) == events.count("level IN ('ERROR', 'WARN') AND latency_ms >= 100")


def test_other_filters_are_loaded_when_they_are_opened(look, site):
    page = look(site.url("events"))
    settled(page)
    facet = page.locator("details.facet[data-key=id]").first
    assert facet.locator("svg").count() == 0
    facet.locator("summary").first.click()
    facet.locator(".distribution svg").wait_for()


def test_order_and_pages(look, site, events):
    page = look(site.url("events"))
    settled(page)
    page.select_option("#sort", label="latency_ms ↓")
    page.wait_for_url(re.compile("sort=latency_ms"))
    settled(page)
    page.get_by_role("link", name="Next").click()
    page.wait_for_url(re.compile("page=2"))
    settled(page)
    expected = events.scan(["id"], order_by=["latency_ms DESC"], limit=20, offset=20)
    page.evaluate("document.querySelectorAll('.hit details').forEach(d => d.open = true)")
    shown = page.locator(".hit dl").evaluate_all(
        "all => all.map(dl => dl.querySelector('dd').innerText)"
    )
    assert shown == [str(n) for n in expected["id"].to_pylist()]


def test_the_statement_of_the_page_finds_the_same_rows(look, site, events):
    page = look(site.url("events", "search?q=timeout&f.level=ERROR&sort=ts&dir=asc"))
    page.locator("#statement summary").click()
    text = page.locator("#statement pre").nth(1).inner_text()
    scope: dict = {}
    exec(text, scope)
    expected = events.scan(["id"], "level = 'ERROR'", 20, query="timeout", order_by=["ts ASC"])
    assert scope["rows"]["id"].to_pylist() == expected["id"].to_pylist()
    assert "indexqueryall('timeout')" in page.locator("#statement pre").first.inner_text()


def test_the_browser_goes_back(look, site):
    page = look(site.url("events"))
    before = total(page)
    page.get_by_role("button", name=re.compile("^ERROR")).click()
    page.wait_for_url(re.compile("f.level=ERROR"))
    assert total(page) < before
    page.go_back()
    page.locator("#summary strong", has_text=f"{before:,}").wait_for()


def test_time_travel(look, site, folder):
    page = look(site.url("events", "history"))
    load_by(page, page.locator("#v2").get_by_role("link", name="Search this version"))
    assert total(page) == indextables.open(str(folder / "events"), version=2).count()
    assert "Version 2 of" in page.locator(".travel").inner_text()
    type_query(page, "timeout")
    assert total(page) == indextables.open(str(folder / "events"), version=2).count(query="timeout")
    load_by(page, page.get_by_role("link", name="Table", exact=True))
    assert page.locator(".facts").inner_text().startswith("Rows\n2,000")
    load_by(page, page.get_by_role("link", name="Back to the newest version"))
    assert page.locator(".travel").count() == 0


def test_history_and_the_difference_of_two_versions(look, site, folder):
    page = look(site.url("events", "history"))
    assert "deleted" in page.locator("#v4 .changes").inner_text()
    assert "1,000 rows" in page.locator("#v3 .changes").inner_text()
    page.select_option("select[name=from]", "2")
    page.select_option("select[name=to]", "3")
    load_by(page, page.get_by_role("button", name="Show the difference"))
    shown = page.locator("#difference")
    assert "From version 2 to 3" in shown.inner_text()
    assert "+1,000" in shown.inner_text()
    assert shown.locator("td .added").count() > 10
    page.goto(site.url("events", "history?from=3&to=4"))
    assert "more deleted" in page.locator("#difference").inner_text()
    assert page.locator("#difference td .removed").count() > 10


def test_the_table_view(look, site):
    page = look(site.url("events", "table"))
    page.locator("#components table").first.wait_for()
    columns = page.locator("section", has_text="Columns").first
    assert "default" in columns.locator("tr", has_text="message").inner_text()
    assert page.locator(".treemap .tile").count() == 3
    assert page.locator('.treemap rect[fill="url(#hatch)"]').count() == 3
    page.goto(site.url("partitioned", "table"))
    assert "day=2026-01-01" in page.locator("section", has_text="Partitions").last.inner_text()


def test_health_names_the_statement_and_copies_it(look, site, folder):
    page = look(site.url("events", "health"), permissions=["clipboard-read", "clipboard-write"])
    page.locator("#orphans h2").wait_for()
    splits = page.locator(".finding", has_text="Split sizes")
    assert splits.locator(".verdict").inner_text() == "Attention"
    assert splits.locator("code").inner_text() == f"MERGE SPLITS '{folder}/events'"
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))
    splits.get_by_role("button").click()
    splits.get_by_text("Copied").wait_for()
    page.clock.run_for(1500)
    splits.get_by_text("Copy", exact=True).wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == f"MERGE SPLITS '{folder}/events'"
    assert "deleted row" in page.locator(".finding", has_text="Deleted rows").inner_text()


def test_keys(look, site):
    page = look(site.url("events", "search?q=timeout"))
    settled(page)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert (
        page.evaluate(
            "[...document.querySelectorAll('#hits summary')].indexOf(document.activeElement)"
        )
        == 1
    )
    page.keyboard.press("Enter")
    assert page.locator("#hits details").nth(1).get_attribute("open") is not None
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.id") == "q"


@pytest.mark.parametrize("name", ["search?q=timeout", "table", "history?from=1&to=4", "health"])
def test_a_phone_needs_no_sideways_scrolling(look, site, name):
    page = look(site.url("events", name), viewport=PHONE)
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    if name.startswith("search"):
        assert page.locator("#facets").is_hidden()
        assert page.locator(".hit").first.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["search?q=timeout&f.level=ERROR", "table", "history", "health"])
def test_text_has_contrast_and_fields_have_labels(look, site, scheme, name):
    page = look(site.url("events", name), scheme=scheme)
    page.wait_for_load_state("networkidle")
    faults = page.evaluate(CONTRAST)
    assert faults == []
    unnamed = page.evaluate("""() =>
        [...document.querySelectorAll('input:not([type=hidden]), select, button')]
        .filter(e => !e.labels?.length && !e.ariaLabel && !e.innerText.trim())
        .map(e => e.outerHTML)""")
    assert unnamed == []


def test_the_theme_can_be_chosen_and_stays(look, site):
    page = look(site.url("events", "table"), scheme="light")
    light = page.evaluate("getComputedStyle(document.body.parentElement).backgroundColor")
    page.get_by_role("button", name="Switch between light and dark").click()
    page.reload()
    dark = page.evaluate("getComputedStyle(document.body.parentElement).backgroundColor")
    assert light != dark


def test_hostile_names_and_values_are_text(look, site):
    page = look(site.url("hostile", "search?q=needle"))
    assert total(page) == 12
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    settled(page)
    assert SCRIPT in page.locator("#hits").inner_text()
    for name in ("table", "history?from=0&to=1", "health", "search"):
        page.goto(site.url("hostile", name))
        page.wait_for_load_state("networkidle")
    page.goto(site.url("hostile", "search"))
    page.get_by_role("button", name=re.compile("OR 1=1")).click()
    page.wait_for_url(re.compile("f.kind="))
    assert total(page) == 4
    assert page.evaluate("document.querySelectorAll('#content img, #content script').length") == 0
    assert "owned" not in page.title()


def test_a_corrupt_table_says_which_file(look, site, browser):
    # the browser reports the status of the page as an error
    window = browser.new_context()
    page = window.new_page()
    answer = page.goto(site.url("corrupt"))
    assert answer.status == 500
    assert "_transaction_log/0000" in page.locator(".problem").inner_text()
    page.goto(site.site.url)
    cards = page.locator(".cards .card")
    assert cards.count() == 5
    assert "⚠" in cards.nth(site.numbers["corrupt"]).inner_text()
    page.goto(site.url("damaged", "search?q=order"))
    assert ".split" in page.locator("#problem").inner_text()
    window.close()


CONTRAST = """() => {
    const number = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
        .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
    const ground = (e) => {
        for (; e; e = e.parentElement) {
            const color = number(getComputedStyle(e).backgroundColor);
            if (color.length === 3 || color[3] > 0.9) return color;
        }
        return [255, 255, 255];
    };
    const faults = [];
    for (const e of document.querySelectorAll('body *')) {
        const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
        const hidden = e.closest('svg, [aria-disabled=true], [aria-hidden=true]');
        if (!own || !e.checkVisibility() || hidden) continue;
        const [one, other] = [light(number(getComputedStyle(e).color)), light(ground(e))];
        const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        if (ratio < 4.5) faults.push(`${e.tagName}.${e.className} ${ratio.toFixed(2)}`);
    }
    return [...new Set(faults)];
}"""
