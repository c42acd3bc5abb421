"""What a site sets up: starter questions, fonts, room, languages; and what is said when that is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from octavo.settings import Settings
from tests.support.browser import BrowserThread
from tests.support.widget_site import (
    STORM_TEXT,
    Site,
    ask_widget,
    fill_library,
    find_inside,
    make_page,
    make_script_tag,
    open_reader,
    open_widget,
    serve_library,
    serve_site,
)

STORMED = "How many boats were lost with all their nets?"


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, str]]:
    folder = tmp_path_factory.mktemp("tides")
    with serve_site() as site:
        fill_library(folder / "library", folder / "book", base_url=site.url)
        with serve_library(Settings(data=folder / "library", origins=(site.url,))) as service:
            yield site, service


@pytest.fixture
def page(stage: BrowserThread, scene: tuple[Site, str]) -> Iterator[Page]:
    with open_reader(stage, *scene) as opened:
        yield opened


def write_page(
    scene: tuple[Site, str],
    path: str,
    *,
    head: str = "",
    script: str = "",
    book: str = "the-tides",
    **given: str,
) -> str:
    site, service = scene
    tag = make_script_tag(service, **given).replace("/widget.js", script or "/widget.js")
    tag = tag.replace("the-tides", book)
    site.put(path, make_page(STORM_TEXT, tag, head=head))
    return f"{site.url}{path}"


def test_a_site_gives_questions_a_font_and_the_part_that_makes_room(
    scene: tuple[Site, str], page: Page
) -> None:
    head = "<style>:root { --octavo-font: Courier } .bar { position: fixed; inset: 0 0 auto }</style>"
    url = write_page(scene, "/set.html", head=head, questions=f"{STORMED} | When?", container="body")
    page.goto(url)
    page.locator("octavo-widget").wait_for(state="attached")
    page.keyboard.press("Control+k")
    starters = find_inside(page, ".starter")
    expect(starters).to_have_text([STORMED, "When?"])
    assert "Courier" in starters.first.evaluate("(n) => getComputedStyle(n).fontFamily")
    assert page.evaluate("getComputedStyle(document.documentElement).marginRight") == "0px"
    assert page.evaluate("parseInt(getComputedStyle(document.body).marginRight)") >= 360
    starters.first.click()
    expect(find_inside(page, ".said").first).to_contain_text("Seven boats")


def test_a_site_that_uses_the_keys_for_its_own_search_keeps_them(scene: tuple[Site, str], page: Page) -> None:
    page.goto(write_page(scene, "/keys.html"))
    page.locator("octavo-widget").wait_for(state="attached")
    page.evaluate("document.addEventListener('keydown', (e) => e.key === 'k' && e.preventDefault())")
    page.keyboard.press("Control+k")
    expect(find_inside(page, ".panel")).to_be_hidden()


def test_a_refusal_can_be_rated(scene: tuple[Site, str], page: Page) -> None:
    open_widget(page, write_page(scene, "/refused.html"))
    ask_widget(page, "How old is the moon?")
    expect(find_inside(page, ".card")).to_be_visible()
    with page.expect_response("**/feedback") as sent:
        find_inside(page, ".turn").get_by_role("button", name="This helped").click()
    assert sent.value.status == 204


def test_faults_of_the_set_up_are_said_on_the_console(scene: tuple[Site, str], page: Page) -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    open_widget(page, write_page(scene, "/nobook.html", book="nowhere"))
    ask_widget(page, STORMED, done=False)
    expect(find_inside(page, ".failed")).to_be_visible()
    assert [text for text in said if text.startswith("Octavo: ") and '"nowhere"' in text]


@pytest.mark.parametrize(
    ("language", "direction", "title"),
    [
        ("ar", "rtl", "اسأل هذا الكتاب"),
        ("de", "ltr", "Frag dieses Buch"),
        ("es", "ltr", "Pregunta a este libro"),
        ("fr", "ltr", "Interroger ce livre"),
        ("ur", "rtl", "اس کتاب سے پوچھیں"),
        ("zh", "ltr", "向这本书提问"),
    ],
)
def test_the_words_of_a_language_come_with_its_script(
    scene: tuple[Site, str], page: Page, language: str, direction: str, title: str
) -> None:
    page.goto(write_page(scene, f"/{language}.html", script=f"/widget.{language}.js", lang=language))
    page.locator("octavo-widget").wait_for(state="attached")
    page.keyboard.press("Control+i")
    expect(find_inside(page, "#title")).to_have_text(title)
    assert find_inside(page, ".root").get_attribute("dir") == direction
    field = find_inside(page, ".composer textarea")
    assert field.evaluate("(n) => getComputedStyle(n).direction") == direction, "an empty field"
    field.fill("Who?" if direction == "rtl" else "مَن؟")
    assert field.evaluate("(n) => getComputedStyle(n).direction") != direction, "the words' own direction"
