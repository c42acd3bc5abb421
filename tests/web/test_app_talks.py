"""Conversations that can be found again, words that can be found, and questions that are suggested."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support import small_books
from tests.support.answerers import AllSentencesAnswerer, fill_library
from tests.support.browser import SELECT_WORDS, BrowserThread, PageVisit, open_page, serve_page

LOST = "How many boats were lost?"
BOATS = "Seven boats were lost with all their nets."


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("talks")
    marsh = small_books.write_markdown(
        folder / "marsh.md", {"Reeds": "The reeds of the marsh are cut in March."}, title="The Marsh"
    )
    tides = small_books.write_markdown(folder / "tides.md")
    with serve_page(
        fill_library(folder / "library", tides, marsh), answerer=AllSentencesAnswerer("boats")
    ) as address:
        yield address


def test_an_exported_citation_opens_its_exact_words_again(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-tides")
    visit.ask(LOST)
    session = page.request.get(f"{visit.base}/v1/sessions").json()["sessions"][0]["session_id"]
    text = page.request.get(f"{visit.base}/v1/sessions/{session}/export?format=md").text()
    link = text.partition("[open these words](<")[2].partition(">)")[0]
    page.goto("about:blank")
    page.goto(link)
    visit.wait_for_cited(BOATS)


def test_a_translated_sentence_says_so_and_shows_the_words_of_the_book(visit: PageVisit) -> None:
    said = {"text": "Sieben Boote gingen verloren.", "citations": [1], "marks": [], "translated": True}
    cited = {"number": 1, "content_snippet": BOATS, "section": "Storm", "title": "The Tides"}
    cited |= {"book_id": "the-tides", "section_id": "storm", "start": 0, "end": len(BOATS), "link": ""}
    final = {"answer_id": "a", "answer": f"{said['text']} [1]", "confidence": 0.9, "claims": [said]}
    final |= {"citations": [cited], "evidence": [], "refusal": None, "processing_time_ms": 3}
    events = [("claimed", said), ("answered", final)]
    body = "".join(f"event: {kind}\ndata: {json.dumps(data)}\n\n" for kind, data in events)
    visit.page.route("**/v1/ask", lambda r: r.fulfill(body=body, content_type="text/event-stream"))
    page = visit.go("/#/books/the-tides")
    visit.ask("Wie viele Boote gingen verloren?")
    expect(page.locator(".claim .translated")).to_have_text("translated")
    expect(page.locator(".claim .original q")).to_have_text(BOATS)
    assert visit.axe() == []


def test_questions_about_a_book_go_with_it(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-tides")
    expect(page.locator(".suggestion").first).to_be_visible()
    old = page.locator(".suggestion").all_inner_texts()
    with page.expect_response(lambda got: "/v1/books/the-marsh/contents" in got.url):
        page.evaluate("location.hash = '#/books/the-marsh'")
    expect(page.locator(".leaf")).to_contain_text("The reeds")
    assert not set(page.locator(".suggestion").all_inner_texts()) & set(old)
    expect(page.locator(".suggestion").first).to_contain_text("Reeds")


def test_a_new_conversation_can_be_undone_and_old_ones_are_listed_renamed_and_deleted(
    visit: PageVisit,
) -> None:
    page = visit.go("/#/books/the-tides")
    visit.ask(LOST)
    page.click("text=New conversation")
    expect(page.locator(".turn")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".question")).to_have_text(LOST)
    page.click("text=New conversation")
    visit.ask("Who spoke of the boats?")

    page.get_by_role("button", name="Conversations", exact=True).click()
    titles = page.locator(".talk-title")
    expect(titles.first).to_have_text("Who spoke of the boats?")
    expect(titles.nth(1)).to_have_text(LOST)
    assert visit.axe() == []
    page.get_by_role("button", name=f"Rename “{LOST}”").first.click()
    page.get_by_label("New title").fill("The storm")
    page.keyboard.press("Enter")
    expect(titles.nth(1)).to_have_text("The storm")
    titles.nth(1).click()
    expect(page.locator(".question")).to_have_text(LOST)
    visit.ask("When?")
    page.reload()
    expect(page.locator(".question")).to_have_text([LOST, "When?"])

    page.get_by_role("button", name="Conversations", exact=True).click()
    page.get_by_role("button", name="Delete “The storm”").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator(".talk-title", has_text="The storm")).to_have_count(0)
    page.locator(".talk-head").get_by_role("button", name="Back").click()
    expect(page.locator(".welcome")).to_be_visible()


def test_the_list_is_of_the_open_book_until_all_are_wanted(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-marsh")
    page.get_by_role("button", name="Conversations", exact=True).click()
    expect(page.locator(".talks")).to_contain_text("Nobody has asked this book yet.")
    page.keyboard.press("Escape")
    visit.ask("When are the reeds cut?")
    page.get_by_role("button", name="Conversations", exact=True).click()
    expect(page.locator(".talk-title")).to_have_text("When are the reeds cut?")
    page.get_by_role("button", name="All", exact=True).click()
    expect(page.locator(".talk-title").first).to_have_text("When are the reeds cut?")


def test_a_reload_restores_the_selection_the_scope_and_the_vote(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-tides")
    expect(page.locator(".leaf")).to_contain_text(BOATS)
    page.evaluate(SELECT_WORDS, BOATS)
    page.get_by_role("button", name="Ask about this").click()
    visit.ask("How many boats?")
    page.get_by_role("button", name="This helped").click()
    with page.expect_response("**/feedback"):
        page.get_by_role("button", name="Send").click()
    page.reload()
    expect(page.locator(".turn .about")).to_have_text(BOATS)
    expect(page.get_by_role("button", name="This helped")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#scope")).to_have_value("selection")
    expect(page.locator(".scope-quote q")).to_have_text(BOATS)
    assert page.evaluate("[...[...CSS.highlights.get('asked')][0].toString()].join('')") == BOATS
    page.select_option("#scope", "upTo")
    page.reload()
    expect(page.locator("#scope")).to_have_value("upTo")


@pytest.mark.parametrize("width", [1280, 390])
def test_a_long_conversation_is_restored_at_its_newest_answer(
    stage: BrowserThread, base: str, width: int
) -> None:
    with open_page(stage, base, width=width, height=600) as visit:
        page = visit.go("/#/books/the-tides")
        expect(page.locator(".leaf")).to_contain_text(BOATS)
        if width < 600:
            page.locator(".tabs button", has_text="Ask").click()
        for number in range(4):
            visit.ask(f"How many boats were lost, for the {number}th time?")
        page.reload()
        expect(page.locator(".leaf")).to_contain_text(BOATS)
        expect(page.locator(".turn")).to_have_count(4)
        if width < 600:
            page.locator(".tabs button", has_text="Ask").click()
        expect(page.locator(".turn .question").last).to_be_in_viewport()
        visit.assert_clean()


def test_find_searches_the_book_or_all_and_marks_what_is_chosen(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-tides")
    expect(page.locator(".leaf")).to_contain_text("harbour master")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Find").fill("boats were lost")
    first = page.locator(".find-result").first
    expect(first).to_contain_text(BOATS)
    expect(first.locator("mark").first).to_be_visible()
    assert visit.axe() == []
    page.keyboard.press("Enter")
    visit.wait_for_cited(BOATS)
    page.locator(".reader").focus()
    page.keyboard.press("/")
    page.get_by_role("button", name="In all books").click()
    page.get_by_role("combobox", name="Find").fill("reeds in March")
    expect(first).to_contain_text("The Marsh")
    first.click()
    visit.wait_for_cited("The reeds of the marsh are cut in March.")


def test_the_page_speaks_german_and_urdu_from_right_to_left(visit: PageVisit) -> None:
    page = visit.go()
    page.get_by_label("Language").select_option("de")
    expect(page.get_by_role("heading", name="Bibliothek")).to_be_visible()
    page.get_by_label("Sprache").select_option("ur")
    expect(page.get_by_role("heading", name="کتب خانہ")).to_be_visible()
    assert page.evaluate("[document.documentElement.dir, document.documentElement.lang]") == ["rtl", "ur"]
    page.locator(".book-link", has_text="The Tides").click()
    expect(page.locator(".leaf")).to_contain_text(BOATS)
    visit.ask(LOST)
    expect(page.locator(".sure")).to_have_text("بہت یقینی")
    side, talk = (page.locator(name).bounding_box() for name in (".side", ".talk"))
    assert side is not None
    assert talk is not None
    assert side["x"] > talk["x"]
    assert page.locator(".leaf .section").first.evaluate("(n) => getComputedStyle(n).direction") == "ltr"
    page.locator("[role=treeitem]", has_text="Harbour").click()
    page.select_option("#scope", "section")
    visit.ask(LOST)
    expect(page.locator(".refusal p").nth(1)).to_contain_text("سوال")
    assert visit.axe() == []
    visit.shot("app-urdu")


@pytest.mark.parametrize(
    ("language", "direction", "heading", "sure"),
    [
        ("ar", "rtl", "المكتبة", "مؤكد جدًا"),
        ("es", "ltr", "Biblioteca", "Muy seguro"),
        ("fr", "ltr", "Bibliothèque", "Très sûr"),
        ("zh", "ltr", "书库", "非常有把握"),
    ],
)
def test_the_page_speaks_other_languages_in_their_direction(
    visit: PageVisit, language: str, direction: str, heading: str, sure: str
) -> None:
    page = visit.go()
    page.get_by_label("Language").select_option(language)
    expect(page.get_by_role("heading", name=heading)).to_be_visible()
    found = page.evaluate("[document.documentElement.dir, document.documentElement.lang]")
    assert found == [direction, language]
    page.locator(".book-link", has_text="The Tides").click()
    visit.ask(LOST)
    expect(page.locator(".sure")).to_have_text(sure)
    assert visit.axe() == []
    visit.shot(f"app-{language}")


MISSING = """async ([language, words]) => {
  const isGroup = (value) => typeof value === "object" && !Array.isArray(value);
  const list = (words, at = "") => Object.entries(words).flatMap(([key, value]) =>
    isGroup(value) ? list(value, `${at}${key}.`) : [`${at}${key} ${typeof value}`]);
  const read = async (name) =>
    list(Object.values(await import(`/static/strings/${words}.${name}.js`)).at(-1));
  const own = new Set(await read(language));
  return (await read("en")).filter((key) => !own.has(key));
}"""


@pytest.mark.parametrize("language", ["ar", "de", "es", "fr", "ur", "zh"])
def test_every_language_has_every_word(visit: PageVisit, language: str) -> None:
    page = visit.go()
    assert page.evaluate(MISSING, [language, "widget"]) == []
    # A name is the same in all languages.
    assert set(page.evaluate(MISSING, [language, "app"])) <= {"name string"}


def test_questions_are_suggested_before_and_after_and_one_press_asks_them(visit: PageVisit) -> None:
    page = visit.go("/#/books/the-tides")
    first = page.locator(".starters .suggestion")
    expect(first.first).to_be_visible()
    question = first.first.inner_text()
    first.first.click()
    expect(page.locator(".question")).to_have_text(question)
    expect(page.locator(".starters")).to_have_count(0)
    expect(page.locator(".tools-row")).to_be_visible()
    visit.ask(LOST)
    expect(page.locator(".turns-list > .suggestions .suggestion").last).to_have_text("What is “Storm” about?")


WEATHER = """# Weather

## Clouds

A cloud seed is a grain of dust in the air. Rain is a kind of water that falls from a cloud seed. The rain of
May is warm, and rain fills the wells. Every cloud seed makes rain.

## III.

The end of it.
"""


@pytest.fixture
def weather(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "weather.md").write_text(WEATHER)
    data = fill_library(tmp_path / "library", tmp_path / "weather.md")
    with serve_page(data, answerer=AllSentencesAnswerer()) as address:
        yield address


def test_everyday_words_and_numerals_are_not_asked_about(weather: str, stage: BrowserThread) -> None:
    with open_page(stage, weather) as visit:
        page = visit.go("/#/books/weather")
        expect(page.locator(".starters .suggestion").first).to_be_visible()
        assert "What is “III.” about?" not in page.locator(".starters .suggestion").all_inner_texts()
        visit.ask("What falls?")
        offered = page.locator(".turns-list > .suggestions .suggestion")
        expect(offered.first).to_have_text("What is cloud seed?")
        assert "What is rain?" not in offered.all_inner_texts()


@pytest.fixture
def asked_in_heading(tmp_path: Path) -> Iterator[str]:
    text = (
        "A dust grain is a small stone in the air. Every dust grain makes rain. The wind lifts a dust grain."
    )
    (tmp_path / "faq.md").write_text(f"# Weather\n\n## 8.8. What is a cloud seed?\n\n{text}\n")
    data = fill_library(tmp_path / "library", tmp_path / "faq.md")
    with serve_page(data, answerer=AllSentencesAnswerer()) as address:
        yield address


def test_a_heading_that_was_just_asked_is_not_asked_next(asked_in_heading: str, stage: BrowserThread) -> None:
    with open_page(stage, asked_in_heading) as visit:
        page = visit.go("/#/books/weather")
        offered = page.locator(".turns-list > .suggestions .suggestion")
        visit.ask("Tell me of the wind")
        expect(offered).to_have_text(["What is dust grain?", "What is a cloud seed?"])
        visit.ask("what is a cloud seed")
        expect(offered).to_have_text(["What is dust grain?"])
