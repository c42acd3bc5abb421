"""What OCR has read on a page of a PDF that has no text of its own: lines of words, each with its box.

A box has shares of the page's width and height, from the top left corner of the page as it is seen. The text
of a page is its words with a blank between them and a line end after each line; `PrintedLine.first` counts
its characters. The parser's process gets these pages with its request and treats them as PDFium's own text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

MOST_WORDS = 20_000
"""Most words that a page may have: no printed page has so many."""


class ScannedWord(NamedTuple):
    text: str
    left: float
    top: float
    right: float
    bottom: float


class ScannedLine(NamedTuple):
    """A line: where its letters stand and how large they are, in shares of the page's height."""

    base: float
    size: float
    words: tuple[ScannedWord, ...]

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)


class ScannedPage(NamedTuple):
    """A page: how sure its words are, from 0 to 1, on average, and its lines in reading order."""

    confidence: float
    lines: tuple[ScannedLine, ...]

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)


ScannedPages = Mapping[int, ScannedPage]
"""The pages that OCR has read, by their number, which counts from 1."""


def write_scanned_page(page: ScannedPage) -> bytes:
    return json.dumps(page, ensure_ascii=False, separators=(",", ":")).encode()


def read_scanned_page(raw: bytes | str | Sequence[Any]) -> ScannedPage:
    """Read a page from JSON, or from what JSON was read to. Raise `ValueError` unless it is one."""
    try:
        page: Any = json.loads(raw) if isinstance(raw, bytes | str) else raw
        confidence, lines = page
        return ScannedPage(_check(confidence), tuple(_read_line(*line) for line in lines))
    except (TypeError, AttributeError) as error:
        raise ValueError("not a scanned page") from error


def _read_line(base: Any, size: Any, words: Any) -> ScannedLine:
    return ScannedLine(_check(base), _check(size), tuple(_read_word(*word) for word in words))


def _read_word(text: Any, *box: Any) -> ScannedWord:
    left, top, right, bottom = map(_check, box)
    if not isinstance(text, str) or not text or text.split() != [text]:
        raise ValueError("not a word")
    return ScannedWord(text, left, top, right, bottom)


def _check(share: Any) -> float:
    if not isinstance(share, int | float) or not math.isfinite(share) or not 0 <= share <= 1:
        raise ValueError("not a share of a page")
    return float(share)
