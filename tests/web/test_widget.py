"""The widget on the pages of a book's site, another origin than the service: asked, shown, remembered."""

from __future__ import annotations

import gzip
import http.client
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from octavo.server.routes.widget import ENTRY, WEB, bundle
from octavo.settings import Settings
from tests.support.browser import ARTIFACTS, Stage, axe_source, until
from tests.support.widget_stage import (
    MORNING_TEXT,
    STORM_TEXT,
    Site,
    a_service,
    a_site,
    ask,
    fill,
    inside,
    lit,
    opened,
    page_of,
    reader,
    script,
)

LOST = "Seven boats were lost with all their nets."
STORMED = "How many boats were lost with all their nets?"
Scheme = Literal["light", "dark"]
PHONE: ViewportSize = {"width": 390, "height": 740}


@dataclass(frozen=True)
class Scene:
    site: Site
    service: str

    @property
    def tag(self) -> str:
        return script(self.service)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("tides")
    with a_site() as site:
        fill(folder / "library", folder / "book", base_url=site.url)
        with a_service(Settings(data=folder / "library", origins=(site.url,))) as service:
            tag = script(service)
            site.put("/storm.html", page_of(STORM_TEXT, tag))
            site.put("/morning.html", page_of(MORNING_TEXT, tag))
            yield Scene(site, service)


@pytest.fixture
def page(stage: Stage, scene: Scene) -> Iterator[Page]:
    with reader(stage, scene.site, scene.service) as opened:
        yield opened


def cited(page: Page, words: str) -> Locator:
    """The mark behind these words of the last answer."""
    said = inside(page, ".turn >> nth=-1").locator(".said p", has_text=words).first
    number = re.search(re.escape(words) + r"\s*(\d+)", said.inner_text())
    assert number, said.inner_text()
    return said.locator(".cite", has_text=re.compile(rf"^{number[1]}$"))


def wide(page: Page, pixels: int) -> None:
    """Waits until the panel has this width."""
    panel = "document.querySelector('octavo-widget')?.shadowRoot.querySelector('.panel')"
    until(page, f"(pixels) => {panel}?.offsetWidth === pixels", pixels)


def test_the_script_is_small_and_the_same_every_time() -> None:
    made = bundle(WEB, ENTRY)
    assert made == bundle(WEB, ENTRY)
    assert len(gzip.compress(made.encode(), 9)) <= 27_000
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\bimport ", made
    )


def test_any_page_may_load_the_script_and_keep_it_until_it_changes(scene: Scene) -> None:
    connection = http.client.HTTPConnection(scene.service.removeprefix("http://"), timeout=60)
    connection.request(
        "GET", "/widget.js", headers={"origin": "https://example.org", "accept-encoding": "gzip"}
    )
    first = connection.getresponse()
    body = gzip.decompress(first.read()).decode()
    assert body == bundle(WEB, ENTRY)
    assert first.headers["cross-origin-resource-policy"] == "cross-origin"
    assert first.headers["access-control-allow-origin"] == "*"
    assert first.headers.get_content_type() == "text/javascript"
    connection.request("GET", "/widget.js", headers={"if-none-match": first.headers["etag"]})
    again = connection.getresponse()
    assert (again.status, again.read()) == (304, b"")
    connection.close()


def test_nothing_is_fetched_before_the_panel_is_opened(scene: Scene, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(scene.service)))
    opened(page, scene.site.url + "/storm.html")
    page.wait_for_timeout(100)
    assert [path for path in asked if path.startswith("/")] == ["/widget.js"]


def test_an_answer_is_quoted_and_its_words_light_up_in_the_page(scene: Scene, page: Page) -> None:
    opened(page, scene.site.url + "/storm.html")
    ask(page, STORMED)
    expect(inside(page, ".asked")).to_have_text(STORMED)
    assert " - " not in inside(page, ".said").inner_text(), "an item of a list is quoted without its dash"
    cited(page, LOST).click()
    assert lit(page) == [LOST]
    cited(page, "Five boats were never named.").click()
    page.wait_for_function("[...CSS.highlights.get('octavo-quote')][0].toString().startsWith('Five')")
    assert lit(page) == ["Five boats were never named."]
    assert page.locator("mark").count() == 0


def test_words_are_found_through_other_quotes_dashes_and_elements(scene: Scene, page: Page) -> None:
    opened(page, scene.site.url + "/storm.html")
    page.evaluate("void window.Octavo.on('cited', (c) => (window.snippet = c.content_snippet))")
    ask(page, "boats and the northern pier in a single night")
    words = (
        'A storm broke the northern pier and the boats in a single night -- "like a match", the keeper said.'
    )
    cited(page, words).hover()
    expect(inside(page, ".tip blockquote")).to_have_text(words)
    expect(inside(page, ".tip p")).to_contain_text("The northern pier")
    cited(page, words).click()
    until(page, "(words) => window.snippet === words", words)
    assert lit(page) == [words.replace("--", "–").replace(' "', " “").replace('"', "”")]
    box = page.evaluate("[...CSS.highlights.get('octavo-quote')][0].getBoundingClientRect().toJSON()")
    assert 0 <= box["top"] < box["bottom"] <= page.evaluate("innerHeight"), "the words are in view"


def test_a_browser_without_highlights_selects_the_words(scene: Scene, page: Page) -> None:
    page.add_init_script("Object.defineProperty(CSS, 'highlights', {value: undefined})")
    opened(page, scene.site.url + "/storm.html")
    ask(page, STORMED)
    cited(page, LOST).click()
    until(page, "getSelection().toString()")
    assert " ".join(page.evaluate("getSelection().toString()").split()) == LOST


def test_another_page_of_the_site_opens_at_the_words_and_the_talk_goes_on_there(
    scene: Scene, page: Page
) -> None:
    opened(page, scene.site.url + "/storm.html")
    ask(page, "Who spoke of the boats before the bells?")
    cited(page, "Nobody spoke of the boats until the bells had rung.").click()
    page.wait_for_url(re.compile(r"/morning\.html#bells"))
    assert lit(page) == ["Nobody spoke of the boats until the bells had rung."]
    expect(inside(page, ".panel")).to_be_visible()
    expect(inside(page, ".asked")).to_have_text("Who spoke of the boats before the bells?")
    assert page.evaluate("sessionStorage.getItem('octavo:jump')") is None


def test_a_reload_keeps_the_conversation_and_a_new_one_forgets_it(scene: Scene, page: Page) -> None:
    opened(page, scene.site.url + "/storm.html")
    ask(page, STORMED)
    ask(page, "How old is the moon?")
    said = inside(page, ".log").inner_text()
    page.reload()
    expect(inside(page, ".turn")).to_have_count(2)
    log = "document.querySelector('octavo-widget').shadowRoot.querySelector('.log')"
    until(page, f"(said) => {log}.innerText === said", said)
    cited_again = inside(page, ".turn >> nth=0").locator(".cite").first
    expect(cited_again).to_be_visible()
    inside(page, "header button >> nth=0").click()
    expect(inside(page, ".turn")).to_have_count(0)
    page.reload()
    expect(inside(page, ".welcome")).to_be_visible()


def test_a_refusal_is_a_card_with_the_nearest_sections(scene: Scene, page: Page) -> None:
    opened(page, scene.site.url + "/storm.html")
    ask(page, "How old is the moon?")
    expect(inside(page, ".card-title")).to_have_text("The book does not say")
    nearest = inside(page, ".nearest a")
    expect(nearest.first).to_be_visible()
    assert str(nearest.first.get_attribute("href")).startswith(scene.site.url)
    assert inside(page, ".foot").count() == 0


def test_a_selection_is_offered_and_asked_about(scene: Scene, page: Page) -> None:
    opened(page, scene.site.url + "/storm.html")
    bodies: list[object] = []
    page.on("request", lambda r: bodies.append(r.post_data_json) if r.url.endswith("/v1/ask") else None)
    page.evaluate("getSelection().selectAllChildren(document.querySelector('#the-count + ul li'))")
    inside(page, ".pill").click()
    expect(inside(page, ".chip blockquote")).to_have_text("Two boats came from Skerry.")
    held = "[...(CSS.highlights.get('octavo-held') || [])].map((range) => range.toString())"
    assert page.evaluate(held) == ["Two boats came from Skerry."], "it can still be seen in the page"
    page.keyboard.type("Where from are the boats?")
    page.keyboard.press("Enter")
    expect(inside(page, ".said")).to_contain_text("Two boats came from Skerry.")
    expect(inside(page, ".said")).not_to_contain_text("Seven boats")
    assert isinstance(bodies[0], dict)
    assert bodies[0]["selected_text"] == "Two boats came from Skerry."
    expect(inside(page, ".about")).to_have_text("Two boats came from Skerry.")
    expect(inside(page, ".chip")).to_be_hidden()
    assert page.evaluate(held) == []


def test_a_long_selection_is_cut_at_a_word_within_five_hundred_characters(scene: Scene, page: Page) -> None:
    opened(page, scene.site.put("/long.html", page_of("<p>" + "fathom " * 200 + "</p>", scene.tag)))
    page.evaluate("getSelection().selectAllChildren(document.querySelector('main p'))")
    inside(page, ".pill").wait_for()
    page.keyboard.press("Control+i")
    expect(inside(page, ".chip blockquote")).to_be_visible()
    held = inside(page, ".chip blockquote").inner_text()
    assert 480 < len(held) <= 500
    assert held.endswith(" fathom")
    expect(inside(page, ".chip .label")).to_contain_text("first")


def test_what_is_worked_on_is_named_and_can_be_stopped(scene: Scene, page: Page) -> None:
    opened(page, scene.site.url + "/storm.html")
    ask(page, "Will the boats wait?", done=False)
    expect(inside(page, ".steps .working")).to_be_visible()
    expect(inside(page, ".steps")).to_contain_text(re.compile(r"Looking in|Passages found|Searching|Reading"))
    expect(inside(page, ".log")).to_have_attribute("aria-busy", "true")
    expect(inside(page, ".send")).to_have_attribute("aria-label", "Stop")
    inside(page, ".send").click()
    expect(inside(page, ".steps")).to_have_text("Stopped.")
    expect(inside(page, ".send")).to_have_attribute("aria-label", "Ask")
    ask(page, STORMED)
    expect(inside(page, ".turn")).to_have_count(2)


def test_everything_can_be_done_with_the_keyboard_alone(scene: Scene, page: Page) -> None:
    opened(page, scene.site.url + "/storm.html")
    press = page.keyboard.press
    press("Tab")
    assert page.evaluate("document.activeElement.className") == "hash-link"
    press("Control+i")
    expect(inside(page, ".composer textarea")).to_be_focused()
    page.keyboard.type(STORMED)
    press("Enter")
    inside(page, ".turn.done").wait_for()
    number = cited(page, LOST).inner_text()
    active = "(() => { const on = document.querySelector('octavo-widget').shadowRoot.activeElement;"
    for _ in range(20):
        press("Shift+Tab")
        if page.evaluate(f"{active} return on.className + on.textContent; }})()") == f"cite{number}":
            break
    expect(inside(page, ".tip")).to_be_visible()
    press("Escape")
    expect(inside(page, ".tip")).to_be_hidden()
    expect(inside(page, ".panel")).to_be_visible()
    press("Enter")
    assert lit(page) == [LOST]
    inside(page, ".edge").focus()
    width = int(str(inside(page, ".edge").get_attribute("aria-valuenow")))
    press("ArrowLeft")
    expect(inside(page, ".edge")).to_have_attribute("aria-valuenow", str(width + 20))
    press("End")
    wide(page, 580)
    press("Escape")
    expect(inside(page, ".panel")).to_be_hidden()
    until(page, "document.activeElement.className === 'hash-link'")


def test_the_edge_can_be_dragged_within_bounds_and_the_width_is_kept(scene: Scene, page: Page) -> None:
    opened(page, scene.site.url + "/storm.html")
    inside(page, ".launch").click()
    box = inside(page, ".edge").bounding_box()
    assert box
    for left, wanted in ((100, 580), (1270, 360), (800, 480)):
        box = inside(page, ".edge").bounding_box()
        assert box
        page.mouse.move(box["x"] + 5, 300)
        page.mouse.down()
        page.mouse.move(left, 300, steps=3)
        page.mouse.up()
        wide(page, wanted)
    page.reload()
    wide(page, 480)


def test_a_wide_page_moves_aside_and_comes_back(scene: Scene, page: Page) -> None:
    opened(page, scene.site.url + "/storm.html")
    whole = page.evaluate("document.body.offsetWidth")
    inside(page, ".launch").click()
    expect(inside(page, ".panel")).to_be_visible()
    taken = inside(page, ".panel").evaluate("(panel) => panel.offsetWidth")
    until(page, "(width) => document.body.offsetWidth === width", whole - taken)
    page.keyboard.press("Escape")
    until(page, "(width) => document.body.offsetWidth === width", whole)


def test_a_phone_gets_the_whole_screen_and_keeps_the_focus_inside(scene: Scene, page: Page) -> None:
    page.set_viewport_size(PHONE)
    opened(page, scene.site.url + "/storm.html")
    ask(page, STORMED)
    box = inside(page, ".panel").bounding_box()
    assert box == {"x": 0, "y": 0, "width": 390, "height": 740}
    expect(inside(page, ".panel")).to_have_attribute("aria-modal", "true")
    for _ in range(25):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.localName") == "octavo-widget"
    inside(page, ".composer textarea").focus()
    expect(inside(page, ".tip")).to_be_hidden()
    cited(page, LOST).click()
    assert lit(page) == [LOST]
    expect(inside(page, ".panel")).to_be_hidden()


@pytest.mark.parametrize("width", [320, 640])
def test_nothing_is_cut_off_on_the_narrowest_screens(scene: Scene, page: Page, width: int) -> None:
    """640 pixels are what a screen of 1280 has left at 200 % zoom."""
    page.set_viewport_size({"width": width, "height": 400})
    opened(page, scene.site.url + "/storm.html")
    ask(page, STORMED)
    over = inside(page, ".panel, .log, .foot, .row, header").evaluate_all(
        "(all) => all.filter((node) => node.scrollWidth > node.clientWidth + 1).map((node) => node.className)"
    )
    assert over == []
    assert inside(page, ".panel").bounding_box() == {"x": 0, "y": 0, "width": width, "height": 400}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_to_complain_of(
    stage: Stage, scene: Scene, scheme: Literal["light", "dark"]
) -> None:
    with reader(stage, scene.site, scene.service, scheme=scheme) as page:
        opened(page, scene.site.url + "/storm.html")
        ask(page, STORMED)
        ask(page, "How old is the moon?")
        inside(page, ".turn >> nth=0").locator(".action").last.click()
        assert inside(page, ".root").get_attribute("data-theme") == scheme
        ARTIFACTS.mkdir(exist_ok=True)
        page.screenshot(path=ARTIFACTS / f"widget-{scheme}.png")
        page.evaluate(axe_source())
        found = page.evaluate("axe.run({include: [['octavo-widget']]})")
        assert found["passes"]
        assert [(v["id"], v["impact"], v["nodes"][0]["html"][:120]) for v in found["violations"]] == []
