"""Valid values to start a test from: each `make_…` is complete and true, and takes what the test is about.

For any other field, `dataclasses.replace(make_book(), language="fr")` does it and checks the rules again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import NAMESPACE_URL, uuid5

from octavo.types import (
    EMBEDDING_SIZE,
    Answer,
    Book,
    BookFormat,
    Chunk,
    Citation,
    Evidence,
    Message,
    PageMark,
    Question,
    Refusal,
    RefusalReason,
    Scope,
    Section,
    Session,
)

NOON = datetime(2025, 3, 1, 12, 0, tzinfo=UTC)
WHALE = "It was the whiteness of the whale that above all things appalled me."
URL = "book://moby-dick/chapter-42"


def make_book(
    id: str = "moby-dick", *, title: str = "Moby Dick", format: BookFormat = BookFormat.TEXT
) -> Book:
    return Book(
        id=id,
        title=title,
        format=format,
        source_file=f"{id}.txt",
        content_hash="5d41402abc4b2a76",
        index_fingerprint="reader-1 chunker-1 minilm-int8",
        added_at=NOON,
        updated_at=NOON,
        authors=("Herman Melville",),
        language="en",
        section_count=1,
        chunk_count=1,
    )


def make_section(
    id: str = "s42",
    *,
    book_id: str = "moby-dick",
    heading_path: tuple[str, ...] = ("Chapter 42", "The Whiteness"),
    text: str = WHALE,
    position: int = 0,
    url: str = URL,
    pages: tuple[PageMark, ...] = (),
) -> Section:
    return Section(
        id=id,
        book_id=book_id,
        title=heading_path[-1],
        heading_path=heading_path,
        level=len(heading_path),
        position=position,
        url=url,
        text=text,
        source_file=f"{book_id}.txt",
        pages=pages,
    )


def make_vector(*numbers: float, size: int = EMBEDDING_SIZE) -> tuple[float, ...]:
    """A unit vector that points where the first few numbers say."""
    given = numbers or (1.0,)
    length = math.hypot(*given)
    return (*(n / length for n in given), *(0.0 for _ in range(size - len(given))))


def make_chunk(
    content: str = WHALE,
    *,
    id: str = "",
    book_id: str = "moby-dick",
    section_id: str = "s42",
    heading_path: tuple[str, ...] = ("Chapter 42", "The Whiteness"),
    position: int = 0,
    start: int = 0,
    page_number: int | None = None,
    ancestors: tuple[str, ...] = (),
    embedding: tuple[float, ...] | None = None,
) -> Chunk:
    """Its id, when none is given, comes from where it stands and what it says."""
    name = uuid5(NAMESPACE_URL, f"{book_id}/{section_id}/{start}/{content}")
    return Chunk(
        id=id or str(name),
        chunk_id=name.int % (2**53 - 1) + 1,
        content=content,
        book_id=book_id,
        section_id=section_id,
        chapter=heading_path[0],
        section=heading_path[-1],
        document_position=position,
        chunk_index=position,
        url=URL,
        source_file=f"{book_id}.txt",
        source_location=" › ".join(("Moby Dick", *heading_path)),
        source_title="Moby Dick",
        start=start,
        end=start + len(content),
        created_at=NOON,
        heading_path=heading_path,
        ancestors=ancestors,
        page_number=page_number,
        embedding=embedding,
    )


def make_evidence(chunk: Chunk | None = None, *, score: float = 0.8, rank: int = 1) -> Evidence:
    return Evidence(chunk=chunk or make_chunk(), relevance_score=score, rank=rank)


def make_citation(
    snippet: str = "the whiteness of the whale",
    *,
    chunk: Chunk | None = None,
    number: int = 1,
    answer_id: str = "a1",
) -> Citation:
    """Quotes `snippet` from where it stands in the chunk."""
    chunk = chunk or make_chunk()
    start = chunk.start + chunk.content.index(snippet)
    return Citation(
        id=f"c{number}",
        answer_id=answer_id,
        number=number,
        chunk=chunk,
        start=start,
        end=start + len(snippet),
        content_snippet=snippet,
        relevance_score=0.8,
        confidence=0.9,
        retrieved_content_id=chunk.id,
        link=f"{chunk.url}#:~:text=whiteness",
    )


def make_answer(
    content: str = "The whiteness of the whale appalled him. [1]",
    *,
    id: str = "a1",
    question_id: str = "q1",
    citations: Sequence[Citation] | None = None,
    evidence: Sequence[Evidence] | None = None,
) -> Answer:
    return Answer(
        id=id,
        question_id=question_id,
        content=content,
        confidence=0.9,
        processing_time_ms=12,
        timestamp=NOON,
        citations=(make_citation(answer_id=id),) if citations is None else tuple(citations),
        evidence=(make_evidence(),) if evidence is None else tuple(evidence),
    )


def make_refusal(reason: RefusalReason = RefusalReason.NOT_IN_BOOK) -> Refusal:
    return Refusal(reason=reason, message="The book doesn't say.", nearest=(make_evidence(score=0.1),))


def make_message(content: str = "Why is the whale white?", *, id: str = "m1", role: str = "user") -> Message:
    return Message(id=id, role=role, content=content, timestamp=NOON, query_id="q1")


def make_question(
    content: str = "Why is the whale white?",
    *,
    id: str = "q1",
    scope: Scope | None = None,
    book_id: str | None = None,
    top_k: int = 5,
) -> Question:
    return Question(
        id=id, content=content, timestamp=NOON, scope=scope or Scope(), book_id=book_id, top_k=top_k
    )


def make_session(session_id: str = "reading-group") -> Session:
    return Session(session_id=session_id, start_time=NOON, query_count=1, messages=(make_message(),))
