"""What a reader makes of a file: a title page and sections in reading order, not yet tied to a library.

This is all that crosses from the parser process to the library, as JSON: text, and one small picture for the
cover. Every reader keeps these promises. `text` is the canonical text of one section without its own heading:
NFC, Unix line ends, no control characters, no trailing blanks, one blank line between paragraphs. `blocks`
are the spans (code, tables) that must stay together. `pages` mark where each page begins.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import asdict, dataclass

from octavo.errors import InvalidValue
from octavo.limits import MB
from octavo.types import NO_METADATA, BookFormat, BookMetadata, PageMark, Span

COVER_MOST_MB = 2


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

    @property
    def characters(self) -> int:
        return sum(len(s.text) for s in self.sections)

    def to_json(self) -> str:
        fields = asdict(self) | {"cover": b64encode(self.cover.data).decode() if self.cover else None}
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
            )
            for s in fields["sections"]
        )
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
        )
