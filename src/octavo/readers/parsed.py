"""What a reader makes of a file: a title page and sections in reading order, not yet tied to a library.

This is all that crosses from the parser process to the library, as JSON: text, its markup, the pictures that
the markup names, and one small picture for the cover. Every reader keeps these promises. `text` is the
canonical text of one section without its own heading: NFC, Unix line ends, no control characters, no trailing
blanks, one blank line between paragraphs. `blocks` are the spans (code, tables) that must stay together.
`markup` says what each part of the text is; see `octavo.types.markup`. Until a book is finished, `url` and
`image` in it are addresses as the book writes them, and `places` are the ids that links of the book lead to.
Then a link inside the book has the number of its section, and a picture the SHA-256 of its bytes. `pages`
mark where each page begins, and `lines` say which characters of a PDF's page each line of the text is.
`scans` are the pages of a PDF that show pictures and have no text. A book that has nothing else has no
sections.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType

from octavo.errors import InvalidValue
from octavo.limits import MB
from octavo.types import NO_METADATA, BookFormat, BookMetadata, Element, PageMark, PrintedLine, Span
from octavo.types.books import check_lines
from octavo.types.markup import check_nesting, decode_markup, encode_markup

COVER_MOST_MB = 2
NO_IMAGES: Mapping[str, bytes] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Cover:
    """A picture that browsers show. Its first bytes say what it is; its file name does not count."""

    data: bytes

    def __post_init__(self) -> None:
        if not find_picture_type(self.data):
            raise InvalidValue("cover", "must be a PNG, JPEG, GIF or WebP", self.data[:16])
        if len(self.data) > COVER_MOST_MB * MB:
            raise InvalidValue("cover", f"must have at most {COVER_MOST_MB} MB", f"{len(self.data)} bytes")

    @property
    def media_type(self) -> str:
        return find_picture_type(self.data)


def find_picture_type(data: bytes) -> str:
    """Return the media type of a picture by its first bytes; '' for anything else."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    starts = (
        (b"\x89PNG\r\n\x1a\n", "png"),
        (b"\xff\xd8\xff", "jpeg"),
        (b"GIF87a", "gif"),
        (b"GIF89a", "gif"),
    )
    return next((f"image/{name}" for start, name in starts if data.startswith(start)), "")


def make_cover(data: bytes) -> Cover | None:
    """Return the picture as a cover, or None when it cannot be one."""
    fits = find_picture_type(data) and len(data) <= COVER_MOST_MB * MB
    return Cover(data) if fits else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedSection:
    """One heading and the text directly under it. `url` is absolute or relative to the book's base URL."""

    title: str
    heading_path: tuple[str, ...]
    text: str
    source_file: str
    url: str = ""
    anchor: str = ""
    pages: tuple[PageMark, ...] = ()
    blocks: tuple[Span, ...] = ()
    markup: tuple[Element, ...] = ()
    lines: tuple[PrintedLine, ...] = ()
    places: tuple[tuple[str, int], ...] = ()

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
    cover: Cover | None = None
    metadata: BookMetadata = NO_METADATA
    images: Mapping[str, bytes] = field(default_factory=lambda: NO_IMAGES)
    """The pictures that the markup names, by the SHA-256 of their bytes."""
    scans: tuple[int, ...] = ()
    """The numbers of pages that OCR has still to read."""
    file_hash: str = ""
    """The SHA-256 of a PDF, whose pages are drawn from the file."""
    scanner: str = ""
    """What has read the scanned pages. The parser, which reads none, does not know it."""

    @property
    def characters(self) -> int:
        return sum(len(s.text) for s in self.sections)

    def to_json(self) -> str:
        fields = {
            "title": self.title,
            "format": self.format,
            "sections": [_encode_section(section) for section in self.sections],
            "authors": self.authors,
            "language": self.language,
            "base_url": self.base_url,
            "page_count": self.page_count,
            "warnings": self.warnings,
            "cover": b64encode(self.cover.data).decode() if self.cover else None,
            "metadata": asdict(self.metadata),
            "images": {name: b64encode(data).decode() for name, data in self.images.items()},
            "scans": self.scans,
            "file_hash": self.file_hash,
        }
        return json.dumps(fields, ensure_ascii=False)

    @classmethod
    def from_json(cls, raw: str | bytes) -> ParsedBook:
        fields = json.loads(raw)
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
                markup=decode_markup(s["markup"]),
                lines=tuple(PrintedLine(*line) for line in s["lines"]),
            )
            for s in fields["sections"]
        )
        for section in sections:
            check_nesting("markup", section.markup, len(section.text))
            check_lines("lines", section.lines, len(section.text))
        return cls(
            title=fields["title"],
            format=BookFormat(fields["format"]),
            sections=sections,
            authors=tuple(fields["authors"]),
            language=fields["language"],
            base_url=fields["base_url"],
            page_count=fields["page_count"],
            warnings=tuple(fields["warnings"]),
            cover=Cover(b64decode(fields["cover"], validate=True)) if fields["cover"] else None,
            metadata=BookMetadata.from_json(fields["metadata"]),
            images={name: b64decode(data, validate=True) for name, data in fields["images"].items()},
            scans=tuple(fields["scans"]),
            file_hash=fields["file_hash"],
        )


def _encode_section(section: ParsedSection) -> dict[str, object]:
    return {
        "title": section.title,
        "heading_path": section.heading_path,
        "text": section.text,
        "source_file": section.source_file,
        "url": section.url,
        "anchor": section.anchor,
        "pages": [asdict(mark) for mark in section.pages],
        "blocks": [asdict(span) for span in section.blocks],
        "markup": encode_markup(section.markup),
        "lines": section.lines,
    }
