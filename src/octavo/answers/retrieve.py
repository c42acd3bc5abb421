"""Retrieves passages for a question in its context, and answers nothing: complete, bound, correct, search.

The context is a `QueryContext` or a plain object with its fields: the text that the reader selected, the
messages before the question, what the reader prefers, and filters. A follow-up is completed from the
messages. Nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, overload
from uuid import uuid4

from octavo.errors import InvalidValue
from octavo.types import TOP_K_DEFAULT, Evidence, Message, QueryContext, Question
from octavo.validation import QuestionStatus

if TYPE_CHECKING:
    from octavo.answers.steps import AskSteps

Context = QueryContext | Mapping[str, object]
CONTEXT_KEYS = ("selected_text", "conversation_history", "user_preferences", "filters")


@dataclass(frozen=True, slots=True)
class Retrieval(Sequence[Evidence]):
    """What was found for a query, best first. It is the sequence of its results.

    `query` has been processed. `interpreted` is what was looked up, and `scope` says where.
    """

    query: Question
    results: tuple[Evidence, ...]
    interpreted: str
    scope: str

    @overload
    def __getitem__(self, index: int) -> Evidence: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Evidence]: ...
    def __getitem__(self, index: int | slice) -> Evidence | Sequence[Evidence]:
        return self.results[index]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Evidence]:
        return iter(self.results)


async def retrieve(question: Question, steps: AskSteps, *, embeddings: bool) -> Retrieval:
    """Find the passages for a question in its context, each with its vector if `embeddings` are wanted."""
    interpreted = await steps.interpret(question)
    question = question.to(QuestionStatus.PROCESSING)
    bounds = await steps.scope.resolve_question(question)
    interpreted, _ = await steps.correct_spelling(question, interpreted, bounds)
    workspace = await steps.make_workspace(question, bounds)
    await workspace.search(interpreted, top_k=question.top_k)
    found = tuple(workspace.evidence)
    if embeddings:
        found = await _add_embeddings(found, steps)
    status = QuestionStatus.COMPLETED if found else QuestionStatus.INSUFFICIENT_DATA
    return Retrieval(question.to(status), found, interpreted, bounds.description)


async def _add_embeddings(found: Sequence[Evidence], steps: AskSteps) -> tuple[Evidence, ...]:
    chunks = await steps.records.find_embedded_chunks([item.chunk.id for item in found])
    vectors = {chunk.id: chunk.embedding for chunk in chunks}
    for item in found:
        if item.chunk.id not in vectors:
            # The reader's own text is in no book.
            vectors[item.chunk.id] = await steps.retriever.embed_query(item.chunk.content)
    return tuple(replace(item, chunk=replace(item.chunk, embedding=vectors[item.chunk.id])) for item in found)


def build_question(query: str | Question, context: Context | None, *, top_k: int | None = None) -> Question:
    """Put a query and its context together. What the context and `top_k` leave out is as in the query."""
    question = query if isinstance(query, Question) else Question(content=query, top_k=TOP_K_DEFAULT)
    given = read_context(context)
    return replace(
        question,
        top_k=question.top_k if top_k is None else top_k,
        selected_text=given.selected_text or question.selected_text,
        conversation_history=given.conversation_history or question.conversation_history,
        user_preferences=given.user_preferences or question.user_preferences,
        filters=given.filters or question.filters,
    )


def read_context(given: Context | None) -> QueryContext:
    """Read a context from a plain object, as JSON brings it. Fields that are None are absent."""
    if isinstance(given, QueryContext):
        return given
    present: dict[str, Any] = {key: value for key, value in (given or {}).items() if value is not None}
    unknown = [key for key in present if key not in CONTEXT_KEYS]
    if unknown:
        raise InvalidValue("context", f"may have only {', '.join(CONTEXT_KEYS)}", unknown[0])
    history = present.get("conversation_history", ())
    if not isinstance(history, list | tuple):
        raise InvalidValue("conversation_history", "must be a list of messages", history)
    return QueryContext(**{**present, "conversation_history": tuple(map(read_message, history))})


def read_message(given: object) -> Message:
    """Read a message of a conversation. Only its `role` and its `content` are needed."""
    if isinstance(given, Message):
        return given
    if not isinstance(given, Mapping):
        raise InvalidValue("conversation_history", "must have messages with a role and a content", given)
    return Message(
        id=str(given.get("id") or uuid4()),
        role=given.get("role", ""),
        content=given.get("content", ""),
        timestamp=_read_time(given.get("timestamp")),
    )


def _read_time(given: object) -> datetime:
    if isinstance(given, datetime):
        return given
    try:
        read = datetime.fromisoformat(str(given)) if given else datetime.now(UTC)
    except ValueError:
        raise InvalidValue("Message.timestamp", "must be a time in ISO format", given) from None
    return read if read.tzinfo else read.replace(tzinfo=UTC)
