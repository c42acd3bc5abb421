"""The arguments of the tools, as assistants read them. The results are in `octavo.schemas.tools`."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from octavo.errors import InvalidValue
from octavo.records.tags import TAG_MOST
from octavo.types import QUESTION_MOST, SELECTION_MOST, TOP_K_DEFAULT, TOP_K_MOST, Question, Scope, ScopeType

ENTRIES_DEFAULT, ENTRIES_MOST = 50, 200
CHARACTERS_DEFAULT, CHARACTERS_MOST = 8_000, 40_000
MAP_DEFAULT, MAP_MOST = 15, 100
NEW = "new"
# Not every database takes control characters.
PRINTED = r"^[^\x00-\x1f]+$"


def _drop_empty(value: object) -> object:
    """Read an empty text as none: models fill in what they could leave out."""
    return None if value == "" else value


OptionalText = Annotated[str | None, BeforeValidator(_drop_empty)]


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ScopeArguments(Arguments):
    """Where to look: the whole library, a book, or a part of it. At most one of the parts."""

    book: OptionalText = Field(
        None, max_length=500, description="Id or title of a book. Without it: all books."
    )
    tag: OptionalText = Field(None, max_length=TAG_MOST, description="Only books with this tag.")
    section: OptionalText = Field(
        None, max_length=500, description="Only this section and those under it: its id, title or address."
    )
    page: OptionalText = Field(
        None, max_length=100, description="Only this page or range: 12, xii, 12-15; #12 is a physical page."
    )
    up_to: OptionalText = Field(
        None, max_length=500, description="Only what comes before the end of this section, or page ('p. 12')."
    )

    def to_scope(self) -> Scope | None:
        parts = {
            ScopeType.SECTION: self.section,
            ScopeType.PAGE: self.page,
            ScopeType.UP_TO: self.up_to,
        }
        chosen = [(kind, name) for kind, name in parts.items() if name is not None]
        if len(chosen) > 1:
            names = ", ".join(str(kind) for kind, _ in chosen)
            raise InvalidValue("section, page and up_to", "exclude each other: give one of them", names)
        return Scope(type=chosen[0][0], identifier=chosen[0][1]) if chosen else None


class ListBooks(Arguments):
    book: OptionalText = Field(
        None, max_length=500, description="Id or title of a book: lists its table of contents too."
    )
    tag: OptionalText = Field(None, max_length=TAG_MOST, description="Only books with this tag.")
    limit: int = Field(ENTRIES_DEFAULT, ge=1, le=ENTRIES_MOST, description="Most entries to list.")
    after: OptionalText = Field(
        None, max_length=500, description="`next` of the list before, to go on with it."
    )


class SearchBook(ScopeArguments):
    query: str = Field(
        min_length=1, max_length=QUESTION_MOST, description="What to look for, as words or as a question."
    )
    top_k: int = Field(5, ge=1, le=50, description="How many passages.")


class ReadSection(Arguments):
    book: str = Field(min_length=1, max_length=500, description="Id or title of the book.")
    section: str = Field(
        min_length=1, max_length=500, description="`section_id` of a result, or the section's title."
    )
    offset: int = Field(0, ge=0, description="Character to begin at: `next_offset` of the part before.")
    limit: int = Field(CHARACTERS_DEFAULT, ge=1, le=CHARACTERS_MOST, description="Most characters to read.")


class MapBook(Arguments):
    book: str = Field(min_length=1, max_length=500, description="Id or title of the book.")
    name: OptionalText = Field(
        None, max_length=500, pattern=PRINTED, description="A name or a term to look up. Without it: the map."
    )
    up_to: OptionalText = Field(
        None,
        max_length=500,
        pattern=PRINTED,
        description="Only what comes before the end of this section, or page ('p. 12').",
    )
    limit: int = Field(
        MAP_DEFAULT, ge=1, le=MAP_MOST, description="Most entries of each kind, or most mentions of `name`."
    )


class AskBook(ScopeArguments):
    question: str = Field(min_length=1, max_length=QUESTION_MOST, description="The question, as a sentence.")
    selected_text: OptionalText = Field(
        None, max_length=SELECTION_MOST, description="A passage the reader marked: the answer is about it."
    )
    session_id: OptionalText = Field(
        None,
        max_length=64,
        pattern=PRINTED,
        description=f"`{NEW}` begins a conversation; the `session_id` that comes back goes on with it.",
    )
    top_k: int = Field(TOP_K_DEFAULT, ge=1, le=TOP_K_MOST, description="How many passages to consider.")

    def to_question(self, *, owner: str) -> Question:
        """Return the question without its session, which may have to be started first."""
        return Question(
            content=self.question,
            scope=self.to_scope() or Scope(),
            book_id=self.book,
            selected_text=self.selected_text,
            user_id=owner or None,
            top_k=self.top_k,
        )


class VerifyAnswer(Arguments):
    answer_id: str = Field(
        min_length=1, max_length=64, pattern=PRINTED, description="`answer_id` of an answer."
    )
