"""What requests look like. A field that is not listed, or out of bounds, is a 422."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from octavo.conversation import QUESTION_MOST, SELECTION_MOST, TOP_K_DEFAULT, TOP_K_MOST
from octavo.errors import InvalidValue
from octavo.types import Scope, ScopeType

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
