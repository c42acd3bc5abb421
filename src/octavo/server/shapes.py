"""What responses look like, for the description of the API. The objects themselves are made in
`octavo.wire`.

Nothing is checked against these while the service runs; the tests do that.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

Responses = dict[int | str, dict[str, Any]]
EVENTS = {
    "schema": {
        "type": "object",
        "required": ["event", "data"],
        "properties": {
            "event": {"type": "string", "description": "What has happened."},
            "data": {"type": "string", "description": "A JSON object that says more."},
        },
    }
}
"""A stream of events, event by event."""


class Problem(BaseModel):
    """RFC 9457: what went wrong. `code` is for programs and never changes, the words are for people."""

    type: str = Field(examples=["about:blank"])
    title: str = Field(examples=["Not Found"])
    status: int = Field(examples=[404])
    code: str = Field(examples=["not_found"])
    detail: str = Field(examples=["no book 'moby' here; the nearest are: moby-dick"])
    hint: str = ""
    request_id: str = ""


class Evidence(BaseModel):
    """A passage of a book, with its exact place."""

    id: str
    chunk_id: int
    book_id: str
    content: str
    relevance_score: float
    source_file: str
    source_location: str
    source_title: str
    chapter: str
    section: str
    section_id: str
    page_number: int | None
    page_label: str | None
    url: str
    start: int
    end: int


class Near(BaseModel):
    """A passage that comes near, named and not quoted."""

    id: str
    book_id: str
    source_location: str
    section_id: str
    url: str
    relevance_score: float


class Found(BaseModel):
    results: list[Evidence]
    processing_time_ms: int


class Citation(BaseModel):
    """A quotation: `content_snippet` is the section's text from `start` to `end`, to the letter."""

    id: str
    answer_id: str
    number: int
    chunk_id: str
    chunk_number: int
    book_id: str
    section_id: str
    content_snippet: str
    start: int
    end: int
    relevance_score: float
    confidence: float
    retrieved_content_id: str
    source_file: str
    source_location: str
    url: str
    section: str
    page: str | None
    title: str
    link: str


class Refusal(BaseModel):
    reason: str = Field(examples=["not_in_book", "not_in_scope", "below_confidence", "empty_library"])
    message: str
    nearest: list[Near]


class Claim(BaseModel):
    """A sentence of the answer. `marks` are the stretches of it that are emphasised."""

    text: str
    citations: list[int]
    marks: list[tuple[int, int]]


class Answered(BaseModel):
    """The answer, or the refusal, to a question."""

    question_id: str
    status: str = Field(examples=["completed", "insufficient_data"])
    answer_id: str
    answer: str
    confidence: float = Field(ge=0, le=1)
    citations: list[Citation]
    evidence: list[Evidence]
    refusal: Refusal | None
    processing_time_ms: int
    question: str = ""
    answerer: str = ""
    claims: list[Claim] = []
    interpreted: str = ""
    session_id: str = ""


class QueryCitation(BaseModel):
    text: str
    url: str
    similarity_score: float
    chunk_id: int
    source_title: str


class Queried(BaseModel):
    answer: str
    citations: list[QueryCitation]
    confidence: float
    processing_time_ms: int


class Supported(BaseModel):
    supported: bool
    score: float
    passage: int | None
    snippet: str | None
    reasons: list[str] = []


class Session(BaseModel):
    session_id: str
    start_time: datetime
    end_time: datetime | None
    query_count: int


class Sessions(BaseModel):
    sessions: list[Session]
    next: str | None


class Conversation(Session):
    turns: list[Answered]


class Verdict(BaseModel):
    answer_id: str
    number: int
    true: bool
    checked: bool
    note: str


class Verified(BaseModel):
    """Whether every quotation of an answer is in the book at its place."""

    true: bool
    citations: list[Verdict]


class Health(BaseModel):
    status: Literal["ok"]


class Ready(BaseModel):
    status: Literal["ready"]
    books: int


class Config(BaseModel):
    name: str
    version: str
    model: str | None
    keys_required: bool
    upload_mb: int
    may: list[Literal["ask", "ingest", "admin"]]


_SAID: Mapping[int, str] = {
    400: "The request is not one that this service can read.",
    401: "There is no key, or none that works.",
    403: "The key may not do this.",
    404: "It is not there, or not yours.",
    409: "It is being done already, or was done differently before.",
    413: "The body is too large.",
    415: "The body is of a kind that is not read here.",
    422: "Something in the request breaks a rule.",
    429: "Too many requests; `Retry-After` says when to come back.",
    500: "Something went wrong here.",
    502: "A model did not answer.",
    503: "Too much to do now; `Retry-After` says when to come back.",
    507: "There is too little room on the disk.",
}
USUAL = (400, 401, 403, 413, 422, 429, 503)


def problems(*more: int, usual: tuple[int, ...] = USUAL) -> Responses:
    """The errors of a route, for its description."""
    schema = Problem.model_json_schema()
    found = {"application/problem+json": {"schema": schema}}
    return {status: {"description": _SAID[status], "content": found} for status in sorted({*usual, *more})}


def gives(model: type[BaseModel] | None, said: str, *more: int, status: int = 200) -> Responses:
    """A route's good response, and its errors."""
    good: dict[str, Any] = {"description": said} | ({"model": model} if model else {})
    return {status: good, **problems(*more)}
