"""Complete a follow-up by the topic of the question before: its source, an example, one of them, its event.

The docstrings give examples, as those of `followups` do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from octavo.answers.turns import AND, END, Turn, lower_first, read_answer
from octavo.text.english import tokenize
from octavo.text.phrases import find_phrases, is_verb

_COUNTED = re.compile(rf"{AND}how many (?:people |men |of them )?(\w+){END}")
SOURCE = re.compile(
    rf"{AND}(?:where (?:does|did) (?:it|the book|he|she|the author) (?:say|state|mention|write)"
    r" (?:that|this|so)"
    r"|where is (?:that|this|it) (?:said|written|stated|from)|(?:what|which) page is (?:that|this|it) on"
    rf"|says who|(?:show me |what is )?(?:the|your) sources?|show me (?:the|that) (?:passage|quote)){END}"
)
EXAMPLE = re.compile(
    rf"{AND}(?:please |can you )?(?:(?:show|give) me |show |give |what is |any |is there )?"
    rf"(?:an |some )?(?:other )?(?:examples?|for instance)(?: of (?:that|this|it|one))?(?:,? please)?{END}"
)
_ONE = re.compile(rf"(.*\b(?:use|make|write|need|want|have|create|get|see|build|find|take)) one{END}", re.I)


def ask_for_source(text: str, turns: Sequence[Turn]) -> str | None:
    """Ask the question before once more: its answer shows the passages that say so.

    After: Who is Flask? | The third mate. | Where does it say that? | Who is Flask?
    """
    return f"{turns[0].question}?" if SOURCE.match(text) else None


def ask_for_example(text: str, turns: Sequence[Turn]) -> str | None:
    """Say what an example is wanted of.

    After: What is a closure? | An anonymous function. | Show me an example | What is an example of a closure?
    """
    topic = _find_topic(turns[0].question) if EXAMPLE.match(text) else ""
    return f"What is an example of {topic}?" if topic else None


def replace_one(text: str, turns: Sequence[Turn]) -> str | None:
    """Name the thing that "one" is.

    After: What is a closure? | An anonymous function. | Why would I use one? | Why would I use a closure?
    """
    found = _ONE.match(text)
    topic = _find_topic(turns[0].question) if found else ""
    return f"{found[1]} {topic}?" if found and re.match(r"(?i)an? ", topic) else None


def _find_topic(question: str) -> str:
    """Return what a question is about, with its article."""
    found = find_phrases(question)
    return lower_first(found[0].text) if found else ""


def add_event(text: str, turns: Sequence[Turn]) -> str | None:
    """Say of which event somebody is counted.

    After: When did Rome burn? | In 64. | How many died? | How many died? (When did Rome burn?)
    After: What fell? | Warsaw fell in 1944. | How many died? | How many died? (Warsaw fell in 1944.)
    """
    found = _COUNTED.match(text)
    if not found or not is_verb(tokenize(f"they {found[1]}"), 1):
        return None
    said, asked = read_answer(turns[0].answer), turns[0].question
    told = said if len(find_phrases(said)) > 1 else ""
    return f"{text.rstrip(' ?!.')}? ({f'{told}.' if told else f'{asked}?'})"
