"""What requests look like, and how routes describe their responses in the API's description.

A field that is not listed, or out of bounds, is a 422. The shapes of responses are in `octavo.schemas`.
Long lists come in pages: `limit` says how many items, `after` is the `next` of the page before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Depends, Header, Path, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from octavo.answers.retrieve import read_message
from octavo.library.printed import NARROWEST, WIDEST
from octavo.records.idempotency import LONGEST_KEY
from octavo.records.tags import TAG_MOST, TAGS_MOST
from octavo.schemas import ProblemJson, Schema
from octavo.types import QUESTION_MOST, SELECTION_MOST, TOP_K_DEFAULT, TOP_K_MOST, Question, Scope, ScopeType

Responses = dict[int | str, dict[str, Any]]
EVENTS = {
    "schema": {
        "type": "object",
        "required": ["event", "data"],
        "properties": {
            "event": {"type": "string", "description": "What happened."},
            "data": {"type": "string", "description": "A JSON object with the details."},
        },
    }
}
"""The schema of a stream of events, for each event."""
_STATUS_TEXT: Mapping[int, str] = {
    400: "The request cannot be read.",
    401: "The key is missing or not valid.",
    403: "The key may not do this.",
    404: "It does not exist, or it belongs to somebody else.",
    409: "It is being done already, or was done with another body before.",
    413: "The body is too large.",
    415: "The body has a type that is not accepted here.",
    422: "The request breaks a rule.",
    429: "Too many requests; `Retry-After` says when to try again.",
    500: "An internal error.",
    502: "The language model did not answer.",
    503: "The service is busy; `Retry-After` says when to try again.",
    507: "There is too little space on the disk.",
}
USUAL_ERRORS = (400, 401, 403, 413, 422, 429, 503)


def respond(shape: Schema, *, status: int = 200, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Send a shape. It is serialised here, once: FastAPI does not validate it again."""
    return JSONResponse(shape.to_json(), status_code=status, headers=headers)


def describe_errors(*more: int, usual: tuple[int, ...] = USUAL_ERRORS) -> Responses:
    """Describe the errors of a route."""
    content = {"application/problem+json": {"schema": ProblemJson.model_json_schema()}}
    return {
        status: {"description": _STATUS_TEXT[status], "content": content}
        for status in sorted({*usual, *more})
    }


def describe(text: str, *errors: int, status: int = 200) -> Responses:
    """Describe a route's good response, whose shape is its `response_model`, and its errors."""
    return {status: {"description": text}, **describe_errors(*errors)}


def describe_stream(text: str, *errors: int) -> Responses:
    """Describe a route whose good response is a stream of events."""
    content = {"text/event-stream": EVENTS}
    return {200: {"description": text, "content": content}, **describe_errors(*errors)}


def describe_image(text: str, *errors: int) -> Responses:
    """Describe a route whose good response is an image."""
    types = ("png", "jpeg", "gif", "webp", "svg+xml")
    content = {f"image/{name}": {"schema": {"type": "string", "format": "binary"}} for name in types}
    return {
        200: {"description": text, "content": content},
        304: {"description": "The caller's copy is still current."},
        **describe_errors(*errors),
    }


T = TypeVar("T")
LIMIT_DEFAULT, LIMIT_MOST = 50, 200


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of a list is wanted."""

    limit: int = LIMIT_DEFAULT
    after: str | None = None

    def cut(self, found: Sequence[T], name: Callable[[T], str]) -> tuple[list[T], str | None]:
        """Split a list that begins after `after` and may be one longer than the limit: page and `next`."""
        shown = list(found[: self.limit])
        return shown, name(shown[-1]) if len(found) > self.limit else None

    def select(self, items: Sequence[T], name: Callable[[T], str]) -> tuple[list[T], str | None]:
        """Select the page of a whole list, sorted by name. Items that are gone meanwhile are skipped."""
        rest = sorted((item for item in items if self.after is None or name(item) > self.after), key=name)
        return self.cut(rest, name)


async def read_page(
    limit: Annotated[int, Query(ge=1, le=LIMIT_MOST, description="How many items at most.")] = LIMIT_DEFAULT,
    after: Annotated[
        str | None,
        Query(
            min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$", description="`next` of the page before."
        ),
    ] = None,
) -> Page:
    return Page(limit, after)


PageParameters = Annotated[Page, Depends(read_page)]


Text = Annotated[str, StringConstraints(strip_whitespace=False, min_length=1, max_length=QUESTION_MOST)]


Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]
SessionId = Annotated[str, Path(max_length=64, pattern=r"^[^\x00-\x1f]+$", description="The session's id.")]
AnswerId = Annotated[
    str,
    Path(max_length=64, pattern=r"^[^\x00-\x1f]+$", description="The id of an answer, or of its question."),
]


BookName = Annotated[str, Path(max_length=500, description="The book's id, or its title.")]
ImageName = Annotated[
    str, Path(pattern="^[0-9a-f]{64}$", description="The SHA-256 of the picture, as the markup names it.")
]
PageNumber = Annotated[int, Path(ge=1, le=1_000_000, description="The page's place in the file, from 1 on.")]
PageWidth = Annotated[int, Query(ge=NARROWEST, le=WIDEST, description="The width of the image in pixels.")]
Offset = Annotated[int, Query(ge=0, le=1_000_000_000, description="A place in the text of the section.")]
SectionId = Annotated[str, Path(max_length=500, description="The section's id.")]
JobId = Annotated[str, Path(max_length=64, description="The job's id.")]


IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=LONGEST_KEY,
        pattern=r"^[\x21-\x7e]+$",
        description="A name for this request: sent again within a day, it gives the same response.",
    ),
]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ScopeBody(Body):
    type: ScopeType = ScopeType.FULL_BOOK
    identifier: str | None = Field(None, max_length=500, examples=["Chapter 10"])
    description: str = Field("", max_length=500)

    def to_scope(self) -> Scope:
        return Scope(type=self.type, identifier=self.identifier, description=self.description)


BookNames = Annotated[
    list[Name], Field(min_length=1, max_length=100, description="Only these books, by id or title.")
]


TagName = Annotated[Name, Field(max_length=TAG_MOST)]
WantedTag = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=TAG_MOST,
        pattern=r"^[^\x00-\x1f]+$",
        description="Only books with this tag.",
    ),
]
WantedAuthor = Annotated[
    str,
    Query(
        max_length=200,
        pattern=r"^[^\x00-\x1f]*$",
        description="Only books with all of these words in one author's name.",
    ),
]
WantedSubject = Annotated[
    str,
    Query(
        max_length=200,
        pattern=r"^[^\x00-\x1f]*$",
        description="Only books with all of these words in a subject or in the series.",
    ),
]
WantedLanguage = Annotated[
    str,
    Query(max_length=20, pattern=r"^[\w-]*$", description="Only books in this language, such as `en`."),
]
TagNames = Annotated[
    list[TagName],
    Field(
        min_length=1,
        max_length=TAGS_MOST,
        description="Only books with one of these tags. Books that are named must have one too.",
    ),
]


class SearchBody(Body):
    query: Text = Field(examples=["why is the whale white?"])
    book_id: Name | None = None
    books: BookNames | None = None
    tags: TagNames | None = None
    scope: ScopeBody | None = None
    top_k: int = Field(10, ge=1, le=100, strict=True)
    rerank: bool = Field(
        True,
        strict=True,
        description="Whether the local model reads the best passages and may reorder them. "
        "Without it, a search takes a small part of the time.",
        examples=[False],
    )


class AskBody(Body):
    question: Text = Field(examples=["Why is the whale white?"])
    book_id: Name | None = None
    books: BookNames | None = None
    tags: TagNames | None = None
    scope: ScopeBody | None = None
    selected_text: str | None = Field(None, min_length=1, max_length=SELECTION_MOST)
    session_id: Annotated[Name, Field(max_length=64)] | None = None
    top_k: int = Field(TOP_K_DEFAULT, ge=1, le=TOP_K_MOST, strict=True)

    def to_question(self, *, owner: str) -> Question:
        return Question(
            content=self.question,
            scope=self.scope.to_scope() if self.scope else Scope(),
            book_id=self.book_id,
            selected_text=self.selected_text,
            session_id=self.session_id,
            user_id=owner or None,
            top_k=self.top_k,
        )


FilterText = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00]+$")]
FilterTexts = Annotated[list[FilterText], Field(min_length=1, max_length=50)]


class FiltersBody(Body):
    """The filters that are supported; any other is refused rather than ignored."""

    book_id: FilterText | FilterTexts | None = None
    section: FilterText | None = None
    page: FilterText | int | None = None
    up_to: FilterText | None = None
    source_file: FilterText | FilterTexts | None = None
    language: FilterText | None = None


class MessageBody(BaseModel):
    """A message of the conversation before the question. Fields that are not listed are ignored."""

    role: Literal["user", "assistant"]
    content: str = Field(min_length=1, max_length=20_000, pattern=r"^[^\x00]*\S[^\x00]*$")


class QueryBody(AskBody):
    """The `/query` contract: question and top_k, and optional fields of ours.

    Front ends of all kinds send it, so a field that is null counts as absent, and one that is not listed is
    ignored.
    """

    model_config = ConfigDict(extra="ignore")

    filters: FiltersBody | None = None
    conversation_history: list[MessageBody] = Field(default=[], max_length=100)
    user_preferences: dict[str, Any] = Field(default={}, max_length=50)
    user_context: dict[str, Any] = Field(default={}, max_length=50)
    user_id: Name | None = Field(
        None, description="Kept with the question in `user_context`. Whose question it is, the key says."
    )

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, given: Any) -> Any:
        if isinstance(given, dict):
            return {key: value for key, value in given.items() if value is not None}
        return given

    def to_question(self, *, owner: str) -> Question:
        filters = self.filters.model_dump(exclude_none=True) if self.filters else {}
        about = {"user_id": self.user_id} if self.user_id else {}
        return replace(
            super().to_question(owner=owner),
            filters=filters,
            conversation_history=tuple(read_message(m.model_dump()) for m in self.conversation_history),
            user_preferences=self.user_preferences,
            user_context={**self.user_context, **about},
        )


QueryRequest = QueryBody
"""The name of the source documents."""


class CheckBody(Body):
    claim: Text = Field(examples=["The whale is white."])
    passages: list[Annotated[str, StringConstraints(max_length=100_000)]] = Field(
        max_length=100, examples=[["Moby Dick was a white whale."]]
    )


class SessionBody(Body):
    """What can be changed of a conversation."""

    title: str = Field(max_length=200, pattern=r"^[^\x00-\x1f]*$", examples=["The storm"])


class StartBody(Body):
    """How a conversation begins."""

    answer_id: str | None = Field(
        default=None, max_length=64, description="Begin with a copy of this answer and its question."
    )


class FeedbackBody(Body):
    """What a reader thought of an answer."""

    vote: Literal["up", "down"]
    reasons: list[Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00]+$")]] = (
        Field(default=[], max_length=10, examples=[["wrong passage"]])
    )
    comment: str = Field("", max_length=2_000, pattern=r"^[^\x00]*$")
