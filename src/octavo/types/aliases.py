"""The other names that the source documents use for fields of the data model.

The documents describe the same values in different words: what one calls the `content` of an answer is the
`response_text` in another. Each class here gives these words to one type of `octavo.types`, as read-only
properties that point to its fields. A program written from any of the documents finds what it expects.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from octavo.validation import AnswerState, EvidenceState, QuestionStatus, view

if TYPE_CHECKING:
    from octavo.types.books import Chunk


class EvidenceNames:
    """Other names of an `Evidence`'s fields, and those of its chunk."""

    __slots__ = ()
    chunk: Chunk
    relevance_score: float
    state: EvidenceState

    @property
    def similarity_score(self) -> float:
        return self.relevance_score

    @property
    def chunk_id(self) -> str:
        return self.chunk.id

    @property
    def content(self) -> str:
        return self.chunk.content

    @property
    def source_metadata(self) -> Chunk:
        """Where the passage comes from: `url`, `section`, `page` and `title`."""
        return self.chunk

    @property
    def embedding(self) -> tuple[float, ...] | None:
        """The vector, where it was asked for."""
        return self.chunk.embedding

    @property
    def embedding_vector(self) -> tuple[float, ...] | None:
        return self.chunk.embedding

    @property
    def metadata(self) -> Mapping[str, object]:
        return self.chunk.metadata

    @property
    def source_file(self) -> str:
        return self.chunk.source_file

    @property
    def source_location(self) -> str:
        return self.chunk.source_location

    @property
    def source_url(self) -> str:
        return self.chunk.url

    @property
    def section_heading(self) -> str:
        return self.chunk.section

    @property
    def chunk_index(self) -> int:
        return self.chunk.chunk_index

    @property
    def created_at(self) -> datetime:
        return self.chunk.created_at

    @property
    def states(self) -> tuple[str, ...]:
        """The state in the words of all documents."""
        return view(self.state)


class CitationNames:
    """Other names of a `Citation`'s fields."""

    __slots__ = ()
    chunk: Chunk
    content_snippet: str
    relevance_score: float

    @property
    def text(self) -> str:
        return self.content_snippet

    @property
    def content_preview(self) -> str:
        return self.content_snippet

    @property
    def similarity_score(self) -> float:
        return self.relevance_score

    @property
    def source_title(self) -> str:
        return self.chunk.source_title


class AnswerNames:
    """Other names of an `Answer`'s fields."""

    __slots__ = ()
    question_id: str
    content: str
    confidence: float
    state: AnswerState

    @property
    def response_text(self) -> str:
        return self.content

    @property
    def confidence_score(self) -> float:
        return self.confidence

    @property
    def confidence_level(self) -> float:
        return self.confidence

    @property
    def request_id(self) -> str:
        return self.question_id

    @property
    def query_id(self) -> str:
        return self.question_id

    @property
    def states(self) -> tuple[str, ...]:
        """The state in the words of all documents."""
        return view(self.state)


class QuestionNames:
    """Other names of a `Question`'s fields."""

    __slots__ = ()
    id: str
    content: str
    status: QuestionStatus

    @property
    def query_text(self) -> str:
        return self.content

    @property
    def text(self) -> str:
        return self.content

    @property
    def request_id(self) -> str:
        return self.id

    @property
    def query_id(self) -> str:
        return self.id

    @property
    def states(self) -> tuple[str, ...]:
        """The status in the words of all documents: a question that got its answer is also `processed`."""
        return view(self.status)
