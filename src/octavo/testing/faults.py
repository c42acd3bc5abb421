"""Models that misbehave: what each kind of fault makes a model say, and faults made from a number.

`seeded_fault(n)` runs through every kind before it repeats one, with another cut, another language, another
lie each time. The same number always gives the same fault.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from octavo.testing.model_request import ModelRequest
from octavo.testing.replies import Call, Claims, Fault, FaultKind, Say, Turn, turn

HUGE_BYTES = 1 << 20
ABROAD = (
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


def seeded_fault(seed: int) -> Fault:
    """Any fault, the same for the same number; numbers in a row go through all kinds."""
    chance = random.Random(seed)
    kinds = list(FaultKind)
    return Fault(kinds[seed % len(kinds)], seed=seed, seconds=chance.choice((0.0, 0.01, 0.03)))


def misbehaving(fault: Fault, request: ModelRequest) -> Turn:
    """What the model says under a fault that is its own; under one of the connection, an honest quotation."""
    chance = random.Random(fault.seed)
    tool = chance.choice(request.tools) if request.tools else "search_book"
    match fault.kind:
        case FaultKind.TOOL_LOOP:
            made = turn(Call(tool, _arguments(request, tool, chance)))
        case FaultKind.UNKNOWN_TOOL:
            named = chance.choice(
                ("delete_book", "run_shell", "search_web", "SEARCH_BOOK", "", "read-section")
            )
            made = turn(Call(named, {"query": "anything"}))
        case FaultKind.BAD_ARGUMENTS:
            made = turn(
                Call(tool, chance.choice(('{"query": ', "whale", "[1, 2", '{"query": "a" "b"}', "\x00")))
            )
        case FaultKind.WRONG_ARGUMENTS:
            wrong: Sequence[Mapping[str, object]] = ({}, {"query": 7}, {"query": ["a"]}, {"no": {"such": 1}})
            made = turn(Call(tool, chance.choice(wrong)))
        case FaultKind.HUGE:
            made = _huge(request, chance)
        case FaultKind.PROSE:
            made = turn(
                Say(chance.choice(("Certainly! The answer is 42.", "", "```json\n{}\n```", "[s1]", "null")))
            )
        case FaultKind.UNKNOWN_SENTENCES:
            made = turn(_unknown(request, chance))
        case FaultKind.INVENTED_QUOTES:
            made = turn(_invented(request, chance))
        case FaultKind.OTHER_LANGUAGE:
            made = turn(Claims([(chance.choice(ABROAD), _some_ids(request, chance))]))
        case FaultKind.CUT_SHORT | FaultKind.FILTERED | FaultKind.REFUSED:
            made = _ended_early(fault, request, chance)
        case _:
            made = honest(request)
    return made


def honest(request: ModelRequest) -> Turn:
    """Quotes the first sentence it was shown; asks for some when it was shown none."""
    shown = request.sentences
    if not shown and "search_book" in request.tools and not request.tool_results:
        return turn(Call("search_book", {"query": request.question}))
    return turn(Claims([(text, [id_]) for id_, text in list(shown.items())[:1]]))


def _arguments(request: ModelRequest, tool: str, chance: random.Random) -> dict[str, object]:
    known: dict[str, dict[str, object]] = {
        "search_book": {"query": f"{request.question[:200]} {chance.randint(0, 9)}", "top_k": 3},
        "read_section": {"section": chance.choice(("1", "Storm", "nothing like it")), "around": ""},
    }
    return known.get(tool, {})


def _huge(request: ModelRequest, chance: random.Random) -> Turn:
    word = chance.choice(("whale ", "\N{WHITE HEAVY CHECK MARK} ", "<b>", "[1] ", '\\"'))
    text = (word * (HUGE_BYTES // len(word.encode()) + 1))[:HUGE_BYTES]
    return turn(Say(text)) if chance.random() < 0.5 else turn(Claims([(text, _some_ids(request, chance))]))


def _unknown(request: ModelRequest, chance: random.Random) -> Claims:
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
    return Claims([(chance.choice(said), [*ids, *_some_ids(request, chance)])])


def _invented(request: ModelRequest, chance: random.Random) -> Claims:
    words = [word for text in request.sentences.values() for word in text.split() if len(word) > 4]
    word = chance.choice(words or ["whale"]).strip(".,;:!?\"'")
    return Claims([(chance.choice(INVENTED).format(word=word), _some_ids(request, chance) or ["s1"])])


def _ended_early(fault: Fault, request: ModelRequest, chance: random.Random) -> Turn:
    if fault.kind is FaultKind.REFUSED:
        return turn(Say("I'm sorry, I can't help with that.", refusal=True))
    text = honest(request).text or Claims([("Nothing.", ["s1"])]).written
    part = text[: chance.randint(0, len(text) - 1)]
    return turn(Say(part, finish="length" if fault.kind is FaultKind.CUT_SHORT else "content_filter"))


def _some_ids(request: ModelRequest, chance: random.Random) -> list[str]:
    shown = sorted(request.sentences)
    return chance.sample(shown, min(len(shown), chance.randint(1, 3)))
