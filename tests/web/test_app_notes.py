"""Where a reader stopped, and the notes they made, with what is taken elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Response, expect

from octavo.library import Library
from octavo.records.keys import Keyring
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.support import small_books
from tests.support.answerers import AllSentencesAnswerer, fill_library
from tests.support.browser import SELECT_WORDS, BrowserThread, PageVisit, open_page, serve_page

BOATS = "Seven boats were lost with all their nets."
# Line 5.30 begins further on than this, so a place beyond it is one that was scrolled to.
SCROLLED = 30 * len("Line 5.0 of the long book.")
LONG = {f"Part {n}": "\n\n".join(f"Line {n}.{m} of the long book." for m in range(60)) for n in range(1, 9)}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notes")
    long = small_books.write_markdown(folder / "long.md", LONG, title="The Long")
    return fill_library(folder / "library", small_books.write_markdown(folder / "tides.md"), long)


@pytest.fixture(scope="module")
def base(data: Path) -> Iterator[str]:
    with serve_page(data, answerer=AllSentencesAnswerer("boats")) as address:
        yield address


def test_a_passage_is_highlighted_noted_listed_exported_and_removed(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-tides")
    expect(page.locator(".leaf")).to_contain_text(BOATS)
    page.locator("details.notes summary").click()
    expect(page.locator(".notes-list")).to_contain_text("Select words")
    page.evaluate(SELECT_WORDS, BOATS)
    page.get_by_role("button", name="Highlight", exact=True).click()
    expect(page.locator(".note-words")).to_have_text(BOATS)
    assert page.evaluate("[...CSS.highlights.get('noted-highlight')][0].toString()") == BOATS
    page.evaluate(SELECT_WORDS, "eleven miles")
    page.get_by_role("button", name="Note", exact=True).click()
    page.get_by_role("textbox", name="Your note").fill("<b>far</b>")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".note-comment")).to_have_text("<b>far</b>")
    expect(page.locator(".note-words")).to_have_text(["eleven miles", BOATS])
    page.get_by_role("button", name="Bookmark", exact=True).click()
    expect(page.locator("details.notes summary")).to_have_text("Notes (3)")
    assert visit.axe() == []

    with page.expect_download() as download:
        page.get_by_role("button", name="Markdown", exact=True).click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    link = next(line for line in text.split("\n") if "Storm" in line).partition("<")[2].rstrip(">)")
    page.reload()
    page.locator("details.notes summary").click()
    expect(page.locator(".note")).to_have_count(3)
    page.goto(link)
    visit.wait_for_cited(BOATS)
    page.get_by_role("button", name=f"Remove the note on “{BOATS[:20]}").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".note")).to_have_count(3)


def test_a_new_edition_keeps_a_note_on_its_words_and_says_when_they_are_gone(
    stage: BrowserThread, tides: Path, tmp_path: Path
) -> None:
    book = tmp_path / "tides.md"
    with serve_page(tides) as base, open_page(stage, base) as visit:
        page = visit.go("/#/books/the-tides")
        expect(page.locator(".leaf")).to_contain_text(BOATS)
        page.evaluate(SELECT_WORDS, BOATS)
        page.get_by_role("button", name="Highlight", exact=True).click()
        expect(page.locator("details.notes summary")).to_have_text("Notes (1)")
        page.evaluate(SELECT_WORDS, "eleven miles")
        page.get_by_role("button", name="Note", exact=True).click()
        page.get_by_role("textbox", name="Your note").fill("as far as that")
        page.get_by_role("button", name="Save").click()
        expect(page.locator("details.notes summary")).to_have_text("Notes (2)")

        later = {
            "Preface": "This edition was corrected.",
            "The lamp": "Its beam reached twelve miles.",
            "The storm": f"It came from the north. {BOATS}",
        }
        small_books.write_markdown(book, later)
        page.goto(f"{base}/#/")
        page.set_input_files("#file", str(book))
        expect(page.locator("#toast")).to_contain_text("has taken the place of the old one")
        page.locator(".book-link").click()
        expect(page.locator(".leaf")).to_contain_text("corrected")
        page.locator("details.notes summary").click()
        expect(page.locator(".note")).to_have_count(2)
        gone = page.locator(".note", has=page.locator(".gone"))
        expect(gone).to_contain_text("eleven miles")
        expect(gone).to_contain_text("as far as that")
        expect(gone).to_contain_text("no longer in this edition")
        expect(gone.locator("a")).to_have_count(0)
        assert visit.axe() == []
        page.locator(".note a", has_text=BOATS).click()
        visit.wait_for_cited(BOATS)
        assert page.evaluate("[...CSS.highlights.get('noted-highlight')].map(String)") == [BOATS]
        assert page.evaluate("CSS.highlights.get('noted-note')?.size ?? 0") == 0
        visit.assert_clean()


def read_on(visit: PageVisit) -> str:
    """Open a part in the middle, scroll, and return the first line in sight once the place is kept."""
    page = visit.page
    page.locator("[role=treeitem]", has_text="Part 5").click()
    expect(page.locator(".leaf")).to_contain_text("Line 5.30")
    page.locator(".leaf p", has_text="Line 5.40").evaluate("(p) => p.scrollIntoView({ block: 'start' })")
    return "Line 5.40"


def test_reading_goes_on_where_it_stopped_and_a_citation_does_not_move_the_place(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-long")
    line = read_on(visit)
    visit.until(
        "() => JSON.parse(localStorage.getItem('octavo.places') || '[]')"
        f".some((p) => p.section_id.includes('part-5') && p.offset > {SCROLLED})"
    )
    page.goto(f"{visit.base}/#/books/the-long/sections/part-1?start=0&end=9")
    visit.cited()
    page.goto(f"{visit.base}/#/")
    expect(page.locator(".book", has_text="The Long")).to_contain_text("% read")
    assert visit.axe() == []
    page.locator(".book-link", has_text="The Long").click()
    expect(page.locator(".leaf p", has_text=line)).to_be_in_viewport()
    page.get_by_role("button", name="From the beginning").click()
    expect(page.locator(".leaf")).to_contain_text("Line 1.1")


@pytest.fixture
def keyed(tmp_path: Path) -> tuple[Path, str]:
    """A library with one long book, and a key to it."""
    book = small_books.write_markdown(tmp_path / "long.md", LONG, title="The Long")
    folder = fill_library(tmp_path / "library", book)

    async def make_key() -> str:
        async with Library.open(settings=Settings(data=folder), embedder=TinyEmbedder()) as library:
            return str((await Keyring(library.database).create("a reader", scopes=("ask",)))[1])

    return folder, asyncio.run(make_key())


def _keeps_scrolled_place(got: Response) -> bool:
    """Whether a place in Part 5 was kept that is not the first one there, which opening the part keeps."""
    kept: Any = got.request.post_data_json if got.url.endswith("/place") else None
    return bool(kept) and "part-5" in kept["section_id"] and kept["offset"] > SCROLLED


def test_with_a_key_the_place_is_the_readers_wherever_they_read(
    stage: BrowserThread, keyed: tuple[Path, str]
) -> None:
    folder, key = keyed

    def enter(visit: PageVisit) -> None:
        visit.go("/#/books/the-long")
        visit.page.get_by_label("Key").fill(key)
        visit.page.get_by_role("button", name="Open the library").click()
        expect(visit.page.locator(".leaf")).to_contain_text("Line")

    with serve_page(folder, keys_required=True) as base:
        with open_page(stage, base) as desk:
            enter(desk)
            with desk.page.expect_response(_keeps_scrolled_place):
                line = read_on(desk)
            assert desk.page.evaluate("localStorage.getItem('octavo.places')") is None
        with open_page(stage, base) as phone:
            enter(phone)
            expect(phone.page.locator(".leaf p", has_text=line)).to_be_in_viewport()
