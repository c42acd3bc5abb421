"""The app in a real browser against a real server: asking, streaming, stopping, and what a reload keeps."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import expect

from octavo.answers.replies import Reply
from octavo.errors import ModelError
from octavo.verification.claims import Sentence
from tests.support import small_books
from tests.support.answerers import AllSentencesAnswerer, FailingAnswerer, ScriptedAnswerer, fill_library
from tests.support.browser import BrowserThread, PageVisit, open_page, serve_page
from tests.support.patience import PATIENCE

LOST = "How many boats were lost?"
PAGES = [
    ["The pilot of the estuary kept seven lanterns.", "Two of them were green."],
    ["In winter the estuary froze.", "The boats were drawn over the ice by oxen."],
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shelf")
    pdf = small_books.write_pdf(folder / "estuary.pdf", PAGES)
    return fill_library(folder / "library", small_books.write_markdown(folder / "tides.md"), pdf)


@pytest.fixture(scope="module")
def base(data: Path) -> Iterator[str]:
    with serve_page(data, answerer=AllSentencesAnswerer("boats")) as address:
        yield address


@pytest.fixture
def visit(stage: BrowserThread, base: str) -> Iterator[PageVisit]:
    with open_page(stage, base, permissions=("clipboard-read", "clipboard-write")) as opened:
        yield opened
        stage.call(opened.assert_clean)


def test_an_answer_streams_in_with_its_sources_and_its_confidence_in_words(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-tides")
    visit.ask(LOST)
    turn = page.locator(".turn")
    expect(turn.locator(".claim").first).to_contain_text("Seven boats were lost with all their nets.")
    expect(turn.locator(".sure")).to_contain_text("Very confident")
    expect(turn.locator(".hint")).to_be_hidden()
    turn.locator(".sure").click()
    expect(turn.locator(".hint")).to_contain_text("90% confident")
    expect(turn.locator(".who")).to_contain_text("greedy")
    assert visit.asked[0]["book_id"] == "the-tides"
    expect(page.locator("#live")).to_contain_text("Seven boats were lost with all their nets.")


def test_hovering_over_a_citation_shows_the_quotation_and_its_place(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-tides")
    visit.ask(LOST)
    page.locator("button.cite").first.hover()
    expect(page.get_by_role("tooltip")).to_contain_text("Seven boats were lost")
    expect(page.get_by_role("tooltip")).to_contain_text("Storm")
    page.keyboard.press("Escape")
    expect(page.locator("#preview")).to_be_hidden()


class Gated:
    """Answers once it is let."""

    name = "gated"

    def __init__(self) -> None:
        self.gate = threading.Event()

    async def reply(self, question: str, given: Sequence[Sentence]) -> Reply:
        await asyncio.to_thread(self.gate.wait, PATIENCE)
        return await AllSentencesAnswerer("boats").reply(question, given)


def test_while_it_works_the_steps_are_named_and_then_make_room(stage: BrowserThread, tides: Path) -> None:
    answerer = Gated()
    with serve_page(tides, answerer=answerer) as base, open_page(stage, base) as visit:
        page = visit.go("/#/books/the-tides")
        page.fill("#question", LOST)
        page.press("#question", "Enter")
        expect(page.locator(".steps")).to_contain_text("Looking in The Tides")
        expect(page.locator(".ask")).to_have_text("Stop")
        page.locator(".steps li").nth(1).wait_for()
        answerer.gate.set()
        expect(page.locator(".claim").first).to_contain_text("Seven boats")
        expect(page.locator(".steps")).to_have_count(0)
        expect(page.locator(".ask")).to_have_text("Ask")
        visit.assert_clean()


def test_stop_stops_and_the_question_can_be_asked_again(stage: BrowserThread, tides: Path) -> None:
    with serve_page(tides, answerer=FailingAnswerer(waits=True)) as base, open_page(stage, base) as visit:
        page = visit.go()
        page.fill("#question", LOST)
        with page.expect_request("**/v1/ask"):
            page.press("#question", "Enter")
        page.locator(".steps li").first.wait_for()
        page.click(".ask.stop")
        expect(page.locator(".stopped")).to_contain_text("Stopped.")
        with page.expect_request("**/v1/ask"):
            page.click("text=Ask again")
        page.locator(".steps li").first.wait_for()
        expect(page.locator(".turn")).to_have_count(1)
        assert [asked["question"] for asked in visit.asked] == [LOST, LOST]
        page.click(".ask.stop")
        visit.assert_clean()


class Recovering(FailingAnswerer):
    """Fails once."""

    name = "recovering"

    async def reply(self, question: str, given: Sequence[Sentence]) -> Reply:
        if not self.reached.is_set():
            self.reached.set()
            raise ModelError("the model does not answer")
        return await AllSentencesAnswerer("boats").reply(question, given)


def test_an_outage_is_told_in_words_and_can_be_tried_again(stage: BrowserThread, tides: Path) -> None:
    with serve_page(tides, answerer=Recovering()) as base, open_page(stage, base) as visit:
        page = visit.go()
        visit.ask(LOST)
        expect(page.locator(".turn .problem")).to_contain_text("the model does not answer")
        page.click("text=Try again")
        expect(page.locator(".claim").first).to_contain_text("Seven boats")
        expect(page.locator(".turn")).to_have_count(1)


def test_a_reload_keeps_the_conversation_and_a_new_one_starts_empty(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-tides")
    visit.ask(LOST)
    visit.ask("Who spoke of the boats?")
    told = page.locator(".said").all_inner_texts()
    page.reload()
    expect(page.locator(".turn")).to_have_count(2)
    assert page.locator(".said").all_inner_texts() == told
    assert page.locator(".question").all_inner_texts() == [LOST, "Who spoke of the boats?"]
    page.locator("button.cite").first.click()
    assert visit.cited() == "Seven boats were lost with all their nets."
    page.click("text=New conversation")
    page.reload()
    expect(page.locator(".welcome")).to_be_visible()
    expect(page.locator(".turn")).to_have_count(0)


def test_a_refusal_is_a_card_with_the_nearest_sections_and_a_way_to_the_whole_book(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-tides")
    page.locator("[role=treeitem]", has_text="Harbour").click()
    page.select_option("#scope", "section")
    visit.ask(LOST)
    card = page.locator(".refusal")
    expect(card.locator(".refusal-title")).to_have_text("Not here, but elsewhere")
    expect(card.get_by_role("button", name="Storm")).to_be_visible()
    card.get_by_role("button", name="Search the whole book").click()
    expect(page.locator(".claim").first).to_contain_text("Seven boats")
    assert "scope" in visit.asked[0]
    assert "scope" not in visit.asked[1]
    card.get_by_role("button", name="Storm").click()
    expect(page.locator("[aria-current]")).to_contain_text("Storm")


def test_the_map_tells_who_is_named_and_nothing_from_further_on_than_the_reader_is(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-tides")
    page.locator("[role=treeitem]", has_text="Harbour").click()
    page.get_by_text("Who is this, so far?").click()
    page.fill("#map-name", "boats")
    page.press("#map-name", "Enter")
    found = page.locator(".map-found")
    expect(found).to_have_text("The book has not named this up to here.")
    page.get_by_label("only up to here").uncheck()
    expect(found.locator(".working")).to_have_count(0)
    page.press("#map-name", "Enter")
    expect(found).to_contain_text("Seven boats were lost")
    found.get_by_role("link", name="Seven boats").click()
    expect(page.locator("mark.cited").first).to_contain_text("Seven boats")


def test_what_was_left_out_is_told_on_request(stage: BrowserThread, tides: Path) -> None:
    said = ScriptedAnswerer(
        ("Seven boats were lost with all their nets.", ["s1"]), ("Goats can fly.", ["s1"]), ("Ha.", ["s99"])
    )
    with serve_page(tides, answerer=FromStorm(said)) as base, open_page(stage, base) as visit:
        page = visit.go()
        visit.ask(LOST)
        left = page.locator("details.dropped")
        expect(left.locator("summary")).to_contain_text("2 sentences were left out because the book does not")
        expect(left.locator("li").first).to_be_hidden()
        left.locator("summary").click()
        expect(left.locator("li").first).to_contain_text("Goats can fly.")
        page.reload()
        left.locator("summary").click()
        expect(left.locator("li").first).to_contain_text("Goats can fly.")
        visit.assert_clean()


class FromStorm:
    """A scripted answerer whose "s1" is the sentence about the boats, wherever it was found."""

    name = "scripted"

    def __init__(self, script: ScriptedAnswerer) -> None:
        self.script = script

    async def reply(self, question: str, given: Sequence[Sentence]) -> Reply:
        reply = await self.script.reply(question, given)
        here = next(s.id for s in given if s.text.startswith("Seven boats"))
        claims = tuple(
            type(c)(c.text, tuple(here if i == "s1" else i for i in c.sentences)) for c in reply.claims
        )
        return Reply(claims, reply.answerable, reply.confidence)


def test_feedback_goes_out_with_its_reasons(visit: PageVisit) -> None:
    page = visit.go()
    visit.ask(LOST)
    page.get_by_role("button", name="This did not help").click()
    page.get_by_label("It is wrong").check()
    page.get_by_label("Anything else?").fill("There were eight.")
    with page.expect_response("**/feedback") as heard:
        page.get_by_role("button", name="Send").click()
    assert heard.value.status == 204
    sent = heard.value.request.post_data_json
    assert sent == {"vote": "down", "reasons": ["It is wrong"], "comment": "There were eight."}
    expect(page.locator("#toast")).to_contain_text("Thank you")
    expect(page.locator(".feedback")).to_be_hidden()


def test_copy_and_export_carry_the_sources(visit: PageVisit) -> None:
    page = visit.go()
    visit.ask(LOST)
    page.get_by_role("button", name="Copy").click()
    expect(page.locator("#toast")).to_contain_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(LOST)
    assert "[1] “Seven boats were lost with all their nets.” The Tides, Storm." in copied
    page.get_by_role("button", name="Export").click()
    for name, suffix in (("Markdown", "md"), ("JSON", "json")):
        with page.expect_download() as download:
            page.get_by_role("button", name=name, exact=True).click()
        assert download.value.suggested_filename == f"octavo-conversation.{suffix}"
        text = Path(download.value.path()).read_text(encoding="utf-8")
        assert LOST in text
        assert "Seven boats were lost with all their nets." in text


def test_a_shared_link_opens_the_answer_and_its_passage(stage: BrowserThread, visit: PageVisit) -> None:
    page = visit.go()
    visit.ask(LOST)
    page.get_by_role("button", name="Share").click()
    expect(page.locator("#toast")).to_contain_text("copied")
    link = page.evaluate("navigator.clipboard.readText()")
    with open_page(stage, visit.base) as other:
        there = other.go(link.removeprefix(visit.base))
        expect(there.locator(".shared")).to_be_visible()
        expect(there.locator(".claim").first).to_contain_text("Seven boats")
        assert other.cited() == "Seven boats were lost with all their nets."
        there.click("text=Back to your conversation")
        expect(there.locator(".welcome")).to_be_visible()
        other.assert_clean()


def test_a_shared_answer_is_continued_and_exported_in_a_conversation_of_ones_own(
    stage: BrowserThread, visit: PageVisit
) -> None:
    page = visit.go()
    visit.ask(LOST)
    page.get_by_role("button", name="Share").click()
    link = page.evaluate("navigator.clipboard.readText()")
    with open_page(stage, visit.base) as other:
        there = other.go(link.removeprefix(visit.base))
        expect(there.locator(".shared")).to_be_visible()
        other.ask("Why?")
        expect(there.locator(".turn")).to_have_count(2)
        expect(there.locator(".turn").last.locator(".interpreted")).to_contain_text("boats")
        expect(there.locator(".shared")).to_have_count(0)
        there.reload()
        expect(there.locator(".turn .question")).to_have_text([LOST, "Why?"])
        other.assert_clean()
    # The conversation that it was shared from does not go on.
    page.reload()
    expect(page.locator(".turn .question")).to_have_text([LOST])
    with open_page(stage, visit.base) as third:
        there = third.go(link.removeprefix(visit.base))
        expect(there.locator(".shared")).to_be_visible()
        there.get_by_role("button", name="Export").click()
        with there.expect_download() as download:
            there.get_by_role("button", name="Markdown").click()
        assert "Seven boats were lost" in Path(download.value.path()).read_text()
        third.assert_clean()


def test_a_follow_up_says_how_it_was_understood(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-tides")
    visit.ask("What happened to the boats of the northern pier?")
    visit.ask("Why?")
    expect(page.locator(".turn").last.locator(".interpreted")).to_contain_text("boats")
