"""What is checked: a claim of an answer, and the sentences of the evidence that it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.types import ElementKind

if TYPE_CHECKING:
    from octavo.text.blocks import Block
    from octavo.types import Chunk


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the evidence. `start` and `end` point into the section's text, as the chunk's own do."""

    id: str
    chunk: Chunk
    start: int
    end: int
    text: str
    similarity: float
    evidence_rank: int
    evidence_score: float
    block: Block
    """The block of the section's text that it stands in: a paragraph, an item, a row of a table."""

    @property
    def kind(self) -> ElementKind:
        """What it is by its block. In an item of a list, only the first sentence is an item."""
        is_rest = self.block.kind is ElementKind.ITEM and not self.block.begins(self.start)
        return ElementKind.PARAGRAPH if is_rest else self.block.kind

    @property
    def words(self) -> str:
        """Its text, without the mark before an item."""
        return self.text[max(0, self.block.words - self.start) :]


@dataclass(frozen=True, slots=True)
class Claim:
    """A part of an answer: its words, the ids of the sentences it rests on, and where the answer stands."""

    text: str
    sentences: tuple[str, ...]
    marks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class CatalogueClaim(Claim):
    """A fact of the catalogue about a book. Its sentences show it; it names none where no passage does."""

    book_id: str = ""


@dataclass(frozen=True, slots=True)
class UnansweredClaim(Claim):
    """Says what was not found: an answer to one half, or the reader's text in the books.

    It names no sentences and is never a whole answer.
    """


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words of one sentence of the evidence. `start` and `end` point into the sentence's text."""

    sentence: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class GlossedClaim(Claim):
    """A claim in another language than the book's. `gloss` says it in the book's, and is what is checked."""

    gloss: str = ""
