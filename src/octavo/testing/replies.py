"""What a scripted model can say: words, tool calls, cited claims, or something that goes wrong.

A script is one reply (given every time), a list of replies (given in order, once each), or a function that is
shown the request and returns the reply. `said` brings every reply that is not a fault of the connection down
to one `Turn`: the text and the calls of one turn of a model, ready for either protocol.

Models that misbehave: what each kind of fault makes a model say, and faults made from a number.

`pick_fault(n)` runs through every kind before it repeats one, with another cut, another language, another
lie each time. The same number always gives the same fault.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from octavo.testing.request import ModelRequest

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
    def arguments_text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(dict(self.arguments))


@dataclass(frozen=True, slots=True)
class Claims:
    """Structured output: a text, the ids of the sentences that are said to carry it, and a gloss if any."""

    claims: Sequence[Claimed]

    @property
    def text(self) -> str:
        claims = [
            {"text": text, "sentences": list(ids), "gloss": "".join(gloss)}
            for text, ids, *gloss in self.claims
        ]
        return json.dumps({"claims": claims}, ensure_ascii=False)


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
class ModelTurn:
    """One turn of a model, whatever protocol carries it."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    finish: Finish = "stop"
    refusal: bool = False


def make_turn(reply: Say | Call | Claims | Sequence[Call]) -> ModelTurn:
    match reply:
        case Say(text, finish, refusal):
            return ModelTurn(text, finish=finish, refusal=refusal)
        case Claims():
            return ModelTurn(reply.text)
        case Call():
            return ModelTurn(calls=(reply,))
    calls = tuple(reply)
    if not calls or not all(isinstance(call, Call) for call in calls):
        raise TypeError(f"a scripted reply must be Say, Call, Calls, Claims or Fault, not {reply!r}")
    return ModelTurn(calls=calls)


HUGE_BYTES = 1 << 20
FOREIGN = (
    "Der Kapitän hat das Schiff in der Nacht verlassen.",
    "Le capitaine a quitté le navire pendant la nuit.",
    "船长在夜里离开了船。",
    "Капитан покинул корабль ночью.",
    "غادر القبطان السفينة ليلا.",
    "船長は夜に船を去った。",
)
INVENTED = (
    'The author writes: "{word} was never seen again after the war of 1871."',
    "As the book puts it, “{word} cost exactly 48,213 crowns”.",
    "{word} was discovered by Professor Ottoline Grebe in Ljubljana.",
    '"{word}", he said, "is the reason why nobody may leave."',
)
_WAITS = (FaultKind.SILENT, FaultKind.STALLED_STREAM)
WAITING = frozenset(_WAITS)
"""Kinds that end only when the client gives up: a test with many of them needs short time-outs."""


def pick_fault(seed: int) -> Fault:
    """Pick a fault, the same for the same number; numbers in a row go through all kinds."""
    chance = random.Random(seed)
    kinds = list(FaultKind)
    return Fault(kinds[seed % len(kinds)], seed=seed, seconds=chance.choice((0.0, 0.01, 0.03)))


def misbehave(fault: Fault, request: ModelRequest) -> ModelTurn:
    """Make the turn of a model under a fault of its own; under one of the connection, an honest quotation."""
    chance = random.Random(fault.seed)
    tool = chance.choice(request.tools) if request.tools else "search_book"
    match fault.kind:
        case FaultKind.TOOL_LOOP:
            turn = make_turn(Call(tool, _make_arguments(request, tool, chance)))
        case FaultKind.UNKNOWN_TOOL:
            named = chance.choice(
                ("delete_book", "run_shell", "search_web", "SEARCH_BOOK", "", "read-section")
            )
            turn = make_turn(Call(named, {"query": "anything"}))
        case FaultKind.BAD_ARGUMENTS:
            turn = make_turn(
                Call(tool, chance.choice(('{"query": ', "whale", "[1, 2", '{"query": "a" "b"}', "\x00")))
            )
        case FaultKind.WRONG_ARGUMENTS:
            wrong: Sequence[Mapping[str, object]] = ({}, {"query": 7}, {"query": ["a"]}, {"no": {"such": 1}})
            turn = make_turn(Call(tool, chance.choice(wrong)))
        case FaultKind.HUGE:
            turn = _write_too_much(request, chance)
        case FaultKind.PROSE:
            turn = make_turn(
                Say(chance.choice(("Certainly! The answer is 42.", "", "```json\n{}\n```", "[s1]", "null")))
            )
        case FaultKind.UNKNOWN_SENTENCES:
            turn = make_turn(_claim_unknown(request, chance))
        case FaultKind.INVENTED_QUOTES:
            turn = make_turn(_claim_invented(request, chance))
        case FaultKind.OTHER_LANGUAGE:
            turn = make_turn(Claims([(chance.choice(FOREIGN), _pick_ids(request, chance))]))
        case FaultKind.CUT_SHORT | FaultKind.FILTERED | FaultKind.REFUSED:
            turn = _end_early(fault, request, chance)
        case _:
            turn = quote_honestly(request)
    return turn


def quote_honestly(request: ModelRequest) -> ModelTurn:
    """Quote the first sentence that the request shows; ask for some when it shows none."""
    shown = request.sentences
    if not shown and "search_book" in request.tools and not request.tool_results:
        return make_turn(Call("search_book", {"query": request.question}))
    return make_turn(Claims([(text, [id_]) for id_, text in list(shown.items())[:1]]))


def _make_arguments(request: ModelRequest, tool: str, chance: random.Random) -> dict[str, object]:
    known: dict[str, dict[str, object]] = {
        "search_book": {"query": f"{request.question[:200]} {chance.randint(0, 9)}", "top_k": 3},
        "read_section": {"section": chance.choice(("1", "Storm", "nothing like it")), "around": ""},
    }
    return known.get(tool, {})


def _write_too_much(request: ModelRequest, chance: random.Random) -> ModelTurn:
    word = chance.choice(("whale ", "\N{WHITE HEAVY CHECK MARK} ", "<b>", "[1] ", '\\"'))
    text = (word * (HUGE_BYTES // len(word.encode()) + 1))[:HUGE_BYTES]
    return (
        make_turn(Say(text))
        if chance.random() < 0.5
        else make_turn(Claims([(text, _pick_ids(request, chance))]))
    )


def _claim_unknown(request: ModelRequest, chance: random.Random) -> Claims:
    made_up = (
        "s0",
        "s99999",
        "S1",
        "1",
        "",
        "s1.5",
        "s-1",
        "s1 OR s2",
        "sentence-1",
        "\N{ZERO WIDTH SPACE}s1",
    )
    ids = chance.sample(made_up, chance.randint(1, 3))
    said = list(request.sentences.values()) or ["The book says so."]
    return Claims([(chance.choice(said), [*ids, *_pick_ids(request, chance)])])


def _claim_invented(request: ModelRequest, chance: random.Random) -> Claims:
    words = [word for text in request.sentences.values() for word in text.split() if len(word) > 4]
    word = chance.choice(words or ["whale"]).strip(".,;:!?\"'")
    return Claims([(chance.choice(INVENTED).format(word=word), _pick_ids(request, chance) or ["s1"])])


def _end_early(fault: Fault, request: ModelRequest, chance: random.Random) -> ModelTurn:
    if fault.kind is FaultKind.REFUSED:
        return make_turn(Say("I'm sorry, I can't help with that.", refusal=True))
    text = quote_honestly(request).text or Claims([("Nothing.", ["s1"])]).text
    part = text[: chance.randint(0, len(text) - 1)]
    return make_turn(Say(part, finish="length" if fault.kind is FaultKind.CUT_SHORT else "content_filter"))


def _pick_ids(request: ModelRequest, chance: random.Random) -> list[str]:
    shown = sorted(request.sentences)
    return chance.sample(shown, min(len(shown), chance.randint(1, 3)))
