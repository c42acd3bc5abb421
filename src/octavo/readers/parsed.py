"""What a reader makes of a file: a title page and sections in reading order, not yet tied to a library.

This is the only thing that crosses from the parser's child process to the library, as JSON, so that a parser
that a hostile file took over can hand back nothing but text.

Promises of every reader: `text` is the canonical text of one section, without its own heading, in NFC, with
`\\n` line ends, no control characters and no trailing blanks; paragraphs are parted by one blank line;
`blocks` are the spans (code, tables) that belong together; `pages` mark where each page begins.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from octavo.types import BookFormat, PageMark, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedSection:
    """One heading and the text directly under it. `url` is absolute, or relative to the book's base URL."""

    title: str
    heading_path: tuple[str, ...]
    text: str
    source_file: str
    url: str = ""
    anchor: str = ""
    pages: tuple[PageMark, ...] = ()
    blocks: tuple[Span, ...] = ()

    @property
    def level(self) -> int:
        return len(self.heading_path)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedBook:
    title: str
    format: BookFormat
    sections: tuple[ParsedSection, ...]
    authors: tuple[str, ...] = ()
    language: str = ""
    base_url: str | None = None
    page_count: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def characters(self) -> int:
        return sum(len(s.text) for s in self.sections)

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, raw: str | bytes) -> ParsedBook:
        made = json.loads(raw)
        sections = tuple(
            ParsedSection(
                title=s["title"],
                heading_path=tuple(s["heading_path"]),
                text=s["text"],
                source_file=s["source_file"],
                url=s["url"],
                anchor=s["anchor"],
                pages=tuple(PageMark(**p) for p in s["pages"]),
                blocks=tuple(Span(**b) for b in s["blocks"]),
            )
            for s in made["sections"]
        )
        return cls(
            title=made["title"],
            format=BookFormat(made["format"]),
            sections=sections,
            authors=tuple(made["authors"]),
            language=made["language"],
            base_url=made["base_url"],
            page_count=made["page_count"],
            warnings=tuple(made["warnings"]),
        )
