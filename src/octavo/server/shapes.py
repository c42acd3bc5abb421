"""What responses look like, for the description of the API. The objects themselves are made in
`octavo.wire`.

Nothing is checked against these while the service runs; the tests do that.

What responses about books and jobs look like, for the description of the API.

Long lists in pages: `limit` says how many, `after` is the `next` that the page before ended with.

What requests look like. A field that is not listed, or out of bounds, is a 422.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Depends, Path, Query
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from octavo.errors import InvalidValue
from octavo.types import QUESTION_MOST, SELECTION_MOST, TOP_K_DEFAULT, TOP_K_MOST, Scope, ScopeType

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


T = TypeVar("T")
LIMIT_DEFAULT, LIMIT_MOST = 50, 200


@dataclass(frozen=True, slots=True)
class Page:
    limit: int = LIMIT_DEFAULT
    after: str | None = None

    def cut(self, found: Sequence[T], name: Callable[[T], str]) -> tuple[list[T], str | None]:
        """A list that begins after `after` and may be one longer than the limit: the page, its `next`."""
        shown = list(found[: self.limit])
        return shown, name(shown[-1]) if len(found) > self.limit else None

    def of(self, everything: Sequence[T], name: Callable[[T], str]) -> tuple[list[T], str | None]:
        """The page of a whole list, in the order of the names; what is gone meanwhile is passed over."""
        rest = sorted(
            (item for item in everything if self.after is None or name(item) > self.after), key=name
        )
        return self.cut(rest, name)


async def page(
    limit: Annotated[int, Query(ge=1, le=LIMIT_MOST, description="Most items on the page.")] = LIMIT_DEFAULT,
    after: Annotated[
        str | None,
        Query(
            min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$", description="`next` of the page before."
        ),
    ] = None,
) -> Page:
    return Page(limit, after)


ThePage = Annotated[Page, Depends(page)]


Text = Annotated[str, StringConstraints(strip_whitespace=False, min_length=1, max_length=QUESTION_MOST)]


Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]
SessionId = Annotated[str, Path(max_length=64, pattern=r"^[^\x00-\x1f]+$", description="The session's id.")]
AnswerId = Annotated[
    str,
    Path(max_length=64, pattern=r"^[^\x00-\x1f]+$", description="The id of an answer, or of its question."),
]


BookName = Annotated[str, Path(max_length=500, description="The book's id, or its title.")]
SectionId = Annotated[str, Path(max_length=500, description="The section's id.")]
JobId = Annotated[str, Path(max_length=64, description="The job's id.")]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ScopeBody(Body):
    type: ScopeType = ScopeType.FULL_BOOK
    identifier: str | None = Field(None, max_length=500, examples=["Chapter 10"])
    description: str = Field("", max_length=500)

    def scope(self) -> Scope:
        return Scope(type=self.type, identifier=self.identifier, description=self.description)


class SearchBody(Body):
    query: Text = Field(examples=["why is the whale white?"])
    book_id: Name | None = None
    scope: ScopeBody | None = None
    top_k: int = Field(10, ge=1, le=100, strict=True)
    rerank: bool = Field(
        True,
        strict=True,
        description="Whether the local reader reads the first passages and may put another one first. "
        "Without that, a search takes a small part of the time.",
        examples=[False],
    )


class AskBody(Body):
    question: Text = Field(examples=["Why is the whale white?"])
    book_id: Name | None = None
    scope: ScopeBody | None = None
    selected_text: str | None = Field(None, min_length=1, max_length=SELECTION_MOST)
    session_id: Annotated[Name, Field(max_length=64)] | None = None
    top_k: int = Field(TOP_K_DEFAULT, ge=1, le=TOP_K_MOST, strict=True)


class Filters(Body):
    """Filters that are understood; any other is refused rather than passed over."""

    book_id: Name | None = None
    section: str | None = None
    page: str | None = None


class QueryBody(AskBody):
    """The `/query` contract: question and top_k, and optional fields of ours."""

    filters: Filters | None = None

    def narrowed(self) -> AskBody:
        """The same question with its filters as book and scope; what is said outright wins."""
        given = self.filters or Filters()
        asked = [(ScopeType.SECTION, given.section), (ScopeType.PAGE, given.page)]
        scopes = [ScopeBody(type=kind, identifier=name, description="") for kind, name in asked if name]
        if len(scopes) > 1:
            raise InvalidValue("filters", "may narrow to a section or to a page, not to both", "both")
        values = self.model_dump(exclude={"filters"})
        values["book_id"] = self.book_id or given.book_id
        values["scope"] = self.scope or (scopes[0] if scopes else None)
        return AskBody.model_validate(values)


class CheckBody(Body):
    claim: Text = Field(examples=["The whale is white."])
    passages: list[Annotated[str, StringConstraints(max_length=100_000)]] = Field(
        max_length=100, examples=[["Moby Dick was a white whale."]]
    )


class FeedbackBody(Body):
    """What a reader thought of an answer."""

    vote: Literal["up", "down"]
    reasons: list[Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00]+$")]] = (
        Field(default=[], max_length=10, examples=[["wrong passage"]])
    )
    comment: str = Field("", max_length=2_000, pattern=r"^[^\x00]*$")
