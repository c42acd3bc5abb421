"""The widget on the pages of a book's site, another origin than the service: asked, shown, remembered."""

from __future__ import annotations

import gzip
import http.client
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from octavo.server.routes.widget import ENTRY, WEB, bundle
from octavo.settings import Settings
from tests.support.browser import ARTIFACTS, BrowserThread, read_axe, wait_until_true
from tests.support.widget_site import (
    MORNING_TEXT,
    STORM_TEXT,
    Site,
    ask_widget,
    fill_library,
    find_inside,
    list_highlights,
    make_page,
    make_script_tag,
    open_reader,
    open_widget,
    serve_library,
    serve_site,
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
        return make_script_tag(self.service)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("tides")
    with serve_site() as site:
        fill_library(folder / "library", folder / "book", base_url=site.url)
        with serve_library(Settings(data=folder / "library", origins=(site.url,))) as service:
            tag = make_script_tag(service)
            site.put("/storm.html", make_page(STORM_TEXT, tag))
            site.put("/morning.html", make_page(MORNING_TEXT, tag))
            yield Scene(site, service)


@pytest.fixture
def page(stage: BrowserThread, scene: Scene) -> Iterator[Page]:
    with open_reader(stage, scene.site, scene.service) as open_widget:
        yield open_widget


def cited(page: Page, words: str) -> Locator:
    """The mark behind these words of the last answer."""
    said = find_inside(page, ".turn >> nth=-1").locator(".said p, .said li", has_text=words).first
    number = re.search(re.escape(words) + r"\s*(\d+)", said.inner_text())
    assert number, said.inner_text()
    return said.locator(".cite", has_text=re.compile(rf"^{number[1]}$"))


def wide(page: Page, pixels: int) -> None:
    """Waits until the panel has this width."""
    panel = "document.querySelector('octavo-widget')?.shadowRoot.querySelector('.panel')"
    wait_until_true(page, f"(pixels) => {panel}?.offsetWidth === pixels", pixels)


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


def test_a_translated_answer_says_so_above_the_words_of_the_book(scene: Scene, page: Page) -> None:
    said = {"text": "Sieben Boote gingen verloren.", "citations": [1], "marks": [], "translated": True}
    cited = {"number": 1, "content_snippet": LOST, "section": "Storm", "title": "The Tides", "link": ""}
    final = {"answer_id": "a", "answer": f"{said['text']} [1]", "confidence": 0.9, "claims": [said]}
    final |= {"citations": [cited], "refusal": None, "processing_time_ms": 3}
    events = [("claimed", said), ("answered", final)]
    body = "".join(f"event: {kind}\ndata: {json.dumps(data)}\n\n" for kind, data in events)
    allowed = {"access-control-allow-origin": "*", "content-type": "text/event-stream"}
    page.route(f"{scene.service}/v1/ask", lambda route: route.fulfill(body=body, headers=allowed))
    open_widget(page, f"{scene.site.url}/storm.html")
    ask_widget(page, "Wie viele Boote gingen verloren?")
    expect(find_inside(page, ".said .translated")).to_contain_text("Translated")
    expect(find_inside(page, ".turn")).to_contain_text(LOST)


def test_nothing_is_fetched_before_the_panel_is_opened(scene: Scene, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(scene.service)))
    open_widget(page, scene.site.url + "/storm.html")
    page.wait_for_timeout(100)
    assert [path for path in asked if path.startswith("/")] == ["/widget.js"]


def test_an_answer_is_quoted_and_its_words_light_up_in_the_page(scene: Scene, page: Page) -> None:
    open_widget(page, scene.site.url + "/storm.html")
    ask_widget(page, STORMED)
    expect(find_inside(page, ".asked")).to_have_text(STORMED)
    assert " - " not in find_inside(page, ".said").inner_text(), (
        "an item of a list is quoted without its dash"
    )
    cited(page, LOST).click()
    assert list_highlights(page) == [LOST]
    cited(page, "Five boats were never named.").click()
    page.wait_for_function("[...CSS.highlights.get('octavo-quote')][0].toString().startsWith('Five')")
    assert list_highlights(page) == ["Five boats were never named."]
    assert page.locator("mark").count() == 0


def test_words_are_found_through_other_quotes_dashes_and_elements(scene: Scene, page: Page) -> None:
    open_widget(page, scene.site.url + "/storm.html")
    page.evaluate("void window.Octavo.on('cited', (c) => (window.snippet = c.content_snippet))")
    ask_widget(page, "boats and the northern pier in a single night")
    words = (
        'A storm broke the northern pier and the boats in a single night -- "like a match", the keeper said.'
    )
    cited(page, words).hover()
    expect(find_inside(page, ".tip blockquote")).to_have_text(words)
    expect(find_inside(page, ".tip p")).to_contain_text("The northern pier")
    cited(page, words).click()
    wait_until_true(page, "(words) => window.snippet === words", words)
    assert list_highlights(page) == [words.replace("--", "–").replace(' "', " “").replace('"', "”")]
    box = page.evaluate("[...CSS.highlights.get('octavo-quote')][0].getBoundingClientRect().toJSON()")
    assert 0 <= box["top"] < box["bottom"] <= page.evaluate("innerHeight"), "the words are in view"


def test_a_browser_without_highlights_selects_the_words(scene: Scene, page: Page) -> None:
    page.add_init_script("Object.defineProperty(CSS, 'highlights', {value: undefined})")
    open_widget(page, scene.site.url + "/storm.html")
    ask_widget(page, STORMED)
    cited(page, LOST).click()
    wait_until_true(page, "getSelection().toString()")
    assert " ".join(page.evaluate("getSelection().toString()").split()) == LOST


def test_another_page_of_the_site_opens_at_the_words_and_the_talk_goes_on_there(
    scene: Scene, page: Page
) -> None:
    open_widget(page, scene.site.url + "/storm.html")
    ask_widget(page, "Who spoke of the boats before the bells?")
    cited(page, "Nobody spoke of the boats until the bells had rung.").click()
    page.wait_for_url(re.compile(r"/morning\.html#bells"))
    assert list_highlights(page) == ["Nobody spoke of the boats until the bells had rung."]
    expect(find_inside(page, ".panel")).to_be_visible()
    expect(find_inside(page, ".asked")).to_have_text("Who spoke of the boats before the bells?")
    assert page.evaluate("sessionStorage.getItem('octavo:jump')") is None


def test_a_reload_keeps_the_conversation_and_a_new_one_forgets_it(scene: Scene, page: Page) -> None:
    open_widget(page, scene.site.url + "/storm.html")
    ask_widget(page, STORMED)
    ask_widget(page, "How old is the moon?")
    said = find_inside(page, ".log").inner_text()
    page.reload()
    expect(find_inside(page, ".turn")).to_have_count(2)
    log = "document.querySelector('octavo-widget').shadowRoot.querySelector('.log')"
    wait_until_true(page, f"(said) => {log}.innerText === said", said)
    cited_again = find_inside(page, ".turn >> nth=0").locator(".cite").first
    expect(cited_again).to_be_visible()
    find_inside(page, "header button >> nth=0").click()
    expect(find_inside(page, ".turn")).to_have_count(0)
    page.reload()
    expect(find_inside(page, ".welcome")).to_be_visible()


def test_a_refusal_is_a_card_with_the_nearest_sections(scene: Scene, page: Page) -> None:
    open_widget(page, scene.site.url + "/storm.html")
    ask_widget(page, "How old is the moon?")
    expect(find_inside(page, ".card-title")).to_have_text("The book does not say")
    nearest = find_inside(page, ".nearest a")
    expect(nearest.first).to_be_visible()
    assert str(nearest.first.get_attribute("href")).startswith(scene.site.url)
    assert find_inside(page, ".foot").count() == 0


def test_a_selection_is_offered_and_asked_about(scene: Scene, page: Page) -> None:
    open_widget(page, scene.site.url + "/storm.html")
    bodies: list[object] = []
    page.on("request", lambda r: bodies.append(r.post_data_json) if r.url.endswith("/v1/ask") else None)
    page.evaluate("getSelection().selectAllChildren(document.querySelector('#the-count + ul li'))")
    find_inside(page, ".pill").click()
    expect(find_inside(page, ".chip blockquote")).to_have_text("Two boats came from Skerry.")
    held = "[...(CSS.highlights.get('octavo-held') || [])].map((range) => range.toString())"
    assert page.evaluate(held) == ["Two boats came from Skerry."], "it can still be seen in the page"
    page.keyboard.type("Where from are the boats?")
    page.keyboard.press("Enter")
    expect(find_inside(page, ".said")).to_contain_text("Two boats came from Skerry.")
    expect(find_inside(page, ".said")).not_to_contain_text("Seven boats")
    assert isinstance(bodies[0], dict)
    assert bodies[0]["selected_text"] == "Two boats came from Skerry."
    expect(find_inside(page, ".about")).to_have_text("Two boats came from Skerry.")
    expect(find_inside(page, ".chip")).to_be_hidden()
    assert page.evaluate(held) == []


def test_a_long_selection_is_cut_at_a_word_within_five_hundred_characters(scene: Scene, page: Page) -> None:
    open_widget(page, scene.site.put("/long.html", make_page("<p>" + "fathom " * 200 + "</p>", scene.tag)))
    page.evaluate("getSelection().selectAllChildren(document.querySelector('main p'))")
    find_inside(page, ".pill").wait_for()
    page.keyboard.press("Control+i")
    expect(find_inside(page, ".chip blockquote")).to_be_visible()
    held = find_inside(page, ".chip blockquote").inner_text()
    assert 480 < len(held) <= 500
    assert held.endswith(" fathom")
    expect(find_inside(page, ".chip .label")).to_contain_text("first")


def test_what_is_worked_on_is_named_and_can_be_stopped(scene: Scene, page: Page) -> None:
    open_widget(page, scene.site.url + "/storm.html")
    ask_widget(page, "Will the boats wait?", done=False)
    expect(find_inside(page, ".steps .working")).to_be_visible()
    expect(find_inside(page, ".steps")).to_contain_text(
        re.compile(r"Looking in|Passages found|Searching|Reading")
    )
    expect(find_inside(page, ".log")).to_have_attribute("aria-busy", "true")
    expect(find_inside(page, ".send")).to_have_attribute("aria-label", "Stop")
    find_inside(page, ".send").click()
    expect(find_inside(page, ".steps")).to_have_text("Stopped.")
    expect(find_inside(page, ".send")).to_have_attribute("aria-label", "Ask")
    ask_widget(page, STORMED)
    expect(find_inside(page, ".turn")).to_have_count(2)


def test_everything_can_be_done_with_the_keyboard_alone(scene: Scene, page: Page) -> None:
    open_widget(page, scene.site.url + "/storm.html")
    press = page.keyboard.press
    press("Tab")
    assert page.evaluate("document.activeElement.className") == "hash-link"
    press("Control+i")
    expect(find_inside(page, ".composer textarea")).to_be_focused()
    page.keyboard.type(STORMED)
    press("Enter")
    find_inside(page, ".turn.done").wait_for()
    number = cited(page, LOST).inner_text()
    active = "(() => { const on = document.querySelector('octavo-widget').shadowRoot.activeElement;"
    for _ in range(20):
        press("Shift+Tab")
        if page.evaluate(f"{active} return on.className + on.textContent; }})()") == f"cite{number}":
            break
    expect(find_inside(page, ".tip")).to_be_visible()
    press("Escape")
    expect(find_inside(page, ".tip")).to_be_hidden()
    expect(find_inside(page, ".panel")).to_be_visible()
    press("Enter")
    assert list_highlights(page) == [LOST]
    find_inside(page, ".edge").focus()
    width = int(str(find_inside(page, ".edge").get_attribute("aria-valuenow")))
    press("ArrowLeft")
    expect(find_inside(page, ".edge")).to_have_attribute("aria-valuenow", str(width + 20))
    press("End")
    wide(page, 580)
    press("Escape")
    expect(find_inside(page, ".panel")).to_be_hidden()
    wait_until_true(page, "document.activeElement.className === 'hash-link'")


def test_the_edge_can_be_dragged_within_bounds_and_the_width_is_kept(scene: Scene, page: Page) -> None:
    open_widget(page, scene.site.url + "/storm.html")
    find_inside(page, ".launch").click()
    box = find_inside(page, ".edge").bounding_box()
    assert box
    for left, wanted in ((100, 580), (1270, 360), (800, 480)):
        box = find_inside(page, ".edge").bounding_box()
        assert box
        page.mouse.move(box["x"] + 5, 300)
        page.mouse.down()
        page.mouse.move(left, 300, steps=3)
        page.mouse.up()
        wide(page, wanted)
    page.reload()
    wide(page, 480)


def test_a_wide_page_moves_aside_and_comes_back(scene: Scene, page: Page) -> None:
    open_widget(page, scene.site.url + "/storm.html")
    whole = page.evaluate("document.body.offsetWidth")
    find_inside(page, ".launch").click()
    expect(find_inside(page, ".panel")).to_be_visible()
    taken = find_inside(page, ".panel").evaluate("(panel) => panel.offsetWidth")
    wait_until_true(page, "(width) => document.body.offsetWidth === width", whole - taken)
    page.keyboard.press("Escape")
    wait_until_true(page, "(width) => document.body.offsetWidth === width", whole)


def test_a_phone_gets_the_whole_screen_and_keeps_the_focus_inside(scene: Scene, page: Page) -> None:
    page.set_viewport_size(PHONE)
    open_widget(page, scene.site.url + "/storm.html")
    ask_widget(page, STORMED)
    box = find_inside(page, ".panel").bounding_box()
    assert box == {"x": 0, "y": 0, "width": 390, "height": 740}
    expect(find_inside(page, ".panel")).to_have_attribute("aria-modal", "true")
    for _ in range(25):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.localName") == "octavo-widget"
    find_inside(page, ".composer textarea").focus()
    expect(find_inside(page, ".tip")).to_be_hidden()
    cited(page, LOST).click()
    assert list_highlights(page) == [LOST]
    expect(find_inside(page, ".panel")).to_be_hidden()


@pytest.mark.parametrize("width", [320, 640])
def test_nothing_is_cut_off_on_the_narrowest_screens(scene: Scene, page: Page, width: int) -> None:
    """640 pixels are what a screen of 1280 has left at 200 % zoom."""
    page.set_viewport_size({"width": width, "height": 400})
    open_widget(page, scene.site.url + "/storm.html")
    ask_widget(page, STORMED)
    over = find_inside(page, ".panel, .log, .foot, .row, header").evaluate_all(
        "(all) => all.filter((node) => node.scrollWidth > node.clientWidth + 1).map((node) => node.className)"
    )
    assert over == []
    assert find_inside(page, ".panel").bounding_box() == {"x": 0, "y": 0, "width": width, "height": 400}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_to_complain_of(
    stage: BrowserThread, scene: Scene, scheme: Literal["light", "dark"]
) -> None:
    with open_reader(stage, scene.site, scene.service, scheme=scheme) as page:
        open_widget(page, scene.site.url + "/storm.html")
        ask_widget(page, STORMED)
        ask_widget(page, "How old is the moon?")
        find_inside(page, ".turn >> nth=0").locator(".action").last.click()
        assert find_inside(page, ".root").get_attribute("data-theme") == scheme
        ARTIFACTS.mkdir(exist_ok=True)
        page.screenshot(path=ARTIFACTS / f"widget-{scheme}.png")
        page.evaluate(read_axe())
        found = page.evaluate("axe.run({include: [['octavo-widget']]})")
        assert found["passes"]
        assert [(v["id"], v["impact"], v["nodes"][0]["html"][:120]) for v in found["violations"]] == []
