"""What a scripted model can say: words, tool calls, cited claims, or something that goes wrong.

A script is one reply (given every time), a list of replies (given in order, once each), or a function that is
shown the request and returns the reply. `said` brings every reply that is not a fault of the connection down
to one `Turn`: the text and the calls of one turn of a model, ready for either protocol.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from octavo.testing.model_request import ModelRequest

Claimed = tuple[str, Sequence[str]] | tuple[str, Sequence[str], str]
Finish = Literal["stop", "length", "content_filter"]


@dataclass(frozen=True, slots=True)
class Say:
    """Plain text. `refusal` sends it in the field where models decline; `finish` says why the text ends."""

    text: str
    finish: Finish = "stop"
    refusal: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call of one tool. Arguments that are a string are sent as they stand, sound JSON or not."""

    tool: str
    arguments: Mapping[str, object] | str = "{}"

    @property
    def written(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(dict(self.arguments))


@dataclass(frozen=True, slots=True)
class Claims:
    """Structured output: a text, the ids of the sentences that are said to carry it, and a gloss if any."""

    claims: Sequence[Claimed]

    @property
    def written(self) -> str:
        made = [
            {"text": text, "sentences": list(ids), "gloss": "".join(gloss)}
            for text, ids, *gloss in self.claims
        ]
        return json.dumps({"claims": made}, ensure_ascii=False)


class FaultKind(StrEnum):
    """Everything that is known to go wrong between a program and a language model."""

    RATE_LIMITED = "429 with Retry-After"
    RATE_LIMITED_BARE = "429 without Retry-After"
    NO_QUOTA = "429 insufficient_quota"
    SERVER_ERROR = "500"
    UNAVAILABLE = "503"
    UNAUTHORIZED = "401"
    UNKNOWN_MODEL = "404 model_not_found"
    CLOSED = "connection closed before the reply"
    SILENT = "no reply, connection open"
    GARBAGE = "bytes that are not HTTP"
    INVALID_JSON = "a body that is not JSON"
    WRONG_TYPE = "an HTML page with status 200"
    EMPTY_BODY = "status 200 and nothing else"
    EMPTY_CHOICES = "a reply without choices"
    CUT_STREAM = "a reply that ends in the middle of its JSON"
    STALLED_STREAM = "a reply that stops and never ends"
    SLOW_STREAM = "a reply that drips"
    TOOL_LOOP = "calls a tool every time"
    HUGE = "a 1 MB answer"
    PROSE = "prose where claims are expected"
    UNKNOWN_SENTENCES = "claims with ids that nobody showed it"
    INVENTED_QUOTES = "claims that quote what no sentence says"
    OTHER_LANGUAGE = "claims in another language"
    BAD_ARGUMENTS = "a tool call whose arguments are not JSON"
    WRONG_ARGUMENTS = "a tool call whose arguments break the schema"
    UNKNOWN_TOOL = "a call of a tool that does not exist"
    CUT_SHORT = "finish_reason length"
    FILTERED = "finish_reason content_filter"
    REFUSED = "the refusal field"


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong. The same `seed` gives the same bytes; `seconds` is for waits."""

    kind: FaultKind
    seed: int = 0
    seconds: float = 0.05
    """Retry-After of a 429, and the pause between the pieces of a slow stream."""


Reply = Say | Call | Claims | Fault | Sequence[Call]
Script = Reply | Sequence[Reply] | Callable[[ModelRequest], Reply]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a model, whatever protocol carries it."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    finish: Finish = "stop"
    refusal: bool = False


def turn(reply: Say | Call | Claims | Sequence[Call]) -> Turn:
    match reply:
        case Say(text, finish, refusal):
            return Turn(text, finish=finish, refusal=refusal)
        case Claims():
            return Turn(reply.written)
        case Call():
            return Turn(calls=(reply,))
    calls = tuple(reply)
    if not calls or not all(isinstance(call, Call) for call in calls):
        raise TypeError(f"a scripted reply must be Say, Call, Calls, Claims or Fault, not {reply!r}")
    return Turn(calls=calls)
