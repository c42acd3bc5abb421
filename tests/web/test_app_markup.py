"""The reader draws the book: pictures, tables, formulas, notes, links, and the cited words lit in each.

Hostile pictures, drawings, formulas and links do nothing: no script runs, and no other host is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support import illustrated
from tests.support.answerers import fill_library
from tests.support.browser import BrowserThread, PageVisit, open_page, serve_page

PNG, SVG = re.compile("^data:image/png;base64,"), re.compile(r"^data:image/svg\+xml;base64,")
LIT = "(text) => [...document.querySelectorAll('mark.cited')].map((m) => m.textContent).join('') === text"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("illustrated")
    books = (*illustrated.write_books(folder), *illustrated.write_hostile_books(folder))
    with serve_page(fill_library(folder / "library", *books)) as address:
        yield address


@pytest.fixture
def visit(stage: BrowserThread, base: str) -> Iterator[PageVisit]:
    with open_page(stage, base) as opened:
        yield opened
        stage.call(opened.assert_clean)


def list_sections(visit: PageVisit, book: str) -> list[dict[str, Any]]:
    address = f"{visit.base}/v1/books/{book}"
    listed = visit.page.request.get(f"{address}/contents").json()["sections"]
    return [visit.page.request.get(f"{address}/sections/{s['id']}").json() for s in listed]


def test_a_book_looks_like_itself(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-sea-chart")
    expect(page.locator("figure img")).to_have_attribute("src", PNG)
    expect(page.locator("figcaption")).to_have_text("The map of the harbour.")
    expect(page.locator("table caption")).to_have_text("Heights of the tide")
    expect(page.locator("td[rowspan='2'] strong")).to_have_text("quay")
    expect(page.locator("math mfrac")).to_have_count(1)
    expect(page.locator("ol[start='3'] > li")).to_have_count(2)
    expect(page.locator("blockquote")).to_contain_text("No rope")
    expect(page.locator("p[dir='rtl'][lang='he']")).to_have_count(1)
    expect(page.locator(".text em").first).to_have_text("tide")
    expect(page.locator("a[href='https://example.org/x']")).to_have_attribute(
        "rel", "noopener noreferrer nofollow"
    )
    assert page.locator("figure img").evaluate("(i) => i.decode().then(() => i.naturalWidth)") == 120
    assert visit.axe() == []


def test_links_lead_to_their_section_and_a_note_opens_beside_its_reference(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-sea-chart")
    page.locator("a.note-ref").click()
    expect(page.locator(".note-card")).to_contain_text("Measured at noon by the pilot.")
    expect(page.locator(".note-card em")).to_have_text("noon")
    page.keyboard.press("Escape")
    expect(page.locator(".note-card")).to_have_count(0)
    page.locator(".text a", has_text="ropes").click()
    page.wait_for_url("**/sections/ropes")


def test_the_cited_words_are_lit_in_every_kind_of_block(visit: PageVisit) -> None:
    """Each element is linked to in turn: what is lit is exactly its words, and the text stays whole."""
    page = visit.go("/")
    kinds: set[str] = set()
    for book in ("the-sea-chart", "the-boat-book"):
        for section in list_sections(visit, book):
            text = section["text"]
            for element in section["markup"]:
                start, end = element["start"], element["end"]
                if end == start or element["kind"] in kinds:
                    continue
                kinds.add(element["kind"])
                place = f"#/books/{book}/sections/{section['id']}?start={start}&end={end}"
                page.evaluate("(to) => { location.hash = to; }", place)
                page.wait_for_function(LIT, arg=text[start:end])
                lit = page.locator("mark.cited:visible, .formula.cited, .picture.cited")
                expect(lit.first).to_be_in_viewport()
                if "formula" not in {e["kind"] for e in section["markup"]}:
                    root = page.locator(f"[data-section='{section['id']}'] .text")
                    assert root.evaluate("(n) => n.textContent") == text
    assert {"cell", "code", "item", "link", "formula", "note", "caption", "row", "table", "image"} <= kinds


def test_hostile_pictures_formulas_and_links_do_nothing(visit: PageVisit) -> None:
    for book, last in (("wreck", "The last boat sank."), ("reef", "ways.")):
        page = visit.go(f"/#/books/{book}")
        expect(page.locator(".text")).to_contain_text(last)
        expect(page.locator(".picture img")).to_have_attribute("src", SVG)
        for address in page.locator(".text a").evaluate_all("(all) => all.map((a) => a.href)"):
            assert not address.startswith(("javascript", "data"))
        page.locator(".text, .text *").evaluate_all("(all) => all.forEach((e) => e.click?.())")
        odd = ".text script, .text iframe, .text [onclick], .text [style], math [href]"
        assert page.locator(odd).count() == 0
        assert page.evaluate("window.pwned") is None
    expect(page.locator("math mi").first).to_have_text("x")


def test_a_picture_is_served_with_headers_that_make_it_harmless(visit: PageVisit) -> None:
    visit.go("/")
    section = next(s for s in list_sections(visit, "reef") if s["markup"])
    name = next(e["attributes"]["image"] for e in section["markup"] if "image" in e.get("attributes", {}))
    got = visit.page.request.get(f"{visit.base}/v1/books/reef/images/{name}")
    assert got.headers["content-type"] == "image/svg+xml"
    assert got.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in got.headers["content-security-policy"]
    assert visit.page.request.get(f"{visit.base}/v1/books/the-sea-chart/images/{name}").status == 404
