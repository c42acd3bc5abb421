"""Plain text: a book as it was typed.

The title and author are taken from where the file states them, the licence that Project Gutenberg wraps
around a book is taken off, chapters are found where the text sets headings, and lines that were wrapped at
a width are joined to paragraphs. A text without headings is one section.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers.chapters import nest
from octavo.readers.mdtext import Piece
from octavo.readers.parsed import ParsedBook, ParsedSection
from octavo.readers.plain_headings import Found, find
from octavo.readers.plain_layout import blocks, flow, width
from octavo.readers.tree import bound, heading, load, title_of
from octavo.text import clean, decode
from octavo.types import BookFormat, Span

_START = re.compile(
    r"^[ \t]*\*{3}[ \t]*START OF (?:THE|THIS) PROJECT GUTENBERG.*?\*{3}[^\n]*$", re.M | re.I | re.S
)
_END = re.compile(r"^[ \t]*(?:\*{3}[ \t]*)?END OF (?:THE |THIS )?PROJECT GUTENBERG[^\n]*$", re.M | re.I)
_FIELD = re.compile(r"^(Title|Author|Authors|Language|By)\s*:\s*(\S.*)$", re.I)
_BY = re.compile(r"^by\s+(\S.{2,80})$", re.I)
_LANGUAGES = {
    "english": "en",
    "french": "fr",
    "german": "de",
    "spanish": "es",
    "italian": "it",
    "dutch": "nl",
}
_HEAD = 4_000
_PAGE_END = re.compile(
    r"(?<!\n)\n*^\S[^\n]*\[Page \d{1,4}\][ \t]*$\n*(?:^(?:RFC \d+|Internet-Draft) [^\n]*\d{4}[ \t]*$\n*)?",
    re.M,
)


@dataclass(frozen=True, slots=True)
class _TitlePage:
    title: str = ""
    authors: tuple[str, ...] = ()
    language: str = ""


def read(path: Path, limits: Limits) -> ParsedBook:
    data = load(path, limits)
    if not data:
        raise BadBook("empty_file", f"{path.name} has no bytes")
    decoded = decode(data)
    text = clean(decoded.text).expandtabs(8)
    stated, text = _title_page(_without_page_ends(text))
    parts = blocks(text)
    if not parts:
        raise BadBook("no_text", f"{path.name} holds no text")
    found = find(parts)
    stated, first = _opening(parts, found, stated)
    title = stated.title or title_of(path.stem)
    return ParsedBook(
        title=title,
        format=BookFormat.TEXT,
        sections=bound(_sections(parts, found, first, title, path.name), limits, name=path.name),
        authors=stated.authors,
        language=stated.language,
        warnings=tuple(f"{path.name}: {w}" for w in decoded.warnings),
    )


def _without_page_ends(text: str) -> str:
    """A memo set in pages without the lines that end and begin them; sentences go on over a page."""

    def joint(found: re.Match[str]) -> str:
        goes_on = text[found.end() : found.end() + 40].lstrip()[:1].islower()
        return "\n" if goes_on and text[found.start() - 1 : found.start()] not in ".:!?" else "\n\n"

    return _PAGE_END.sub(joint, text) if text.count("[Page ") > 1 else text


def _title_page(text: str) -> tuple[_TitlePage, str]:
    """What the head of the file states, and the text without the licence around it."""
    start = _START.search(text[: 8 * _HEAD])
    head = text[: start.start()] if start else text[:_HEAD].split("\n\n")[0]
    fields: dict[str, str] = {}
    lines = head.split("\n")
    for number, line in enumerate(lines):
        if field := _FIELD.match(line):
            more = [
                b.strip() for b in lines[number + 1 : number + 2] if b.startswith("    ") and ":" not in b
            ]
            fields.setdefault(field.group(1).lower(), heading(" ".join([field.group(2), *more])))
    if start:
        end = _END.search(text, start.end())
        text = text[start.end() : end.start() if end else len(text)]
    elif "title" in fields and all(_FIELD.match(line) or re.match(r"^[\w -]{2,20}:", line) for line in lines):
        text = text[len(head) :]
    else:
        fields = {key: value for key, value in fields.items() if key == "title"} if "title" in fields else {}
    author = fields.get("author") or fields.get("authors") or fields.get("by", "")
    authors = tuple(a for part in re.split(r"\s*;\s*|\s+and\s+", author) if (a := heading(part)))
    language = fields.get("language", "").lower()
    return _TitlePage(fields.get("title", ""), authors, _LANGUAGES.get(language, language[:2])), text


def _opening(parts: list[list[str]], found: dict[int, Found], stated: _TitlePage) -> tuple[_TitlePage, int]:
    """The title and author that the first lines show; the number of blocks that were only that."""
    head = found.get(0)
    title, taken = stated.title, 0
    line = heading(parts[0][0])
    if head and head.kind == "underlined" and len(found) > 1:
        title, taken = title or head.title, 0 if head.rest else 1
        found.pop(0)
        parts[0] = list(head.rest)
    elif len(parts[0]) == 1 and len(line) <= 100 and (not head or head.kind == "capitals"):
        shown = line.isupper() or (len(parts) > 1 and len(parts[1]) == 1 and bool(_BY.match(parts[1][0])))
        if shown or line.casefold() == title.casefold():
            title, taken = title or line.rstrip("."), 1
            found.pop(0, None)
    authors = stated.authors
    by = (
        _BY.match(heading(parts[taken][0]))
        if taken and taken < len(parts) and len(parts[taken]) == 1
        else None
    )
    if by:
        authors = authors or (heading(by.group(1)),)
        taken += 1
    return _TitlePage(title, authors, stated.language), taken


def _sections(
    parts: list[list[str]], found: dict[int, Found], first: int, title: str, name: str
) -> list[ParsedSection]:
    wrapped = width(parts)
    pieces = [_Draft(0, title)]
    number = first
    while number < len(parts):
        lines: list[str] | tuple[str, ...] = parts[number]
        head = found.get(number)
        number += head.takes if head else 1
        if head:
            pieces.append(_Draft(head.rank, head.title))
            lines = head.rest
        if lines:
            pieces[-1].put(*flow(lines, wrapped))
    made = nest([p.done() for p in pieces[1:]], path=(), source_file=name)
    opening = pieces[0].done()
    if opening.text:
        section = ParsedSection(
            title=title, heading_path=(title,), text=opening.text, source_file=name, blocks=opening.blocks
        )
        made.insert(0, section)
    return made


class _Draft:
    """A section while its paragraphs are put in."""

    def __init__(self, rank: int, title: str) -> None:
        self._rank, self._title = rank, title
        self._parts: list[str] = []
        self._size = 0
        self._spans: list[Span] = []

    def put(self, text: str, kept: bool) -> None:
        if not text.strip():
            return
        start = self._size + 2 if self._parts else 0
        self._parts.append(text)
        self._size = start + len(text)
        if kept:
            self._spans.append(Span(start, self._size))

    def done(self) -> Piece:
        return Piece(self._rank, self._title, "", "\n\n".join(self._parts), tuple(self._spans))
