"""A real browser for tests: Debian's Chromium, one for each worker, on a thread of its own.

Playwright's synchronous side needs a thread without a running event loop, and leaves one behind that would
upset the asynchronous tests of the same worker; so everything that touches the browser happens on the stage's
thread, and `staging` runs the tests there that ask for it. A `Visit` is one window: it keeps every request to
another host, every script error, every dialog and every breach of the page's policy; `assert_clean` looks.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

import uvicorn
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Dialog,
    Page,
    Playwright,
    Request,
    TimeoutError,
    expect,
    sync_playwright,
)

from octavo.answers.replies import Answerer
from octavo.protocols import Embedder
from octavo.server.app import make_app
from octavo.settings import Settings
from octavo.testing import TinyEmbedder

ARTIFACTS = Path(__file__).parent.parent.parent / ".artifacts"
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
WATCH = """
window.__breaches = [];
addEventListener("securitypolicyviolation",
  (e) => window.__breaches.push(e.violatedDirective + " " + e.blockedURI));
"""
MARKED = "[...document.querySelectorAll('mark.cited')].map((m) => m.textContent).join('')"
PATIENCE = 60_000  # milliseconds: a machine that does other things as well is slow, not broken
SELECT_WORDS = """(words) => {
  const walk = document.createTreeWalker(document.querySelector(".leaf"), NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode());) {
    const at = node.data.indexOf(words);
    if (at < 0) continue;
    const range = document.createRange();
    range.setStart(node, at);
    range.setEnd(node, at + words.length);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  }
}"""
"""A script that selects words of the chapter that is shown."""
T = TypeVar("T")
expect.set_options(timeout=PATIENCE)


def find_chromium() -> str:
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise RuntimeError(
            "These tests need a browser and found none: install Debian's (apt install chromium)."
        )
    return found


class BrowserThread:
    """One thread and one browser on it."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="browser")
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None

    def call(self, act: Callable[[], T]) -> T:
        """Does something on the browser's thread and waits for it."""
        if threading.current_thread().name.startswith("browser"):
            return act()
        return self._thread.submit(act).result()

    @property
    def browser(self) -> Browser:
        if self._browser is None:
            self._playwright = sync_playwright().start()
            # No name but this machine's own can be looked up: nothing a page tries can leave.
            rules = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
            options = ["--no-sandbox", "--disable-dev-shm-usage", rules]
            self._browser = self._playwright.chromium.launch(executable_path=find_chromium(), args=options)
        return self._browser

    def close(self) -> None:
        self.call(self._close)
        self._thread.shutdown()

    def _close(self) -> None:
        if self._browser and self._playwright:
            self._browser.close()
            self._playwright.stop()


@dataclass
class PageVisit:
    """A window of the browser and all that went wrong in it."""

    page: Page
    base: str
    foreign: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    """The bodies of the questions that went out."""

    def __post_init__(self) -> None:
        self.page.on("request", self._request)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda said: self._console(said.type, said.text))
        self.page.on("dialog", self._dialog)

    def _request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in ("data", "blob", "about") and address.netloc != urlsplit(self.base).netloc:
            self.foreign.append(request.url)
        if request.method == "POST" and address.path == "/v1/ask":
            self.asked.append(json.loads(request.post_data or "{}"))

    def _dialog(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _console(self, kind: str, text: str) -> None:
        if kind == "error" and not text.startswith("Failed to load resource"):
            self.errors.append(text)

    def go(self, path: str = "/") -> Page:
        self.page.goto(self.base + path)
        return self.page

    def breaches(self) -> list[str]:
        found: list[str] = self.page.evaluate("window.__breaches || []")
        return found

    def assert_clean(self) -> None:
        """No script error, no dialog, no breach of the policy, and nothing asked of another host."""
        assert self.errors == []
        assert self.dialogs == []
        assert self.breaches() == []
        assert self.foreign == []

    def ask(self, question: str) -> None:
        """Asks, and waits until the answer is there, whole, and the next question can be asked."""
        before = self.page.locator(".turn").count()
        self.page.fill("#question", question)
        self.page.press("#question", "Enter")
        self.page.locator(".turn").nth(before).locator(".tools-row, .problem").first.wait_for()
        self.page.locator(".ask:not(.stop)").wait_for(state="attached")

    def until(self, expression: str) -> None:
        """Waits until something is true in the page."""
        wait_until_true(self.page, expression)

    def cited(self) -> str:
        """The words that are marked in the reader, exactly."""
        self.page.wait_for_selector("mark.cited")
        text: str = self.page.evaluate(MARKED)
        return text

    def wait_for_cited(self, text: str) -> None:
        """Waits until exactly this is marked; fails with what is marked instead."""
        with suppress(TimeoutError):
            self.page.wait_for_function(f"(text) => {MARKED} === text", arg=text, timeout=PATIENCE)
        assert self.cited() == text

    def shot(self, name: str) -> None:
        ARTIFACTS.mkdir(exist_ok=True)
        self.page.screenshot(path=ARTIFACTS / f"{name}.png")

    def axe(self, *rules: str) -> list[str]:
        """What axe-core finds wrong with the page now, by all rules or by those named, worst first."""
        if not self.page.evaluate("typeof window.axe === 'object'"):
            self.page.evaluate(read_axe())
        options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
        found = self.page.evaluate("(options) => axe.run(document, options)", options)
        worst = ("critical", "serious", "moderate", "minor")
        wrong = sorted(found["violations"], key=lambda v: worst.index(v["impact"]))
        return [f"{v['impact']}: {v['id']} {[n['target'] for n in v['nodes']][:3]}" for v in wrong]


def wait_until_true(page: Page, expression: str, argument: object = None) -> None:
    """Waits until something is true in the page: an expression, or a function of the argument."""
    page.wait_for_function(expression, arg=argument, timeout=PATIENCE)


def read_axe() -> str:
    spec = importlib.util.find_spec("axe_playwright_python")
    if spec is None or spec.origin is None:
        raise RuntimeError("axe-core is missing: pip install axe-playwright-python (a test dependency).")
    return (Path(spec.origin).parent / "axe.min.js").read_text(encoding="utf-8")


@contextmanager
def open_page(
    stage: BrowserThread,
    base: str,
    *,
    width: int = 1280,
    height: int = 860,
    scheme: Literal["light", "dark"] = "light",
    still: bool = True,
    permissions: tuple[str, ...] = (),
    origin_headers: Mapping[str, str] | None = None,
) -> Iterator[PageVisit]:
    """A fresh window with its own storage; `still` asks for reduced motion."""

    def opened() -> tuple[BrowserContext, PageVisit]:
        context = stage.browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            reduced_motion="reduce" if still else "no-preference",
            permissions=list(permissions),
            extra_http_headers=dict(origin_headers or {}),
        )
        context.set_default_timeout(PATIENCE)
        context.add_init_script(WATCH)
        return context, PageVisit(context.new_page(), base)

    context, visit = stage.call(opened)
    try:
        yield visit
    finally:
        stage.call(context.close)


@contextmanager
def serve_page(
    data: Path,
    *,
    answerer: Answerer | None = None,
    embedder: Embedder | None = None,
    real: bool = False,
    keys_required: bool | None = None,
) -> Iterator[str]:
    """A real server of the library in `data`; `real` means the embedder that comes with Octavo."""
    settings = Settings(data=data, keys_required=keys_required)
    tiny = None if real else embedder or TinyEmbedder()
    app = make_app(settings, embedder=tiny, answerer=answerer)
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_level="critical", timeout_graceful_shutdown=1, lifespan="on"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE / 1000)
