"""Tell a language model how a question of its kind is answered: the same kinds as without a model."""

from __future__ import annotations

from types import MappingProxyType

from octavo.answers.lists import wants_several
from octavo.answers.questions import Expected, QuestionKind, parse_question
from octavo.answers.requests import (
    ComparisonRequest,
    IdentityRequest,
    PartRequest,
    SeveralRequest,
    read_request,
)

WHOLE_PART = "It asks for a part as a whole: tell what its sections say, in the order of the book."
IDENTITY = "It asks who or what something is: say first what it is, then what else the book says of it."
COMPARISON = "It asks for a difference: one claim on each side, then what the book says of both."
SEVERAL = "It asks several things: answer each of them."
LISTED = "It asks for several things: name all of them, one claim for each, in the order of the book."
_KINDS = MappingProxyType(
    {
        QuestionKind.HOW_TO: "It asks how something is done: give the steps in order.",
        QuestionKind.WHY: "It asks why: give the cause first.",
        QuestionKind.YES_NO: "It asks whether something is so: begin with what decides it.",
    }
)
_FIRST = MappingProxyType(
    {
        Expected.NUMBER: "Begin with the number.",
        Expected.DATE: "Begin with the date or time.",
        Expected.PLACE: "Begin with the place.",
        Expected.PERSON: "Begin with the name.",
    }
)


def describe_way(question: str) -> str:
    """Say how a question of this kind is answered, or nothing if it is a plain one."""
    match read_request(question):
        case PartRequest():
            return WHOLE_PART
        case ComparisonRequest():
            return COMPARISON
        case SeveralRequest():
            return SEVERAL
        case IdentityRequest() if not wants_several(question):
            return IDENTITY
        case _:
            parsed = parse_question(question)
            way = _KINDS.get(parsed.kind, "") or _FIRST.get(parsed.expected, "")
            return LISTED if wants_several(question) else way
