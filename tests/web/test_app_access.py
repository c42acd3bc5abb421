"""Who can use the app: with the keyboard alone, at 320 pixels, at 200 %, in the dark, without motion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.support import pdf_files, small_books
from tests.support.answerers import AllSentencesAnswerer, fill_library
from tests.support.browser import BrowserThread, PageVisit, open_page, serve_page, wait_until_true

LOST = "How many boats were lost?"
FOCUS = """() => {
  const here = document.activeElement;
  const line = here.querySelector(":scope > .line");
  const style = (node) => getComputedStyle(node);
  const ring = (node) => style(node).outlineStyle !== "none" && style(node).outlineWidth !== "0px";
  const pane = here.closest("header, .side, .main, .talk");
  const seen = here === document.body || ring(here) || Boolean(line && ring(line));
  return [pane ? pane.classList[0] : "page", seen];
}"""
CONTRAST = ("color-contrast",)
GAPS = {
    "book_id": "the-tides",
    "question_count": 12,
    "open_count": 4,
    "gap_count": 2,
    "gaps": [
        {
            "question": "Who paid for the pier?",
            "questions": ["Who paid for the pier?", "Who paid for the new pier?"],
            "refused": 2,
            "unsure": 1,
            "disliked": 1,
            "last_asked": "2026-01-12T10:00:00Z",
            "weeks": [{"week": "2026-W01", "count": 1}, {"week": "2026-W02", "count": 3}],
            "sections": [{"section_id": "storm", "heading_path": ["The Tides", "Storm"]}],
        }
    ],
}
WIDE = "document.scrollingElement.scrollWidth > innerWidth"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("access")
    code = (
        "A long line of code:\n\n```\n"
        + "boats = "
        + "x" * 300
        + "\n```\n\n| a | b |\n|---|---|\n| c | d |\n\n"
        + "```python\ndef sail(boats):\n    return len(boats)\n```\n"
    )
    sums = (
        "It holds where $a \\neq 0$, and $b \\unknown c$ is not known.\n\n"
        "$$x = \\frac{-b \\pm \\sqrt{b^2 - 4ac}}{2a}$$\n\n"
        f"$$\\begin{{matrix}} {' & '.join('abcdefghijklmnopqrstuvwxyz')} \\end{{matrix}}$$\n"
    )
    tides = small_books.write_markdown(folder / "tides.md", {**small_books.TIDES, "Code": code, "Sums": sums})
    lines = ("The estuary has two banks and one channel.", "Boats wait here for the flood.")
    (folder / "upriver.pdf").write_bytes(pdf_files.make_book([pdf_files.column(lines)], title="Upriver"))
    library = fill_library(folder / "library", tides, folder / "upriver.pdf")
    with serve_page(library, answerer=AllSentencesAnswerer("boats")) as address:
        yield address


def places(visit: PageVisit) -> Iterator[str]:
    """Leads through everything there is to see, and names it."""
    page = visit.go()
    page.locator(".book").first.wait_for()
    yield "books"
    page.locator(".book-link", has_text="Tides").click()
    page.locator(".text p").first.wait_for()
    yield "reader"
    tab(page, "Contents")
    page.get_by_text("Who is this, so far?").click()
    page.fill("#map-name", "harbour")
    page.press("#map-name", "Enter")
    page.locator(".map:not(.notes) .map-quotes").wait_for()
    yield "map"
    tab(page, "Ask")
    visit.ask(LOST)
    page.locator(".sure").click()
    page.locator("details.sources summary").click()
    page.get_by_role("button", name="This did not help").click()
    yield "answer"
    page.select_option("#scope", "section")
    visit.ask(LOST)
    page.locator(".refusal").wait_for()
    yield "refusal"
    page.locator("button.cite").first.click()
    visit.cited()
    yield "cited"
    if page.locator(".tabs").is_visible():
        tab(page, "Contents")
        yield "contents"
        tab(page, "Ask")
    page.get_by_role("button", name="Export").click()
    yield "dialog"
    page.keyboard.press("Escape")
    yield from other_places(visit)


def other_places(visit: PageVisit) -> Iterator[str]:
    """Lead from the conversation of `places` through what is beside it."""
    page = visit.page
    page.get_by_role("button", name="Conversations").click()
    page.locator(".talks-list li").first.wait_for()
    yield "conversations"
    page.get_by_role("button", name="Back", exact=True).click()
    page.keyboard.press("Control+k")
    page.locator(".finder input").fill("boats")
    page.locator(".find-result").first.wait_for()
    yield "find"
    page.locator(".finder").get_by_role("button", name="Close").click()
    tab(page, "Read")
    page.get_by_role("button", name="Bookmark", exact=True).click()
    tab(page, "Contents")
    page.locator("details.notes summary").click()
    page.locator(".note").first.wait_for()
    yield "notes"
    page.locator(".note").get_by_role("button", name="Remove the note").click()
    expect(page.locator(".note")).to_have_count(0)
    session = page.evaluate("localStorage.getItem('octavo.session')")
    turns = page.request.get(f"{visit.base}/v1/sessions/{session}").json()["turns"]
    page.goto(f"{visit.base}/#/books/the-tides/gaps")
    page.locator(".library .empty").wait_for()
    yield "no gaps"
    page.goto(f"{visit.base}/#/books/the-tides")
    page.route("**/gaps?*", lambda route: route.fulfill(json=GAPS))
    page.goto(f"{visit.base}/#/books/the-tides/gaps")
    page.locator(".gap details summary").click()
    yield "gaps"
    page.goto(f"{visit.base}/#/answers/{turns[0]['answer_id']}")
    page.locator(".shared").wait_for()
    yield "shared answer"
    page.goto(f"{visit.base}/#/books/the-tides/sections/sums")
    page.locator(".formula.display mfrac").wait_for()
    yield "formulas"
    page.goto(f"{visit.base}/#/books/upriver")
    page.locator(".sheet-image[src]").first.wait_for()
    yield "printed page"


def tab(page: Page, name: str) -> None:
    if page.locator(".tabs").is_visible():
        page.locator(".tabs button", has_text=name).click()


@pytest.mark.parametrize(
    ("width", "theme", "rules"),
    [
        (1280, "light", ()),
        (390, "dark", ()),
        (1280, "dark", CONTRAST),
        (390, "light", CONTRAST),
        (1280, "sepia", CONTRAST),
    ],
)
def test_axe_finds_nothing_wrong_anywhere(
    stage: BrowserThread, base: str, width: int, theme: str, rules: tuple[str, ...]
) -> None:
    """Every rule once wide and once narrow, once light and once dark; the contrast in all colours."""
    scheme: Literal["light", "dark"] = "dark" if theme == "dark" else "light"
    with open_page(stage, base, width=width, height=860, scheme=scheme) as visit:
        if theme == "sepia":
            visit.page.add_init_script("localStorage.setItem('octavo.theme', 'sepia')")
        for name in places(visit):
            visit.shot(f"app-{theme}-{width}-{name}")
            assert visit.axe(*rules) == [], name


@pytest.mark.parametrize(("width", "height"), [(320, 568), (640, 430)])
def test_nothing_is_cut_off_on_small_screens_and_at_twice_the_size(
    stage: BrowserThread, base: str, width: int, height: int
) -> None:
    """1280 by 860 at 200 % is 640 by 430: the page must not need to be pushed sideways."""
    with open_page(stage, base, width=width, height=height) as visit:
        for name in places(visit):
            assert visit.page.evaluate(WIDE) is False, name
        visit.assert_clean()


def press(page: Page, key: str, until: str, most: int = 60) -> None:
    """Presses a key until what it selects has the focus."""
    for _ in range(most):
        page.keyboard.press(key)
        if page.evaluate("(s) => document.activeElement.matches(s)", until):
            return
    raise AssertionError(f"{until} is not reached with {key}")


def test_everything_can_be_done_with_the_keyboard(stage: BrowserThread, base: str) -> None:
    with open_page(stage, base) as visit:
        page = visit.go()
        page.locator(".book").first.wait_for()
        press(page, "Tab", ".skip")
        press(page, "Tab", ".book-link")
        page.keyboard.press("Enter")
        page.locator(".text p").first.wait_for()
        press(page, "Shift+Tab", "[role=treeitem]")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.locator("[aria-current]")).to_contain_text("Storm")
        press(page, "Tab", "#scope")
        press(page, "Tab", "#question")
        page.keyboard.type(LOST)
        page.keyboard.press("Enter")
        page.locator(".tools-row").wait_for()
        expect(page.locator("#question")).to_be_focused()
        press(page, "Shift+Tab", "button.cite")
        expect(page.get_by_role("tooltip")).to_be_visible()
        page.keyboard.press("Enter")
        assert "boats" in visit.cited()
        visit.until("document.activeElement.matches('mark.cited')")
        page.keyboard.press("Escape")
        visit.until("document.activeElement.matches('button.cite')")
        visit.assert_clean()


def test_the_focus_is_always_seen_and_goes_in_the_order_of_the_page(stage: BrowserThread, base: str) -> None:
    with open_page(stage, base) as visit:
        page = visit.go("/#/books/the-tides")
        page.locator(".text p").first.wait_for()
        regions = []
        for _ in range(40):
            page.keyboard.press("Tab")
            where, ring = page.evaluate(FOCUS)
            assert ring, page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
            regions.append(where)
            if page.evaluate("document.activeElement.matches('.ask')"):
                break
        order = list(dict.fromkeys(regions))
        assert order == ["page", "top", "side", "main", "talk"]


def test_the_colours_can_be_chosen_and_stay_chosen(stage: BrowserThread, base: str) -> None:
    paper = "getComputedStyle(document.body).getPropertyValue('--paper')"
    with open_page(stage, base, scheme="dark") as visit:
        page = visit.go()
        page.locator(".book").first.wait_for()
        dark = page.evaluate(paper)
        page.get_by_role("button", name="Colours").click()
        wait_until_true(page, f"(dark) => {paper} !== dark", dark)
        light = page.evaluate(paper)
        page.reload()
        wait_until_true(page, f"(light) => {paper} === light", light)


def test_who_wants_no_motion_gets_none(stage: BrowserThread, base: str) -> None:
    moving = "getComputedStyle(document.querySelector('mark.cited')).animationName"
    for still, name in ((True, "none"), (False, "found")):
        with open_page(stage, base, still=still) as visit:
            page = visit.go("/#/books/the-tides/sections/storm?start=0&end=7")
            visit.cited()
            wait_until_true(page, f"(name) => {moving} === name", name)


def test_the_page_says_what_its_parts_are(stage: BrowserThread, base: str) -> None:
    with open_page(stage, base) as visit:
        page = visit.go("/#/books/the-tides")
        page.locator(".text p").first.wait_for()
        for role, name in (
            ("banner", None),
            ("main", None),
            ("navigation", "Contents"),
            ("region", "Conversation"),
        ):
            expect(page.get_by_role(role, name=name).first).to_be_visible()  # type: ignore[arg-type]
        expect(page).to_have_title("The Tides · Octavo")
        assert page.locator("#live").get_attribute("aria-live") == "polite"
