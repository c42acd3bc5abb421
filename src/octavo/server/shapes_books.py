"""What responses about books and jobs look like, for the description of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from octavo.server.shapes import EVENTS, Responses, gives, problems

__all__ = ["Book", "Books", "Contents", "Job", "Jobs", "Queued", "Reading", "gives", "pictures", "streams"]


class Book(BaseModel):
    id: str
    title: str
    authors: list[str]
    language: str
    format: str
    source_file: str
    base_url: str | None
    section_count: int
    chunk_count: int
    page_count: int
    added_at: datetime
    updated_at: datetime
    cover: bool


class Books(BaseModel):
    books: list[Book]
    next: str | None


class Section(BaseModel):
    """A node of the contents."""

    id: str
    title: str
    heading_path: list[str]
    level: int
    position: int
    url: str
    anchor: str
    page_start: int | None
    page_end: int | None
    source_file: str
    characters: int


class Contents(BaseModel):
    sections: list[Section]


class Block(BaseModel):
    start: int
    end: int


class PageStart(BaseModel):
    offset: int
    number: int
    label: str | None


class Reading(Section):
    """A section with its text."""

    text: str
    blocks: list[Block]
    pages: list[PageStart]


class Progress(BaseModel):
    step: str = Field(examples=["waiting", "reading", "cutting", "embedding", "storing", "done"])
    done: int
    total: int


class Failure(BaseModel):
    code: str
    message: str
    hint: str


class Job(BaseModel):
    job_id: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    name: str
    progress: Progress
    book_id: str | None
    error: Failure | None
    created_at: datetime


class Jobs(BaseModel):
    jobs: list[Job]
    next: str | None


class Queued(BaseModel):
    job: Job


def streams(said: str, *more: int) -> Responses:
    """A route whose good response is a stream of events."""
    content = {"text/event-stream": EVENTS}
    return {200: {"description": said, "content": content}, **problems(*more)}


def pictures(said: str, *more: int) -> Responses:
    kinds = ("png", "jpeg", "gif", "webp")
    content = {f"image/{kind}": {"schema": {"type": "string", "format": "binary"}} for kind in kinds}
    return {
        200: {"description": said, "content": content},
        304: {"description": "The picture that the caller has is still the one."},
        **problems(*more),
    }
