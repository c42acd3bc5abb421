"""Addresses that lead to the very words: what a citation's link is made of.

A page on the web gets its heading's anchor and a text fragment that names the quotation, lengthened until
nothing else on the page fits it. A PDF gets the page. Everything else gets a stable `book://` address with
the offsets, which Octavo itself can open.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote, urldefrag

from octavo.types import Book, BookFormat, Chunk

_WORD = re.compile(r"\S+")
_AT_EACH_END = 4
_LONGEST_WHOLE = 80


def link(book: Book, chunk: Chunk, start: int, end: int, *, page_text: str) -> str:
    """The address of `page_text`'s words from `start` to `end` of the chunk's section.

    `page_text` is everything on the same page as the chunk, to tell whether a fragment is unique there.
    """
    snippet = chunk.content[start - chunk.start : end - chunk.start]
    if chunk.url.startswith("book:"):
        if book.format is BookFormat.PDF and chunk.page_number:
            return f"{chunk.url}#page={chunk.page_number}"
        return f"{chunk.url}#char={start},{end}"
    if book.format is BookFormat.PDF and chunk.page_number:
        return f"{urldefrag(chunk.url).url}#page={chunk.page_number}"
    before = chunk.content[: start - chunk.start]
    address, anchor = urldefrag(chunk.url)
    return f"{address}#{anchor}:~:{text_fragment(snippet, before=before, page_text=page_text)}"


def text_fragment(snippet: str, *, before: str, page_text: str) -> str:
    """`text=…` that names `snippet` and, as far as its surroundings allow, nothing else in `page_text`."""
    words = _WORD.findall(snippet)
    whole = " ".join(words)
    page = " ".join(page_text.split())
    if len(whole) <= _LONGEST_WHOLE or len(words) <= 2 * _AT_EACH_END:
        named, first = _part(whole), whole
    else:
        first = " ".join(words[:_AT_EACH_END])
        named = f"{_part(first)},{_part(' '.join(words[-_AT_EACH_END:]))}"
    lead = _WORD.findall(before)
    if page.count(first) > 1 and lead:
        return f"text={_part(_prefix(lead, first, page))}-,{named}"
    return f"text={named}"


def _prefix(lead: Sequence[str], first: str, page: str) -> str:
    """As many of the words before as it takes to tell this place from the others."""
    for length in range(1, min(8, len(lead)) + 1):
        prefix = " ".join(lead[-length:])
        if page.count(f"{prefix} {first}") <= 1:
            break
    return prefix


def _part(text: str) -> str:
    """Percent-encoded for a text directive, where comma, dash and ampersand mean something."""
    return quote(text, safe="").replace("-", "%2D")
