"""The reader: a citation lights up exactly its words, a selection is asked about, and every scope holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support import small_books
from tests.support.answerers import AllSentencesAnswerer, fill_library
from tests.support.browser import PageVisit, serve_page

CHAPTERS = {
    "Harbour 🚢": "🌊🌊 The harbour master counted the boats at dawn 🌅. He wrote each name down.\n\n"
    "The boats of the poor 🛶 had no names;\nthey were counted all the same.",
    "Ropes": "A rope for boats is made so:\n\n"
    "```\nfor strand in boats:\n    twist(strand)\n\n    tar(strand)\n```\n\n"
    "| knot | holds |\n|---|---|\n| bowline | boats at rest |\n| hitch | boats under way |\n\n"
    "Old boats are tied twice.",
    "Winter": "In winter the boats lay still. " + "Snow fell on the quay without an end. " * 30,
}
PAGES = [
    ["The pilot of the estuary kept seven lanterns.", "Two lanterns for the boats were green."],
    ["In winter the estuary froze.", "The boats were drawn over the ice by oxen."],
]
SELECT = """([id, first, last]) => {
  const root = document.querySelector(`[data-section="${id}"] .text`);
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node; (node = walk.nextNode());) {
    if (node.data.includes(first)) range.setStart(node, node.data.indexOf(first));
    if (node.data.includes(last)) range.setEnd(node, node.data.indexOf(last) + last.length);
  }
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}"""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("reader")
    books = (
        small_books.write_markdown(folder / "quay.md", CHAPTERS, title="The Quay"),
        small_books.write_pdf(folder / "estuary.pdf", PAGES),
    )
    with serve_page(
        fill_library(folder / "library", *books), answerer=AllSentencesAnswerer("boats")
    ) as address:
        yield address


def contents(visit: PageVisit, book: str) -> list[dict[str, Any]]:
    got = visit.page.request.get(f"{visit.base}/v1/books/{book}/contents")
    sections: list[dict[str, Any]] = got.json()["sections"]
    return sections


def final(visit: PageVisit) -> dict[str, Any]:
    """The last answer of the conversation, as the server has it."""
    session = visit.page.evaluate("localStorage.getItem('octavo.session')")
    turns: list[dict[str, Any]] = visit.page.request.get(f"{visit.base}/v1/sessions/{session}").json()[
        "turns"
    ]
    return turns[-1]


def test_every_citation_lights_up_exactly_its_words(visit: PageVisit) -> None:
    page = visit.go()
    page.evaluate("localStorage.setItem('octavo.view', 'text')")
    visit.ask("What is said of boats at dawn, of rope, of boats at rest and of boats in winter?")
    cited = final(visit)["citations"]
    assert len(cited) >= 5
    assert any(c["start"] > 0 for c in cited)
    for citation in cited:
        page.locator("button.cite", has_text=str(citation["number"])).first.click()
        visit.wait_for_cited(citation["content_snippet"])
        expect(page.locator(f"[data-section='{citation['section_id']}'] mark").first).to_be_in_viewport()


@pytest.mark.parametrize("spot", ["for strand", "bowline", "🛶"])
def test_any_stretch_can_be_linked_to_whatever_it_runs_over(visit: PageVisit, spot: str) -> None:
    """From inside one block into another: code, table, emoji, the gaps between paragraphs."""
    page = visit.go()
    for section in contents(visit, "the-quay"):
        got = page.request.get(f"{visit.base}/v1/books/the-quay/sections/{section['id']}").json()
        if spot not in got["text"]:
            continue
        start = got["text"].index(spot)
        end = min(len(got["text"]), start + 70)
        visit.go("/")
        visit.go(f"/#/books/the-quay/sections/{section['id']}?start={start}&end={end}")
        visit.wait_for_cited(got["text"][start:end])
        drawn = page.locator(f"[data-section='{section['id']}'] .text").evaluate("(n) => n.textContent")
        assert drawn == got["text"]
        return
    raise AssertionError(f"{spot!r} is in no section")


def test_code_and_tables_look_like_what_they_are(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-quay")
    page.locator("[role=treeitem]", has_text="Ropes").first.click()
    expect(page.locator("pre")).to_contain_text("    twist(strand)")
    expect(page.locator("th").first).to_contain_text("knot")
    expect(page.locator("td")).to_have_count(4)


def test_a_selection_is_asked_about_and_sent_to_the_letter(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-quay")
    section = next(s for s in contents(visit, "the-quay") if s["title"].startswith("Harbour"))
    page.locator(f"[data-section='{section['id']}'] .text p").first.wait_for()
    page.evaluate(SELECT, [section["id"], "The boats of the poor", "all the same."])
    page.get_by_role("button", name="Ask about this").click()
    expect(page.locator("#question")).to_be_focused()
    expect(page.locator("#scope")).to_have_value("selection")
    expect(page.locator(".scope-quote")).to_contain_text("The boats of the poor")
    visit.ask("Who were counted?")
    sent = "The boats of the poor 🛶 had no names; they were counted all the same."
    assert " ".join(visit.asked[-1]["selected_text"].split()) == sent
    told = final(visit)
    assert told["status"] == "completed"
    text = page.request.get(f"{visit.base}/v1/books/the-quay/sections/{section['id']}").json()["text"]
    assert all(c["start"] >= text.index("The boats of the poor") for c in told["citations"])
    page.get_by_role("button", name="Clear the selection").click()
    expect(page.locator("#scope")).to_have_value("book")


def test_a_long_selection_is_asked_about_by_its_place(visit: PageVisit) -> None:
    section = next(s for s in contents(visit, "the-quay") if s["title"] == "Winter")["id"]
    page = visit.go(f"/#/books/the-quay/sections/{section}")
    page.locator(f"[data-section='{section}'] .text p").first.wait_for()
    page.evaluate(
        "(id) => getSelection().selectAllChildren(document.querySelector(`[data-section='${id}'] .text`))",
        section,
    )
    page.get_by_role("button", name="Ask about this").click()
    visit.ask("tl;dr")
    sent = visit.asked[-1]
    text = page.request.get(f"{visit.base}/v1/books/the-quay/sections/{section}").json()["text"]
    assert len(sent["selected_text"]) <= 500 < len(text.strip())
    first = len(text) - len(text.lstrip())
    place = f"{section}#char={first},{len(text.rstrip())}"
    assert sent["scope"] == {"type": "selection", "identifier": place}
    assert final(visit)["status"] == "completed"


def test_each_scope_goes_out_as_it_is_shown(visit: PageVisit) -> None:
    page = visit.go()
    expect(page.locator("#scope option[value=section]")).to_be_disabled()
    visit.ask("What was drawn over the ice?")
    assert not {"book_id", "scope", "selected_text"} & set(visit.asked[-1])
    page.locator(".book-link", has_text="estuary").click()
    expect(page.locator("#scope")).to_have_value("book")
    section = contents(visit, "estuary")[0]["id"]
    wanted: dict[str, object] = {
        "book": None,
        "section": {"type": "section-specific", "identifier": section},
        "upTo": {"type": "up-to-position", "identifier": "page #1"},
        "page": {"type": "page-specific", "identifier": "#1"},
    }
    for kind, scope in wanted.items():
        page.select_option("#scope", kind)
        visit.ask("What is said of the boats and the lanterns?")
        assert visit.asked[-1]["book_id"] == "estuary"
        assert visit.asked[-1].get("scope") == scope
    told = final(visit)
    assert told["citations"]
    assert {c["page"] for c in told["citations"]} == {"1"}
    page.select_option("#scope", "upTo")
    expect(page.locator("#scope option:checked")).to_have_text("only up to here: p. 1")


def test_the_scope_follows_the_reader(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-quay")
    page.locator("[role=treeitem]", has_text="Ropes").first.click()
    page.select_option("#scope", "section")
    expect(page.locator("#scope option:checked")).to_have_text("this section: Ropes")
    page.locator("[role=treeitem]", has_text="Winter").first.click()
    expect(page.locator("#scope option:checked")).to_have_text("this section: Winter")
    page.select_option("#scope", "upTo")
    page.locator("[role=treeitem]", has_text="Harbour").first.click()
    expect(page.locator("#scope option:checked")).to_have_text("only up to here: Harbour 🚢")
    visit.ask("Which boats lay still in winter?")
    assert {c["section"] for c in final(visit)["citations"]} == {"Harbour 🚢"}


def test_pages_are_marked_where_they_begin(visit: PageVisit) -> None:
    page = visit.go("/#/books/estuary")
    page.get_by_role("button", name="Text", exact=True).click()
    marks = page.locator(".page-mark")
    expect(marks.first).to_have_attribute("aria-label", "Page 1")
    assert [m.get_attribute("data-page") for m in marks.all()] == ["1", "2"]


def test_a_link_to_a_book_that_is_gone_says_so(visit: PageVisit) -> None:
    page = visit.go("/#/books/nowhere")
    expect(page.locator(".reader .problem")).to_contain_text("There is no book “nowhere”")
    page.locator(".reader a", has_text="All books").click()
    expect(page.locator(".book").first).to_be_visible()


def test_a_page_of_the_reader_is_neither_a_line_nor_a_whole_book(visit: PageVisit) -> None:
    """Levels and lengths of sections, where one opens, and from which to which the page then goes."""
    visit.go()
    code = """async ([sections, at]) => {
      const { pageAround } = await import("/static/app/reader.js");
      return pageAround(sections.map(([level, characters]) => ({ level, characters })), at); }"""
    chapters = [[1, 9_000], [1, 9_000], [1, 9_000]]
    parts = [[1, 100], [2, 3_000], [3, 3_000], [2, 3_000], [1, 20_000], [2, 20_000]]
    crumbs = [[1, 40], [1, 60], [2, 500], [1, 9_000]]
    cases = [
        (chapters, 1, [1, 1]),
        (parts, 2, [0, 3]),
        (parts, 4, [4, 4]),
        (parts, 5, [5, 5]),
        (crumbs, 0, [0, 2]),
    ]
    for sections, at, wanted in cases:
        assert visit.page.evaluate(code, [sections, at]) == wanted
