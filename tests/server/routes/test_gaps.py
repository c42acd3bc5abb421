"""The gap report over HTTP and on the page: whose keys may read it, and what it tells."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from tests.support.answerers import AllSentencesAnswerer
from tests.support.browser import BrowserThread, open_page, serve_page
from tests.support.serving import create_key, serve_library

HOSTILE = "Who painted <img src=x onerror=alert(1)> on the pier?"


def test_only_a_key_with_that_right_reads_it_and_it_names_nobody(tides: Path) -> None:
    asker, reader = create_key(tides, "reader")
    _, author = create_key(tides, "author", scopes=("gaps",), books=("the-tides",))
    _, other = create_key(tides, "another author", scopes=("gaps",), books=("no-such-book",))
    with serve_library(tides, answerer=AllSentencesAnswerer("unicorn"), host="0.0.0.0") as service:
        asked = {"question": "Who painted the pier?", "book_id": "the-tides"}
        assert service.post("/v1/ask", asked, key=reader).status == 200
        place = "/v1/books/the-tides/gaps"
        assert service.get(place, key=reader).status == 403
        assert service.get(place, key=other).status == 404
        found = service.get(place, key=author)
        assert (found.status, found.json["open_count"]) == (200, 1)
        assert found.json["gaps"][0]["question"] == "Who painted the pier?"
        assert asker.id not in found.text
        assert service.get(f"{place}?weeks=0", key=author).status == 422
        assert service.post("/v1/ask", asked, key=author).status == 403


def test_the_page_shows_it_to_the_author_as_text(stage: BrowserThread, tides: Path) -> None:
    with (
        serve_page(tides, answerer=AllSentencesAnswerer("unicorn")) as base,
        open_page(stage, base) as visit,
    ):
        page = visit.go("/#/books/the-tides")
        visit.ask(HOSTILE)
        expect(page.locator(".refusal, .turn").last).to_be_visible()
        page.get_by_role("link", name="What readers missed").click()
        expect(page.locator(".gap-question")).to_have_text(HOSTILE)
        expect(page.locator(".gap-near a").first).to_be_visible()
        page.get_by_label("Look back").select_option("1")
        expect(page.locator(".gap-question")).to_have_text(HOSTILE)
        page.locator(".gap-near a").first.click()
        expect(page.locator(".reader")).to_be_visible()
        visit.assert_clean()
