"""The printed pages of a PDF: the page is seen, and the box stands over the cited words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Response, Route, expect

from tests.support import pdf_files
from tests.support.answerers import AllSentencesAnswerer, fill_library
from tests.support.browser import PageVisit, serve_page

FIRST = (
    "The pilot of the estuary kept seven lanterns in his house. Two of them were",
    "green, for the boats that came in at night.",
)
SECOND = (
    "In winter the estuary froze from shore to shore. The boats were drawn over the",
    "ice by oxen, and nobody paid the pilot for his lanterns until the spring.",
)
CITED = (
    "The boats were drawn over the ice by oxen, and nobody paid the pilot for his lanterns until the spring."
)
# The colours of a page around a point of it, in shares of its width and height.
COUNT_INK = """async ([number, left, top, right, bottom]) => {
  const image = document.querySelectorAll(".sheet-image")[number];
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const [x, y] = [left * canvas.width, top * canvas.height];
  const { data } = context.getImageData(x, y, (right - left) * canvas.width, (bottom - top) * canvas.height);
  let dark = 0;
  for (let at = 0; at < data.length; at += 4) dark += data[at] < 128;
  return dark;
}"""
BOXES = """() => [...document.querySelectorAll(".page-box")].map((box) => {
  const sheet = box.closest(".sheet");
  const [page, own] = [sheet.getBoundingClientRect(), box.getBoundingClientRect()];
  const number = [...document.querySelectorAll(".sheet")].indexOf(sheet);
  return [number, (own.left - page.left) / page.width, (own.top - page.top) / page.height,
    (own.right - page.left) / page.width, (own.bottom - page.top) / page.height];
})"""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("printed")
    pages = [pdf_files.column(FIRST), pdf_files.column(SECOND)]
    book = pdf_files.make_book(pages, labels=b"0 << /S /r /St 7 >>", title="The Estuary")
    (folder / "estuary.pdf").write_bytes(book)
    made = fill_library(folder / "library", folder / "estuary.pdf")
    with serve_page(made, answerer=AllSentencesAnswerer("boats")) as address:
        yield address


def wait_for_pages(visit: PageVisit) -> list[list[Any]]:
    """Wait until the pages are drawn; return the boxes, each with the number of its page."""
    expect(visit.page.locator(".sheet-image[src]")).to_have_count(2)
    boxes: list[list[Any]] = visit.page.evaluate(BOXES)
    return boxes


def test_a_citation_opens_its_page_with_the_words_boxed(visit: PageVisit) -> None:
    page = visit.go()
    visit.ask("What happened to the boats in winter?")
    citations = visit.page.request.get(
        f"{visit.base}/v1/sessions/{page.evaluate('localStorage.getItem(`octavo.session`)')}"
    ).json()["turns"][-1]["citations"]
    number = next(c["number"] for c in citations if c["content_snippet"] == CITED)
    page.locator("button.cite", has_text=str(number)).first.click()
    box = page.locator(".page-box").first
    expect(box).to_be_in_viewport()
    expect(box).to_be_focused()
    expect(box).to_contain_text(CITED)
    boxes = wait_for_pages(visit)
    assert [number for number, *_ in boxes] == [1, 1]
    ink = sum(page.evaluate(COUNT_INK, part) for part in boxes)
    (_, left, top, _, bottom), (_, _, _, right, end) = boxes
    before = page.evaluate(COUNT_INK, [1, 0, top, left, bottom])
    after = page.evaluate(COUNT_INK, [1, right, bottom, 1, end])
    whole = page.evaluate(COUNT_INK, [1, 0, 0, 1, 1])
    # The rest of the page is the sentence before it, which stands on the first line.
    assert min(ink, before) > 100
    assert after == 0
    assert abs(ink + before - whole) < 0.02 * whole


def test_a_pdf_is_shown_as_pages_or_as_text_and_stays_where_it_was(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-estuary")
    wait_for_pages(visit)
    expect(page.locator(".sheet-label").first).to_have_text("vii")
    assert visit.axe() == []
    expect(page.get_by_role("img", name="Page viii as it is printed")).to_be_attached()
    page.get_by_role("button", name="Text", exact=True).click()
    expect(page.locator(".leaf .text")).to_contain_text("In winter the estuary froze")
    expect(page.locator(".sheet")).to_have_count(0)
    page.reload()
    expect(page.locator(".leaf .text")).to_contain_text("In winter the estuary froze")
    page.get_by_role("button", name="Page", exact=True).click()
    wait_for_pages(visit)
    expect(page.locator(".leaf .text")).to_have_count(0)


def test_a_larger_page_is_drawn_with_more_pixels(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-estuary")
    wait_for_pages(visit)
    before = page.evaluate("document.querySelector('.sheet-image').naturalWidth")

    def is_larger(response: Response) -> bool:
        return "/pages/1?width=" in response.url and int(response.url.rpartition("=")[2]) > before

    with page.expect_response(is_larger):
        for _ in range(8):
            page.get_by_role("button", name="Larger text").click()


def test_pages_are_asked_for_again_when_the_server_was_busy(visit: PageVisit) -> None:
    refused: set[str] = set()

    def refuse_once(route: Route) -> None:
        if route.request.url in refused:
            route.continue_()
        else:
            refused.add(route.request.url)
            route.fulfill(status=503, headers={"Retry-After": "0.1"}, json={})

    visit.page.route("**/pages*", refuse_once)
    visit.page.route("**/pages/**", refuse_once)
    visit.go("/#/books/the-estuary")
    wait_for_pages(visit)
    assert len(refused) == 3


def test_pages_that_cannot_be_shown_are_read_as_text(visit: PageVisit) -> None:
    visit.page.route("**/v1/books/*/sections/*/pages*", lambda route: route.fulfill(status=422, json={}))
    page = visit.go("/#/books/the-estuary")
    expect(page.locator(".leaf .text")).to_contain_text("In winter the estuary froze")
