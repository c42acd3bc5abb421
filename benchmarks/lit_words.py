"""Open random citations on the page, and count those that light exactly their words.

    python -m benchmarks.lit_words BOOK … [--count 1000] [--seed 1] [--text]

A library with the books is served to a real browser. A citation is a sentence, or two in a row, anywhere in a
book. It counts when what is marked is the cited text, character by character, and some of it can be seen on
the screen. A PDF opens at its printed page, where the box must stand for the cited text and be on the screen
(`benchmarks.pdf_boxes` measures what is in the box); with `--text` it opens as text like the others. The last
line is how long the first chapter of the first book takes in a fresh window, from its address to its text on
the screen: by the clock, which wants a quiet machine, and the CPU time of the page's own thread in it, which
does not.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import uvicorn
from playwright.sync_api import Browser, Page, TimeoutError, sync_playwright

from octavo.library import Library
from octavo.server.app import make_app
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.text.blocks import list_section_blocks
from octavo.text.sentences import split_sentences
from octavo.types import Section

WINDOWS = 7
LIT = """(text) => {
  const isSeen = ({ height, bottom, top }) => height > 0 && bottom > 0 && top < innerHeight;
  const boxes = [...document.querySelectorAll(".leaf .page-box")];
  if (boxes.length)
    return boxes[0].textContent === text && boxes.some((box) => isSeen(box.getBoundingClientRect()));
  const marks = [...document.querySelectorAll(".leaf mark.cited")];
  if (marks.map((mark) => mark.textContent).join("") !== text) return false;
  const drawn = document.querySelectorAll(".leaf mark.cited, .leaf .formula.cited, .leaf .picture.cited");
  return [...drawn].some((mark) => !mark.closest(".unseen") && isSeen(mark.getBoundingClientRect()));
}"""
PAINTED = (
    "() => document.querySelector('.leaf .text p, .sheet-image[src]')?.getBoundingClientRect().height > 0"
)


async def add_books(data: Path, books: Sequence[Path]) -> list[list[Section]]:
    """Add the books and return their sections, book by book."""
    async with Library.open(settings=Settings(data=data), embedder=TinyEmbedder()) as library:
        return [await library.contents((await library.add(book)).id) for book in books]


@contextmanager
def serve(data: Path) -> Iterator[str]:
    app = make_app(Settings(data=data), embedder=TinyEmbedder())
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def choose(sections: Sequence[Section], chance: random.Random) -> tuple[str, str]:
    """Choose a citation: its address on the page, and its words."""
    section = chance.choices(sections, [len(section.text) for section in sections])[0]
    spans = split_sentences(section.text, blocks=list_section_blocks(section))
    first = chance.randrange(len(spans))
    last = min(len(spans) - 1, first + chance.randint(0, 1))
    start, end = spans[first].start, spans[last].end
    place = f"#/books/{quote(section.book_id, safe='')}/sections/{quote(section.id, safe='')}"
    return f"{place}?start={start}&end={end}", section.text[start:end]


def is_lit(page: Page, address: str, words: str) -> bool:
    page.evaluate("(to) => { location.hash = to; }", address)
    try:
        page.wait_for_function(LIT, arg=words, timeout=60_000)
    except TimeoutError:
        print(f"not lit: {address} {words[:80]!r}")
        return False
    return True


def time_first_paint(browser: Browser, address: str) -> tuple[float, float]:
    """Seconds until a chapter is on the screen of a fresh window, and CPU seconds of the page's thread."""
    context = browser.new_context()
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    began = time.perf_counter()
    page.goto(address)
    page.wait_for_function(PAINTED, polling=10)
    waited = time.perf_counter() - began
    metrics = session.send("Performance.getMetrics")["metrics"]
    used = next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")
    context.close()
    return waited, used


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("books", type=Path, nargs="+")
    options.add_argument("--count", type=int, default=1000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--text", action="store_true", help="open PDFs as text")
    said = options.parse_args()
    chance = random.Random(said.seed)
    with tempfile.TemporaryDirectory(prefix="octavo-lit-") as folder:
        shelves = asyncio.run(add_books(Path(folder), said.books))
        shelves = [[section for section in sections if section.text.strip()] for sections in shelves]
        with serve(Path(folder)) as base, sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page()
            if said.text:
                page.add_init_script("localStorage.setItem('octavo.view', 'text')")
            page.goto(f"{base}/")
            page.locator(".book").first.wait_for()
            print("| book | lit exactly |\n|---|---|")
            total = 0
            for number, (book, sections) in enumerate(zip(said.books, shelves, strict=True)):
                wanted = said.count // len(shelves) + (number < said.count % len(shelves))
                lit = sum(is_lit(page, *choose(sections, chance)) for _ in range(wanted))
                total += lit
                print(f"| {book.name} | {lit} of {wanted} |", flush=True)
            first = f"{base}/#/books/{shelves[0][0].book_id}"
            waited = [time_first_paint(browser, first) for _ in range(WINDOWS)]
            browser.close()
    print(f"| all | {total} of {said.count} |")
    seconds, used = (statistics.median(values) for values in zip(*waited, strict=True))
    print(
        f"first chapter of {said.books[0].name} on the screen: {seconds:.2f} s, {used:.2f} CPU-s of the page"
    )


if __name__ == "__main__":
    main()
