"""The content of an HTML page without its markup: headings and pieces of text in reading order.

Each piece keeps the ids that point at it and the printed pages that begin inside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from octavo.readers.parts import Container, Part


@dataclass(frozen=True, slots=True)
class PageBreak:
    """A printed page that begins `offset` characters into its piece."""

    offset: int
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    level: int
    text: str
    ids: tuple[str, ...] = ()
    breaks: tuple[PageBreak, ...] = ()

    @property
    def anchor(self) -> str:
        return self.ids[0] if self.ids else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A paragraph, list item, table or code block. A `tight` one is on the line after the piece before it.

    `markup` are the parts of its text, and `within` the containers around it. A piece with markup and no text
    is a picture.
    """

    text: str
    block: bool = False
    tight: bool = False
    ids: tuple[str, ...] = ()
    breaks: tuple[PageBreak, ...] = ()
    markup: tuple[Part, ...] = field(default=(), compare=False)
    within: tuple[Container, ...] = field(default=(), compare=False)


Piece = Heading | Text


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlPage:
    """One HTML document: what its head says, and its pieces.

    `linked` is the share of its text that is links to other pages of the book.
    """

    title: str
    language: str
    authors: tuple[str, ...]
    pieces: tuple[Piece, ...]
    linked: float

    @property
    def words(self) -> int:
        return sum(len(p.text.split()) for p in self.pieces if isinstance(p, Text))

    @property
    def headings(self) -> tuple[Heading, ...]:
        return tuple(p for p in self.pieces if isinstance(p, Heading))
