"""Hostile words in a book and in a model's answer stay words: nothing runs, nothing is fetched.

The payloads reach the page through every field that a book or a model fills: titles, headings, text, code,
authors, answers, sentences that were left out, steps, and the reader's own question.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from octavo.answers.replies import Reply
from octavo.verification.claims import Claim, Sentence
from tests.support.answerers import fill_library
from tests.support.browser import BrowserThread, PageVisit, open_page, serve_page, wait_until_true
from tests.support.payloads import FAR, PAYLOADS, PWNED

SENTENCE = "Seven boats were lost with all their nets."


class Hostile:
    """A model that answers with every payload: as claims that hold, and as claims that are left out."""

    name = PAYLOADS[2]

    async def reply(self, question: str, given: Sequence[Sentence]) -> Reply:
        whole = tuple(Claim(sentence.text, (sentence.id,)) for sentence in given)
        left_out = tuple(Claim(f"{payload} was said by goats.", ("s1",)) for payload in PAYLOADS)
        return Reply((*whole, *left_out), 1.0, 0.9)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A book in plain text (so that nothing is taken for markup on its way in) and one in Markdown."""
    folder = tmp_path_factory.mktemp("hostile")
    plain, marked = folder / "<img src=x onerror=window.pwned=1>.txt", folder / "boats.md"
    chapters = [f"CHAPTER {n}. {p.splitlines()[0]}\n\n{p}\n\n{SENTENCE}" for n, p in enumerate(PAYLOADS, 1)]
    plain.write_text("\n\n\n".join(chapters), encoding="utf-8")
    quoted = "\n\n".join(f"## `{p.splitlines()[0]}`\n\n```\n{p}\n```\n\n{SENTENCE}" for p in PAYLOADS)
    title = PAYLOADS[0].replace('"', "'")
    marked.write_text(f'---\ntitle: "{title}"\nauthor: "{title}"\n---\n\n{quoted}\n', encoding="utf-8")
    return fill_library(folder / "library", plain, marked)


@pytest.fixture(scope="module")
def base(library: Path) -> Iterator[str]:
    with serve_page(library, answerer=Hostile()) as address:
        yield address


@pytest.fixture
def visit(stage: BrowserThread, base: str) -> Iterator[PageVisit]:
    with open_page(stage, base) as opened:
        yield opened
        stage.call(lambda: assert_harmless(opened))


def assert_harmless(visit: PageVisit) -> None:
    visit.page.wait_for_timeout(100)
    assert visit.page.evaluate("window.pwned") is None
    odd = (
        "script:not([src^='static/']), iframe, object, embed, form[action], base, style, link[rel*=prefetch]"
    )
    assert visit.page.locator(odd).count() == 0
    assert visit.page.locator("main img, aside img, nav img").count() == 0
    assert visit.page.evaluate("document.documentElement.outerHTML.includes('<img src=x')") is False
    visit.assert_clean()


def test_every_payload_in_a_book_is_read_and_does_nothing(visit: PageVisit) -> None:
    page = visit.go()
    expect(page.locator(".book")).to_have_count(2)
    seen = ""
    for book in page.request.get(f"{visit.base}/v1/books").json()["books"]:
        sections = page.request.get(f"{visit.base}/v1/books/{book['id']}/contents").json()["sections"]
        for section in sections:
            if page.locator(f"[data-section='{section['id']}'] .text").count():
                continue  # on the page already, with the section before it
            go = "(hash) => { location.hash = hash; }"
            page.evaluate(go, f"#/books/{book['id']}/sections/{section['id']}")
            page.locator(f"[data-section='{section['id']}'] .text").wait_for(state="attached")
        seen += "".join(
            page.request.get(f"{visit.base}/v1/books/{book['id']}/sections/{s['id']}").json()["text"]
            for s in sections
        )
        if book["title"].strip():
            wait_until_true(
                page, "(title) => document.querySelector('#where').textContent.includes(title)", book["title"]
            )
    assert seen.count(PWNED) >= 25
    assert FAR in seen


def test_every_payload_in_an_answer_is_shown_and_does_nothing(visit: PageVisit) -> None:
    page = visit.go()
    visit.ask(f"How many boats were lost? {PAYLOADS[2]}")
    expect(page.locator(".question")).to_contain_text(PAYLOADS[2])
    page.locator("details.dropped summary").click()
    told = page.locator("details.dropped li, .claim", has_text="was said by goats")
    expect(told).to_have_count(25)
    for number in range(min(3, page.locator("button.cite").count())):
        page.locator("button.cite").nth(number).hover()
        expect(page.get_by_role("tooltip")).to_be_visible()
    page.locator("details.sources summary").click()
    page.locator("button.cite").first.click()
    page.wait_for_selector("mark.cited")
    page.reload()
    expect(page.locator(".turn")).to_have_count(1)


def test_every_payload_in_a_stream_is_shown_and_does_nothing(visit: PageVisit) -> None:
    """The events as a server gone mad would send them: steps, claims with links, an error."""
    for payload in PAYLOADS:
        events = [
            ("asked", {"question_id": "q", "interpreted": payload}),
            ("scoped", {"description": payload}),
            ("working", {"step": payload, "detail": payload}),
            ("claimed", {"text": payload, "citations": [1], "marks": [[0, len(payload)]]}),
            ("answered", mad(payload)),
        ]
        body = "".join(f"event: {kind}\ndata: {json.dumps(data)}\n\n" for kind, data in events)
        visit.page.unroute("**/v1/ask")
        visit.page.route("**/v1/ask", partial(send, body))
        if payload is PAYLOADS[0]:
            visit.go()
        visit.ask("boats")
        turn = visit.page.locator(".turn").last
        expect(turn.locator(".claim strong").first).to_be_attached()
        shown = turn.locator(".claim strong").evaluate_all("(all) => all.map((s) => s.textContent).join('')")
        assert shown == payload
        assert (turn.locator(".short").text_content() or "").startswith(payload)
        assert turn.locator("a").count() == 0
        visit.page.locator("button.cite").last.hover()


def test_every_payload_in_a_map_is_shown_and_does_nothing(visit: PageVisit) -> None:
    quote = dict.fromkeys(("text", "section", "section_id", "url", "sentence"), PAYLOADS[0])
    quote |= {"start": 0, "end": 3}  # type: ignore[dict-item]
    named = [{"name": text, "kind": "person", "aliases": PAYLOADS, "mention_count": 1} for text in PAYLOADS]
    found = {**named[0], "introduction": quote, "definition": None, "statements": [quote]}
    visit.page.route("**/map?*", lambda route: route.fulfill(json={"entities": named}))
    visit.page.route("**/map/*", lambda route: route.fulfill(json=found))
    page = visit.go("/")
    page.locator(".book-link").first.click()
    page.get_by_text("Who is this, so far?").click()
    expect(page.locator(".map-entity")).to_have_count(len(PAYLOADS))
    page.locator(".map-entity").first.click()
    expect(page.locator(".map-name")).to_have_text(PAYLOADS[0])
    assert page.locator(".map-quotes a").first.get_attribute("href", timeout=1000).startswith("#/books/")  # type: ignore[union-attr]


def send(body: str, route: Route) -> None:
    route.fulfill(body=body, content_type="text/event-stream")


def mad(payload: str) -> dict[str, object]:
    cited = dict.fromkeys(("content_snippet", "section", "title", "page", "source_file", "url"), payload)
    cited |= {"number": 1, "book_id": payload, "section_id": payload, "start": 0, "end": 3}  # type: ignore[dict-item]
    return {
        "question": payload,
        "answer_id": "a",
        "answer": f"{payload} [1]",
        "short": {"text": payload, "citation": 1, "start": 0, "end": 3},
        "confidence": 0.5,
        "citations": [cited | {"link": f"javascript:{PWNED}"}],
        "evidence": [],
        "refusal": None,
        "interpreted": payload,
        "dropped": [{"text": payload, "reason": payload}],
        "answerer": payload,
        "processing_time_ms": 3,
    }
