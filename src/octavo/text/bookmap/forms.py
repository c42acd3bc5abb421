"""Decide which capitalised runs are names, and collect each spelling with its places.

A capital letter proves something only within a sentence. So a run is a name when it also occurs there, and
mostly with its capital: "Ahab" is one, "Whale" in a book full of whales is none. A run at the beginning of a
sentence loses its first word when that is an ordinary one ("But Ahab"). Words in capitals count as the name
that they spell.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from octavo.text.bookmap.marks import Cue, SectionMarks
from octavo.text.english import list_words, measure_rarity, stem

if TYPE_CHECKING:
    from octavo.types import Section

# The share of a word's occurrences that have a capital, of names and of words with several capitals.
NAME_SHARE, NAME_SHARE_LEAST = 0.5, 0.15
OFTEN = 4
# Plain numbers: flags are slow in a loop over all runs of a book.
_OPENS, _TITLE_CASE, _THE = int(Cue.OPENS), int(Cue.TITLE_CASE), int(Cue.THE)
_WEAK = _OPENS | _TITLE_CASE
_LOWER = re.compile(r"(?<![\w'’-])[^\W\d_A-Z]+(?:['’][^\W\d_A-Z]+)*(?!\w)")
_SMALL = re.compile(r" (?:of the|of|de la|de|von|van der|van|du|di|da|del|la|le|bin|ibn) ")


@dataclass(slots=True)
class Form:
    """One spelling of a name. `strong` counts the occurrences whose capital proves something."""

    text: str
    strong: int = 0
    cues: Counter[int] = field(default_factory=Counter)
    places: list[tuple[int, int, int]] = field(default_factory=list)

    def add(self, section: int, start: int, end: int, cues: int) -> None:
        self.places.append((section, start, end))
        self.strong += not cues & _WEAK
        self.cues[cues] += 1

    def count(self, cue: Cue) -> int:
        """Count the occurrences that have a cue."""
        return sum(count for cues, count in self.cues.items() if cues & cue)


class Occurrence:
    """A run where it stands, with the words that still count."""

    __slots__ = ("cues", "end", "section", "start", "text")

    def __init__(self, section: int, start: int, end: int, cues: int, text: str) -> None:
        self.section, self.start, self.end, self.cues, self.text = section, start, end, cues, text


def count_lower(sections: Iterable[Section]) -> Counter[str]:
    """Count the words that are written in small letters, outside code and tables."""
    found: Counter[str] = Counter()
    for section in sections:
        start = 0
        for block in section.blocks:
            found.update(_LOWER.findall(section.text, start, block.start))
            start = block.end
        found.update(_LOWER.findall(section.text, start))
    return found


def collect_forms(
    texts: Sequence[str], marks: Sequence[SectionMarks], lower: Mapping[str, int]
) -> tuple[dict[str, Form], dict[str, Form]]:
    """Return the names of a book by their spelling, and the words that are names only as parts of others."""
    runs = list(_list_occurrences(texts, marks))
    proven = Counter(run.text for run in runs if not run.cues & _WEAK)
    seen = {run.text for run in runs}
    forms: dict[str, Form] = {}
    shouted: list[Occurrence] = []
    for run in runs:
        if run.cues & _TITLE_CASE and run.text.isupper():
            shouted.append(run)
            continue
        for part in _split_joined(_drop_opening(_drop_article(run), proven, seen, lower), proven):
            forms.setdefault(part.text, Form(part.text)).add(part.section, part.start, part.end, part.cues)
    for run in shouted:
        known = forms.get(run.text.title())
        if known is not None:
            known.add(run.section, run.start, run.end, run.cues)
    names = {text: form for text, form in forms.items() if _is_name(form, lower)}
    doubtful = {text: form for text, form in forms.items() if text not in names and _may_be_short(form)}
    return names, doubtful


def _list_occurrences(texts: Sequence[str], marks: Sequence[SectionMarks]) -> Iterator[Occurrence]:
    for number, (text, found) in enumerate(zip(texts, marks, strict=True)):
        for start, end, cues in found.runs:
            yield Occurrence(number, start, end, cues, text[start:end])


def _drop_article(run: Occurrence) -> Occurrence:
    if not run.text.startswith("The "):
        return run
    start = run.start + 4
    return Occurrence(run.section, start, run.end, run.cues & ~_OPENS | _THE, run.text[4:])


def _drop_opening(
    run: Occurrence, proven: Mapping[str, int], seen: Container[str], lower: Mapping[str, int]
) -> Occurrence:
    """Take ordinary words off the beginning of a run that opens a sentence."""
    while run.cues & _OPENS and run.text not in proven and " " in run.text:
        first, _, rest = run.text.partition(" ")
        low = first.lower().rstrip(".")
        small = rest.partition(" ")[0]
        if small.islower():
            # What is left begins with a small word of a name: "of Nantucket".
            rest = rest[len(small) + 1 :]
        ordinary = lower[low] > 0 or low in list_words("stop", "not_names", "clause_joins")
        ordinary = ordinary or (rest in seen and measure_rarity(stem(low)) < 1.0)
        named = is_title(first) and not (low in list_words("traits_in_names") and rest in proven)
        if not rest or not ordinary or named:
            break
        cues = run.cues & ~_OPENS | (_THE if low == "the" else 0)
        run = Occurrence(run.section, run.end - len(rest), run.end, cues, rest)
    return run


def _split_joined(run: Occurrence, proven: Mapping[str, int]) -> Iterator[Occurrence]:
    """Split "Ahab of Nantucket", which occurs once, into the names that it consists of."""
    joint = _SMALL.search(run.text)
    if joint is None or proven[run.text] > 1 or proven[run.text[: joint.start()]] < 2:
        yield run
        return
    left, right = run.text[: joint.start()], run.text[joint.end() :]
    yield Occurrence(run.section, run.start, run.start + len(left), run.cues, left)
    place = Cue.PLACE | (Cue.THE if joint[0].endswith("the ") else 0)
    yield Occurrence(run.section, run.end - len(right), run.end, int(place), right)


def is_title(word: str) -> bool:
    """Tell whether a word stands before names: "Captain", "Mrs."."""
    titles = list_words("titles_of_men", "titles_of_women", "titles_of_people")
    return word.lower().rstrip(".") in titles


def _is_name(form: Form, lower: Mapping[str, int]) -> bool:
    words = form.text.split()
    lows = [word.lower().rstrip(".") for word in words]
    if all(
        low in list_words("stop", "not_names", "calendar") or is_title(low) or len(low) < 2 for low in lows
    ):
        return False
    if len(words) > 1:
        titled = is_title(words[0]) and not lower[lows[1]]
        return form.strong > 0 or titled or (len(form.places) > 1 and not all(lower[low] for low in lows))
    low = words[0].lower()
    if not form.strong:
        return len(form.places) > 1 and not lower[low] and measure_rarity(stem(low)) == 1.0
    share = form.strong / (form.strong + lower[low])
    return share >= NAME_SHARE or (form.strong >= OFTEN and share >= NAME_SHARE_LEAST)


def _may_be_short(form: Form) -> bool:
    """Tell whether an ordinary word may be short for a name that has it: "Coffin" for "Peter Coffin"."""
    low = form.text.lower()
    known = list_words("stop", "not_names", "calendar", "place_nouns", "men", "women", "persons", "people")
    return " " not in form.text and form.strong > 1 and low not in known and not is_title(low)
