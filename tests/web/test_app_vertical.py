"""A Japanese book that is set in columns is read in lines, with its readings above the words."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from octavo.library import Library
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.support.answerers import fill_library
from tests.support.browser import BrowserThread, open_page, serve_page
from tests.support.firefox import open_firefox
from tests.support.japanese import SENTENCE, write_japanese

Place = tuple[str, str]
LOOK = """(() => {
  const marks = [...document.querySelectorAll('.leaf mark.cited')];
  if (!marks.length) return null;
  const text = document.querySelector('.leaf .text');
  const [base] = text.querySelectorAll('ruby');
  const [reading] = base.querySelectorAll('rt');
  const words = document.createRange();
  words.setStart(base, 0);
  words.setEndBefore(base.querySelector('rp'));
  return {
    lit: marks.map((mark) => mark.textContent).join(''),
    shown: marks.filter((mark) => mark.getClientRects().length).map((mark) => mark.textContent).join(''),
    mode: getComputedStyle(text).writingMode,
    direction: getComputedStyle(text).direction,
    above: reading.getBoundingClientRect().bottom <= words.getBoundingClientRect().bottom - 4,
    over: Math.abs(reading.getBoundingClientRect().x - words.getBoundingClientRect().x) < 30,
    wide: document.documentElement.scrollWidth <= innerWidth,
    inside: marks.every((mark) => mark.getBoundingClientRect().top >= 0),
  };
})()"""
SEEN = {
    "lit": SENTENCE,
    "shown": SENTENCE.replace("(", "").replace(")", ""),
    "mode": "horizontal-tb",
    "direction": "ltr",
    "above": True,
    "over": True,
    "wide": True,
    "inside": True,
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """The address of the service, and of a citation there."""
    folder = tmp_path_factory.mktemp("shelf")
    data = fill_library(folder / "library", write_japanese(folder / "neko.epub"))
    citation = asyncio.run(locate(data))
    with serve_page(data) as address:
        yield address, citation


async def locate(data: Path) -> str:
    """Return the address of the sentence on the page."""
    async with Library.open(settings=Settings(data=data), embedder=TinyEmbedder()) as library:
        (book,) = await library.books()
        found = [
            (s.id, s.text.index(SENTENCE)) for s in await library.contents(book.id) if SENTENCE in s.text
        ]
    ((section, start),) = found
    return f"/#/books/{quote(book.id)}/sections/{quote(section)}?start={start}&end={start + len(SENTENCE)}"


def test_chromium_lights_a_sentence_with_readings_above_its_words(stage: BrowserThread, place: Place) -> None:
    with open_page(stage, place[0]) as visit:
        page = visit.go(place[1])
        page.locator(".leaf mark.cited").first.wait_for()
        assert page.evaluate(LOOK) == SEEN
        stage.call(visit.assert_clean)


def test_firefox_lights_a_sentence_with_readings_above_its_words(tmp_path: Path, place: Place) -> None:
    with open_firefox(tmp_path) as page:
        page.go("".join(place))
        assert page.until(LOOK) == SEEN
        assert page.errors == []
