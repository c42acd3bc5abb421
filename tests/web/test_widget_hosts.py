"""The widget as a guest: on pages with hostile styles, strict policies, and the ways of publishing tools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Page, expect

from octavo.settings import Settings
from tests.support.browser import BrowserThread, wait_until_true
from tests.support.widget_site import (
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
HOSTILE = """<style>
* { display: none !important; font-size: 1px !important; color: #fff !important; opacity: 0 !important;
    position: static !important; visibility: hidden !important; pointer-events: none !important;
    transform: scale(0) !important; width: 0 !important; letter-spacing: 40px !important; }
html, body, main, main * { display: block !important; opacity: 1 !important; visibility: visible !important;
    transform: none !important; width: auto !important; }
octavo-widget, octavo-widget * { display: none !important; }
html { font-size: 3px !important; }
</style>"""
DOCUSAURUS = """<!doctype html><html lang="en" dir="ltr" class="plugin-docs" data-theme="light"
 data-has-hydrated="false"><head><meta charset="utf-8"><title>Storm | Tides</title><style>
 html[data-theme="dark"] body {{ background: #1b1b1d; color: #e3e3e3 }}</style></head>
<body class="navigation-with-keyboard"><div id="__docusaurus"><nav class="navbar">Tides</nav>
<div class="main-wrapper"><main><article><div class="theme-doc-markdown markdown">{text}</div>
</article></main>
</div></div>{tag}</body></html>"""
MDBOOK = """<!doctype html><html lang="en" class="light sidebar-visible" dir="ltr"><head>
<meta charset="utf-8"><title>Storm</title></head><body>
<div id="body-container"><div id="page-wrapper" class="page-wrapper">
<div class="page"><div id="content" class="content"><main>{text}</main></div></div></div></div>
<script>
window.searched = 0; window.turned = 0;
document.addEventListener("keydown", (e) => {{
  if (e.ctrlKey || e.altKey || e.metaKey || e.shiftKey) return;
  if (e.key === "s" || e.key === "/") window.searched += 1;
  if (e.key === "ArrowRight" || e.key === "ArrowLeft") window.turned += 1;
}});
</script>{tag}</body></html>"""
MATERIAL = """<!doctype html><html lang="en" class="js"><head><meta charset="utf-8"><title>Storm</title>
</head>
<body dir="ltr" data-md-color-scheme="{scheme}" data-md-color-primary="indigo"><div class="md-container">
<main class="md-main"><div class="md-content"><article class="md-content__inner md-typeset">{text}
</article></div></main></div>{tag}</body></html>"""


@dataclass(frozen=True)
class Scene:
    site: Site
    service: str


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("hosts")
    with serve_site() as site:
        fill_library(folder / "library", folder / "book", base_url=site.url)
        with serve_library(Settings(data=folder / "library", origins=(site.url,))) as service:
            yield Scene(site, service)


@pytest.fixture
def page(stage: BrowserThread, scene: Scene) -> Iterator[Page]:
    with open_reader(stage, scene.site, scene.service) as open_widget:
        yield open_widget


def theme(page: Page, wanted: str) -> None:
    expect(find_inside(page, ".root")).to_have_attribute("data-theme", wanted)


def test_hostile_styles_change_nothing(scene: Scene, page: Page) -> None:
    """Every measure is the same as on a page without any styles."""
    sizes = "(all) => all.map((n) => [n.className, n.offsetWidth, n.offsetHeight, getComputedStyle(n).font])"
    measured = []
    for name, head in (("plain", ""), ("hostile", HOSTILE)):
        open_widget(
            page,
            scene.site.put(f"/{name}.html", make_page(STORM_TEXT, make_script_tag(scene.service), head=head)),
        )
        page.evaluate("localStorage.clear()")
        ask_widget(page, "How many boats were lost?")
        expect(find_inside(page, ".said")).to_contain_text(LOST)
        found = find_inside(page, ":is(.panel, .asked, .said p, .cite, .foot, .send, h2)")
        assert found.first.is_visible()
        measured.append(found.evaluate_all(sizes))
        page.evaluate("sessionStorage.clear()")
    assert measured[0] == measured[1]
    assert len(measured[0]) > 6


def test_a_strict_policy_needs_only_the_service_in_two_places(scene: Scene, page: Page) -> None:
    policy = (
        f"default-src 'none'; script-src {scene.service}; connect-src {scene.service}; base-uri 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
    text = STORM_TEXT.replace('<div style="height: 1500px"></div>', "<br>" * 90)
    url = scene.site.put(
        "/storm.html", make_page(text, make_script_tag(scene.service)), content_security_policy=policy
    )
    open_widget(page, url)
    ask_widget(page, "How many boats were lost?")
    expect(find_inside(page, ".launch")).to_be_hidden()
    assert find_inside(page, ".panel").evaluate("(panel) => getComputedStyle(panel).position") == "fixed"
    find_inside(page, ".passages .passage").first.click()
    assert list_highlights(page)


def test_docusaurus_is_followed_into_the_dark_and_over_its_own_navigation(scene: Scene, page: Page) -> None:
    tag = make_script_tag(scene.service)
    open_widget(page, scene.site.put("/docs/storm/", DOCUSAURUS.format(text=STORM_TEXT, tag=tag)))
    theme(page, "light")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    theme(page, "dark")
    ask_widget(page, "How many boats were lost?")
    page.evaluate(
        "history.pushState({}, '', '/docs/count');"
        "document.querySelector('.theme-doc-markdown').innerHTML = '<h1>Count</h1><p>Other words.</p>'"
    )
    page.evaluate(
        "(src) => new Promise((done) => { const s = document.createElement('script'); s.src = src;"
        " s.dataset.book = 'the-tides'; s.onload = done; document.body.append(s); })",
        f"{scene.service}/widget.js",
    )
    assert page.locator("octavo-widget").count() == 1
    expect(find_inside(page, ".turn")).to_have_count(1)


def test_a_page_that_replaces_its_body_keeps_the_widget(scene: Scene, page: Page) -> None:
    open_widget(page, scene.site.put("/turbo.html", make_page(STORM_TEXT, make_script_tag(scene.service))))
    ask_widget(page, "How many boats were lost?")
    page.evaluate("document.documentElement.replaceChild(document.createElement('body'), document.body)")
    expect(page.locator("octavo-widget")).to_have_count(1)
    expect(find_inside(page, ".turn")).to_have_count(1)
    page.evaluate("document.body.className = 'dark'")
    theme(page, "dark")
    page.evaluate("document.querySelector('octavo-widget').remove()")
    expect(find_inside(page, ".panel")).to_be_visible()


def test_mdbook_does_not_hear_what_is_typed(scene: Scene, page: Page) -> None:
    tag = make_script_tag(scene.service)
    open_widget(page, scene.site.put("/storm.html", MDBOOK.format(text=STORM_TEXT, tag=tag)))
    page.keyboard.press("s")
    assert page.evaluate("window.searched") == 1, "the page's own keys work"
    page.keyboard.press("Control+i")
    expect(find_inside(page, ".composer textarea")).to_be_focused()
    page.keyboard.type("boats/lost")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("[window.searched, window.turned]") == [1, 0]
    page.keyboard.press("Control+i")
    expect(find_inside(page, ".panel")).to_be_hidden()


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("light", "dark", "document.documentElement.classList.replace('light', 'coal')"),
        ("light", "dark", "document.documentElement.classList.replace('light', 'ayu')"),
        ("light", "light", "document.documentElement.classList.replace('light', 'rust')"),
    ],
)
def test_mdbooks_themes_are_known(scene: Scene, page: Page, before: str, after: str, change: str) -> None:
    open_widget(
        page, scene.site.put("/storm.html", MDBOOK.format(text="", tag=make_script_tag(scene.service)))
    )
    theme(page, before)
    page.evaluate(change)
    theme(page, after)


def test_mkdocs_material_is_followed(scene: Scene, page: Page) -> None:
    tag = make_script_tag(scene.service)
    open_widget(page, scene.site.put("/storm/", MATERIAL.format(text=STORM_TEXT, tag=tag, scheme="slate")))
    theme(page, "dark")
    page.evaluate("document.body.setAttribute('data-md-color-scheme', 'default')")
    theme(page, "light")


def test_a_page_that_says_nothing_is_judged_by_its_background_and_then_by_the_system(
    scene: Scene, page: Page
) -> None:
    open_widget(page, scene.site.put("/bare.html", make_page("", make_script_tag(scene.service))))
    theme(page, "light")
    page.emulate_media(color_scheme="dark")
    theme(page, "dark")
    page.evaluate("document.body.style.background = '#fff'")
    theme(page, "light")
    page.evaluate("document.body.style.background = 'rgb(20, 20, 30)'")
    page.emulate_media(color_scheme="light")
    theme(page, "dark")


def test_every_word_can_be_replaced_for_a_page_or_for_a_language(scene: Scene, page: Page) -> None:
    words = '{"de": {"title": "Frag das Buch", "send": "Fragen"}, "button": "Frage"}'
    open_widget(
        page,
        scene.site.put(
            "/de.html", make_page("", make_script_tag(scene.service, strings=words, lang="de-AT"))
        ),
    )
    expect(find_inside(page, ".launch span")).to_have_text("Frage")
    find_inside(page, ".launch").click()
    expect(find_inside(page, "h2")).to_have_text("Frag das Buch")
    expect(find_inside(page, ".send")).to_have_attribute("aria-label", "Fragen")
    own = '<script>window.OctavoStrings = {placeholder: "Pose ta question"}</script>'
    open_widget(page, scene.site.put("/fr.html", make_page("", own + make_script_tag(scene.service))))
    page.keyboard.press("Control+i")
    expect(find_inside(page, ".composer textarea")).to_have_attribute("placeholder", "Pose ta question")
    expect(find_inside(page, "h2")).to_have_text("Ask this book")


def test_options_place_title_and_open_the_panel(scene: Scene, page: Page) -> None:
    tag = make_script_tag(
        scene.service, position="left", open="", title="Ask the Tides", theme="dark", over=""
    )
    open_widget(page, scene.site.put("/options.html", make_page(STORM_TEXT, tag)))
    expect(find_inside(page, "h2")).to_have_text("Ask the Tides")
    box = find_inside(page, ".panel").bounding_box()
    assert box
    assert box["x"] == 0
    theme(page, "dark")
    assert page.evaluate("getComputedStyle(document.documentElement).marginLeft") == "0px"
    assert page.evaluate("document.activeElement === document.body"), "opening by itself takes no focus"


def test_a_page_can_open_close_ask_and_listen(scene: Scene, page: Page) -> None:
    open_widget(page, scene.site.put("/api.html", make_page(STORM_TEXT, make_script_tag(scene.service))))
    page.evaluate(
        "window.told = []; for (const name of ['open', 'asked', 'answered', 'refused', 'close'])"
        " window.Octavo.on(name, (detail) => told.push([name, detail?.question || ''])); void 0"
    )
    page.evaluate("window.Octavo.ask('How many boats were lost?')")
    expect(find_inside(page, ".said")).to_contain_text(LOST)
    wait_until_true(
        page, "told.some(([name]) => name === 'answered')"
    )  # its words are there before the last event
    page.evaluate("window.Octavo.close()")
    expect(find_inside(page, ".panel")).to_be_hidden()
    question = "How many boats were lost?"
    assert page.evaluate("told") == [["open", ""], ["asked", question], ["answered", question], ["close", ""]]
