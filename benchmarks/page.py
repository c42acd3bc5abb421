"""How long a reader waits for the first sign of life: from the key press to the first event on the page.

    python -m benchmarks.page [BOOK] [--times 30]

A real server with BOOK (the documentation by default), a real browser. The same question is asked in turns:
with the Enter key on the page, until the first step is drawn, and by a bare HTTP client, until the first
event is read. The ratio is what the page itself adds. Wall times, so it wants a quiet machine.
"""

from __future__ import annotations

import argparse
import http.client
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

DOCS = Path(__file__).parent.parent / "docs"
QUESTION = "What is a refusal, and when does the book not say?"
WATCH = """() => {
  const press = (e) => { if (e.key === "Enter") { window.pressed = performance.now(); window.seen = 0; } };
  addEventListener("keydown", press, true);
  new MutationObserver(() => {
    if (!window.seen && document.querySelector(".turn:last-child .steps li")) window.seen = performance.now();
  }).observe(document.querySelector(".talk"), { childList: true, subtree: true });
}"""


@contextmanager
def serve_book(book: Path, port: int) -> Iterator[None]:
    octavo = [sys.executable, "-m", "octavo.cli"]
    with tempfile.TemporaryDirectory(prefix="octavo-page-") as data:
        subprocess.run([*octavo, "--data", data, "add", str(book)], check=True, capture_output=True)
        server = subprocess.Popen(
            [*octavo, "--data", data, "serve", "--port", str(port)], stderr=subprocess.DEVNULL
        )
        try:
            while not is_up(port):
                time.sleep(0.1)
            yield
        finally:
            server.terminate()
            server.wait(20)


def is_up(port: int) -> bool:
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False


def time_client(port: int) -> float:
    """Milliseconds until a bare client has read the first event; it then reads on to the end."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.connect()
    body = json.dumps({"question": QUESTION, "session_id": "bare-client"})
    headers = {"content-type": "application/json", "accept": "text/event-stream"}
    began = time.perf_counter()
    connection.request("POST", "/v1/ask", body, headers)
    response = connection.getresponse()
    while response.readline().strip():
        pass
    waited = time.perf_counter() - began
    response.read()
    connection.close()
    return waited * 1000


def time_page(page: Page) -> float:
    page.fill("#question", QUESTION)
    page.press("#question", "Enter")
    page.locator(".turn").last.locator(".tools-row").wait_for()
    waited: float = page.evaluate("window.seen - window.pressed")
    return waited


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("book", type=Path, nargs="?", default=DOCS)
    options.add_argument("--times", type=int, default=30)
    options.add_argument("--port", type=int, default=8149)
    said = options.parse_args()
    with serve_book(said.book, said.port), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{said.port}/")
        page.locator(".book").first.wait_for()
        page.evaluate(WATCH)
        time_page(page)
        time_client(said.port)
        pairs = [(time_page(page), time_client(said.port)) for _ in range(said.times)]
        browser.close()
    on_page, bare = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = statistics.median(there / here for there, here in pairs)
    print("| key press to first event, p50 | the API's own, p50 | ratio, p50 |\n|---|---|---|")
    print(f"| {on_page:.1f} ms | {bare:.1f} ms | {ratio:.2f} |")


if __name__ == "__main__":
    main()
