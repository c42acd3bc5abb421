"""The widget on an Arabic page: asked in Arabic, answered from right to left, and lit up in the page."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from octavo.settings import Settings
from tests.support.answerers import AllSentencesAnswerer
from tests.support.browser import ARTIFACTS, BrowserThread, read_axe, wait_until_true
from tests.support.widget_site import (
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

LOST = "فُقدت سبعة قوارب مع كل شباكها."
NAMED = "Skerry هي القرية التي جاء منها اثنان من ثلاثة قوارب."
ASKED = "كم قوارب فُقدت مع شباكها؟"
STORM = f"""# العاصفة

## الرصيف الشمالي

كسرت العاصفة *الرصيف الشمالي* في ليلة واحدة. {LOST}

## العدّ

{NAMED}
"""
MORNING = "# الصباح\n\nعادت النوارس في الصباح، ولم يتكلم أحد حتى قُرعت الأجراس.\n"
STORM_TEXT = f"""<h1>العاصفة</h1>
<h2 id="الرصيف-الشمالي">الرصيف الشمالي</h2>
<p>كسرت العاصفة <em>الرصيف
   الشمالي</em> في ليلة واحدة. {LOST.replace("سبعة", "<strong>سبعة</strong>")}</p>
<h2 id="العدّ">العدّ</h2><p>{NAMED}</p><div style="height: 1500px"></div>"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, str]]:
    folder = tmp_path_factory.mktemp("tides")
    with serve_site() as site:
        pages = {"storm.md": STORM, "morning.md": MORNING}
        fill_library(folder / "library", folder / "book", base_url=site.url, pages=pages)
        settings = Settings(data=folder / "library", origins=(site.url,))
        with serve_library(settings, answerer=AllSentencesAnswerer("قوارب")) as service:
            tag = make_script_tag(service, position="left").replace("/widget.js", "/widget.ar.js")
            site.put("/storm.html", make_page(STORM_TEXT, tag, lang="ar", html='dir="rtl"'))
            yield site, service


@pytest.fixture
def page(stage: BrowserThread, scene: tuple[Site, str]) -> Iterator[Page]:
    with open_reader(stage, *scene) as opened:
        yield opened


def read_box(page: Page, selector: str) -> tuple[float, float]:
    """The left and the right edge of something of the widget."""
    box = find_inside(page, selector).first.bounding_box()
    assert box is not None
    return box["x"], box["x"] + box["width"]


def test_an_arabic_answer_runs_from_right_to_left_and_its_words_light_up(
    scene: tuple[Site, str], page: Page
) -> None:
    open_widget(page, f"{scene[0].url}/storm.html")
    turn = ask_widget(page, ASKED)
    said = turn.locator(".said p")
    expect(said).to_contain_text(NAMED)
    for drawn in (turn.locator(".asked"), said):
        assert drawn.evaluate("(n) => getComputedStyle(n).direction") == "rtl"
    number = re.search(re.escape(LOST) + r"\s*(\d+)", said.inner_text())
    assert number, said.inner_text()
    lost = said.locator(".cite", has_text=number[1])
    lost.hover()
    expect(find_inside(page, ".tip blockquote")).to_have_text(LOST)
    left, right = read_box(page, ".tip")
    assert 0 <= left < right <= page.evaluate("innerWidth"), "the card is on the screen"
    lost.click()
    assert list_highlights(page) == [LOST]


def test_the_panel_stands_where_the_site_puts_it_and_begins_at_the_right(
    scene: tuple[Site, str], page: Page
) -> None:
    open_widget(page, f"{scene[0].url}/storm.html")
    whole = page.evaluate("document.body.offsetWidth")
    ask_widget(page, ASKED)
    left, right = read_box(page, ".panel")
    assert left == 0
    wait_until_true(page, "(width) => document.body.offsetWidth === width", whole - int(right - left))
    title, close = read_box(page, "#title"), read_box(page, "header button >> nth=-1")
    assert close[1] <= title[0], "the buttons stand at the end of the line"
    assert right - title[1] == 24 + 1, "as far from the border as the title of an English panel"
    assert close[0] - left == 12
    number, place = read_box(page, ".passages .number"), read_box(page, ".passages .place")
    assert place[1] <= number[0], "the number of a source begins its line"
    send, field = read_box(page, ".send"), read_box(page, ".composer textarea")
    assert send[1] <= field[0]


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_of_an_arabic_panel_is_cut_off_or_hard_to_use(
    scene: tuple[Site, str], page: Page, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 740})
    open_widget(page, f"{scene[0].url}/storm.html")
    ask_widget(page, ASKED)
    over = find_inside(page, ".panel, .log, .foot, .row, header").evaluate_all(
        "(all) => all.filter((node) => node.scrollWidth > node.clientWidth + 1).map((node) => node.className)"
    )
    assert over == []
    ARTIFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTIFACTS / f"widget-arabic-{width}.png")
    page.evaluate(read_axe())
    found = page.evaluate("axe.run({include: [['octavo-widget']]})")
    assert found["passes"]
    assert [(v["id"], v["nodes"][0]["html"][:120]) for v in found["violations"]] == []
