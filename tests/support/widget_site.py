"""A book's site on one port, Octavo on another, and a real browser between them.

The site's pages say what the book says, but as publishing tools set it: wrapped in elements, with other
quotes, dashes and line breaks. It can also play the service, saying whatever a test wants to hear.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

import uvicorn
from playwright.sync_api import Locator, Page, expect

from octavo.answers.replies import Answerer, Reply
from octavo.library import Library
from octavo.server.app import make_app
from octavo.server.routes.widget import ENTRY, WEB, bundle
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.verification.claims import Sentence
from tests.support.answerers import AllSentencesAnswerer
from tests.support.browser import BrowserThread, open_page

STORM = """# Storm

## The northern pier

A storm broke the *northern pier* and the boats in a single night -- "like a match", the keeper said. Seven
**boats** were lost with all their nets.

## The count

- Two boats came from Skerry.
- Five boats were never named.
"""
MORNING = """# Morning

## Bells

In the morning the gulls came back. Nobody spoke of the boats until the bells had rung.
"""
BOOK = {"storm.md": STORM, "morning.md": MORNING}
STORM_TEXT = """<h1 id="storm">Storm</h1>
<h2 id="the-northern-pier">The northern pier<a class="hash-link" href="#the-northern-pier">\u200b</a></h2>
<p>A storm broke the <em>northern
   pier</em> and the boats in a single night – “like a <span>match</span>”, the keeper said. Seven
<strong>boats</strong> were lost with all&nbsp;their nets.</p>
<h2 id="the-count">The count</h2>
<ul><li>Two boats came from Skerry.</li><li>Five boats were never named.</li></ul>
<div style="height: 1500px"></div>"""
MORNING_TEXT = """<h1 id="morning">Morning</h1><div style="height: 1500px"></div><h2 id="bells">Bells</h2>
<p>In the morning the gulls came back. Nobody spoke of the <i>boats</i> until the bells had rung.</p>"""


class QuotingAnswerer:
    """Quotes what has "boats" in it; waits when told to; knows nothing of the moon."""

    name = "librarian"

    async def reply(self, question: str, given: Sequence[Sentence]) -> Reply:
        if "wait" in question:
            await asyncio.sleep(3_600)
        if "moon" in question:
            return Reply((), 0.0, 0.0)
        return await AllSentencesAnswerer("boats").reply(question, given)


@dataclass(frozen=True)
class HeardRequest:
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class CannedResponse:
    body: str
    type: str = "text/html; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 200


@dataclass
class Site:
    """Pages by their path. `heard` is every request there was."""

    pages: dict[str, CannedResponse | Callable[[HeardRequest], CannedResponse]] = field(default_factory=dict)
    heard: list[HeardRequest] = field(default_factory=list)
    url: str = ""

    def put(self, path: str, body: str, **headers: str) -> str:
        self.pages[path] = CannedResponse(body, headers=headers)
        return self.url + path

    def play(self, *events: tuple[str, object], path: str = "/v1/ask") -> None:
        """Plays the service: the next questions get these events."""
        said = "".join(f"event: {kind}\ndata: {json.dumps(data)}\n\n" for kind, data in events)
        self.pages[path] = CannedResponse(said, "text/event-stream")

    def asked(self, path: str) -> list[HeardRequest]:
        return [heard for heard in self.heard if heard.path == path]


@contextmanager
def serve_site() -> Iterator[Site]:
    site = Site()

    class Front(BaseHTTPRequestHandler):
        def respond(self) -> None:
            held = self.rfile.read(int(self.headers.get("content-length") or 0))
            heard = HeardRequest(
                self.command, self.path.split("?")[0], dict(self.headers), json.loads(held or b"null")
            )
            site.heard.append(heard)
            found = site.pages.get(heard.path, CannedResponse("no", status=404))
            said = found(heard) if callable(found) else found
            self.send_response(said.status)
            for name, value in {"content-type": said.type, **said.headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(said.body.encode())

        do_GET = do_POST = respond  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Front)
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    site.pages["/widget.js"] = CannedResponse(bundle(WEB, ENTRY), "text/javascript")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def fill_library(data: Path, folder: Path, *, base_url: str, pages: Mapping[str, str] = BOOK) -> None:
    """A library with the book that the site shows."""
    folder.mkdir()
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")

    async def add() -> None:
        async with Library.open(settings=Settings(data=data), embedder=TinyEmbedder()) as library:
            await library.add(folder, title="The Tides", base_url=base_url)

    asyncio.run(add())


@contextmanager
def serve_library(settings: Settings, *, answerer: Answerer | None = None) -> Iterator[str]:
    app = make_app(settings, embedder=TinyEmbedder(), answerer=answerer or QuotingAnswerer())
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(60)


@contextmanager
def open_reader(
    stage: BrowserThread,
    site: Site,
    *friends: str,
    scheme: Literal["light", "dark"] = "light",
    width: int = 1280,
    height: int = 720,
    refused: bool = False,
) -> Iterator[Page]:
    """A fresh reader of the site. Nothing may fail, breach a policy, or be asked of anyone but `friends`.

    `refused`, the browser may say that a service does not let a page of this origin read what it says.
    """
    clipboard = ("clipboard-read", "clipboard-write")
    open_widget = open_page(stage, site.url, scheme=scheme, width=width, height=height, permissions=clipboard)
    with open_widget as visit:
        yield visit.page
        visit.foreign = [address for address in visit.foreign if not address.startswith(friends)]
        if refused:
            visit.errors = [said for said in visit.errors if not said.startswith("Access to fetch")]
        stage.call(visit.assert_clean)


def find_inside(page: Page, selector: str) -> Locator:
    """Something of the widget."""
    return page.locator(f"octavo-widget {selector}")


def open_widget(page: Page, url: str) -> Page:
    page.goto(url)
    find_inside(page, ".launch").wait_for(state="attached")
    return page


def make_script_tag(server: str, **attributes: str) -> str:
    """The one line that a site adds."""
    given = "".join(f" data-{name}='{value}'" for name, value in attributes.items())
    return f'<script src="{server}/widget.js" data-book="the-tides"{given}></script>'


def make_page(text: str, tag: str, *, head: str = "", html: str = "", lang: str = "en") -> str:
    top = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Tides</title>'
    body = f"<body><main>{text}</main>{tag}</body>"
    return f'<!doctype html><html lang="{lang}" {html}><head>{top}{head}</head>{body}</html>'


LIT = "[...(CSS.highlights.get('octavo-quote') || [])].map((range) => range.toString())"


def list_highlights(page: Page) -> list[str]:
    """The words that are lit up in the page, white space as one space."""
    page.wait_for_function(f"{LIT}.length > 0")
    return [" ".join(str(words).split()) for words in page.evaluate(LIT)]


def ask_widget(page: Page, question: str, *, done: bool = True) -> Locator:
    """Asks, and waits for the answer unless `done` is false; returns the turn."""
    if not find_inside(page, ".panel").is_visible():
        find_inside(page, ".launch").click()
    turn = find_inside(page, f".turn >> nth={find_inside(page, '.turn').count()}")
    find_inside(page, ".composer textarea").fill(question)
    find_inside(page, ".composer textarea").press("Enter")
    turn.wait_for()
    if done:
        expect(turn).to_have_class("turn done")
    return turn
