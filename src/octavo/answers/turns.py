"""A turn of a conversation, and what a follow-up can take from it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from octavo.text.clean import collapse
from octavo.text.english import tokenize

# What a follow-up may begin with, and what may stand after its words.
AND, END = r"(?i)^(?:(?:and|but|so|or|ok|okay|well|also)\b[,\s]*)*", r"[\s?!.]*$"
REFUSED = re.compile(r"(?i)\b(?:(?:do|does) not|(?:do|does)n['’]t|can ?not) (?:say|answer|find|mention)\b")
SENTENCE = re.compile(r"(?<!\bMr)(?<!\bMrs)(?<!\bDr)(?<!\b[A-Z])[.!?]+[\"”’)]*\s+(?=[\"“‘(]?[A-Z0-9])")
CITATION = re.compile(r"\s*\[\d+(?:,\s*\d+)*\]")


@dataclass(frozen=True, slots=True)
class Turn:
    """A question, as it was interpreted, and what was answered."""

    question: str
    answer: str


def lower_first(text: str) -> str:
    """Write the first word small if it is a common one: "The king" but "Ahab"."""
    first = tokenize(text)[:1]
    return text[:1].lower() + text[1:] if first and first[0].stop and first[0].text != "I" else text


def read_answer(answer: str) -> str:
    """Return the first sentence of an answer without "Yes," and citations; nothing of a refusal."""
    said = re.sub(r"(?i)^(?:yes|no)\b[,.:;\s]*", "", collapse(CITATION.sub("", answer)))
    return "" if REFUSED.search(answer) else SENTENCE.split(said)[0].strip(' ."“”')
