"""The state machines of the data model. A step that is not in a table here raises `InvalidTransition`.

The machines are those of the source documents: a question's status, an answer's state, the state of a
piece of evidence, the delivery of an answer, and the flow from a query to a cited response. Other words
that the documents use for the same steps are views, named in `SEEN_AS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from itertools import pairwise
from typing import TypeVar

from octavo.errors import InvalidTransition


class QuestionStatus(StrEnum):
    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    INSUFFICIENT_DATA = "insufficient_data"
    ERROR = "error"


class AnswerState(StrEnum):
    DRAFT = "draft"
    VALIDATED = "validated"
    PUBLISHED = "published"


class EvidenceState(StrEnum):
    RETRIEVED = "retrieved"
    VALIDATED = "validated"


class Delivery(StrEnum):
    RECEIVED = "received"
    PROCESSING = "processing"
    VALIDATED = "validated"
    FORMATTED = "formatted"
    DELIVERED = "delivered"


class FlowStep(StrEnum):
    QUERY_RECEIVED = "query received"
    SCOPE_PARSED = "scope parsed"
    RETRIEVED = "retrieved in scope"
    RELEVANCE_CHECKED = "relevance checked"
    DRAFTED = "drafted with citations"
    RETURNED = "returned"


class BookState(StrEnum):
    """An edition on its way into the library: whole and visible only when `ready`."""

    PENDING = "pending"
    READY = "ready"
    SUPERSEDED = "superseded"


State = TypeVar("State", bound=StrEnum)
Steps = Mapping[State, tuple[State, ...]]


def _in_order(machine: type[State]) -> Steps[State]:
    """Each state leads to the next one, as they are written down."""
    states = list(machine)
    return {a: (b,) for a, b in pairwise(states)}


_Q = QuestionStatus
TRANSITIONS: Mapping[type[StrEnum], Mapping[StrEnum, tuple[StrEnum, ...]]] = {
    QuestionStatus: {
        _Q.PENDING: (_Q.PROCESSING,),
        _Q.PROCESSING: (_Q.COMPLETED, _Q.INSUFFICIENT_DATA, _Q.ERROR),
    },
    AnswerState: _in_order(AnswerState),
    EvidenceState: _in_order(EvidenceState),
    Delivery: _in_order(Delivery),
    FlowStep: _in_order(FlowStep),
    BookState: _in_order(BookState),
}

SEEN_AS: Mapping[type[StrEnum], Mapping[StrEnum, tuple[str, ...]]] = {
    QuestionStatus: {
        _Q.PENDING: ("received",),
        _Q.PROCESSING: ("received",),
        _Q.COMPLETED: ("processed",),
        _Q.INSUFFICIENT_DATA: ("processed",),
    },
    AnswerState: {
        AnswerState.DRAFT: ("generating",),
        AnswerState.VALIDATED: ("generating",),
        AnswerState.PUBLISHED: ("completed",),
    },
    EvidenceState: {EvidenceState.VALIDATED: ("retrieved",)},
}


def advance(current: State, to: State) -> State:
    """The next state, or `InvalidTransition` when the machine has no such step."""
    allowed = TRANSITIONS[type(current)].get(current, ())
    # The words of two machines may be equal as strings, so the kind counts as well.
    if type(to) is not type(current) or to not in allowed:
        steps = " or ".join(f"{s}" for s in allowed) or "nothing: it is final"
        raise InvalidTransition(
            f"{type(current).__name__} cannot go from {current} to {to}; from there it may go to {steps}"
        )
    return to


def view(state: StrEnum) -> tuple[str, ...]:
    """The words other documents use for this state, its own first."""
    return (str(state), *SEEN_AS.get(type(state), {}).get(state, ()))
