"""Find capitalised runs of words, with what stands around them: candidates for names.

A run is one or more capitalised words with the small words of names between them ("the Cape of Good Hope",
"Vincent van Gogh"). Whether it names anything is decided later, when the whole book, or what was read of it,
can be looked at. Until then it is only marked.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from octavo.text.bookmap.blocks import Blocks
from octavo.text.bookmap.marks import Cue, Run, Stretch
from octavo.text.english import list_words

if TYPE_CHECKING:
    from octavo.types import Span

RUN_MOST = 120
_CAPITAL = "A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĘĚĞĢĪĶŁŃŇŌŐŒŘŚŞŠŢŤŪŮŰŹŻŽΑ-ΩА-ЯЁ"
_SHORT = r"(?:Mr|Mrs|Ms|Messrs|Dr|St|Mt|Prof|Capt|Col|Gen|Lt|Sgt|Rev|Hon|Mme|Mlle|Jr|Sr|(?!I\b)[A-Z])\."
_WORD = rf"(?!(?:I|O|Oh|Ah)\b)[{_CAPITAL}]\w*(?:['’‑-][^\W\d_]\w*)*"
_SMALL = r"of the|of|de la|de|von|van der|van|du|di|da|del|la|le|bin|ibn"
_RUN = re.compile(
    rf"(?<![\w/@#$&:.<-])(?:{_SHORT}|{_WORD})(?: (?:(?:{_SMALL}) )?(?:{_SHORT}|{_WORD})){{0,7}}"
)
_OWNER = re.compile(r"['’]s(?= |$)|(?<=s)['’](?= |$)")
_LETTER = re.compile(r"[^\W\d_]|\d")
_BEFORE = re.compile(r"([^\W\d_]+) $")
_AFTER = re.compile(r",? ([^\W\d_]+)")
_PERSON = re.compile(r"\b(?:who|whose|whom|he|his|him|himself|she|her|herself)\b")
_OPENING = frozenset('“”"‘(:;—–!?….[*•|>')
_ONE_OF = frozenset(["a", "an", "every", "each", "no", "any", "some", "many", "several", "these", "those"])
_PLACE = frozenset(["in", "at", "from", "to", "near", "into", "toward", "towards", "off", "round", "around"])
_NAMED = frozenset(["named", "called", "surnamed", "nicknamed", "christened"])
# How far a pronoun may stand from the name that it is taken for.
_REACH = 80


def find_runs(text: str, sentences: Sequence[Stretch], blocks: Sequence[Span]) -> Iterator[Run]:
    """Yield the capitalised runs of a text in order, outside code and tables."""
    opening = {_find_letter(text, sentence) for sentence in sentences}
    inside = Blocks(blocks)
    ends = [sentence.end for sentence in sentences]
    titles = _TitleLines(text)
    for match in _RUN.finditer(text):
        if inside.hold(match.start()):
            continue
        for start, end, owns in _split_owners(text, match.start(), match.end()):
            at = bisect_right(ends, start)
            stop = ends[at] if at < len(ends) else len(text)
            cues = _read_cues(text, start, end, stop)
            if start in opening or text[start - 1 : start] in _OPENING or _follows_mark(text, start):
                cues |= Cue.OPENS
            if titles.hold(start) or _is_shouted(text[start:end]):
                cues |= Cue.TITLE_CASE
            yield Run(start, end, int(cues | Cue.OWNS if owns else cues))


def _find_letter(text: str, sentence: Stretch) -> int:
    """Return where the first letter or digit of a sentence stands."""
    found = _LETTER.search(text, sentence.start, sentence.end)
    return found.start() if found else sentence.start


def _follows_mark(text: str, start: int) -> bool:
    """Tell whether the last mark before a space says that something new begins."""
    return text[start - 1 : start].isspace() and text[start - 2 : start - 1] in _OPENING


def _is_shouted(run: str) -> bool:
    """Tell whether a run is in capitals for emphasis. Up to six of them are taken for an abbreviation."""
    return run.isupper() and (len(run) > 6 or " " in run)


def _split_owners(text: str, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
    """Yield the parts of a run: "Ahab" and "Boat" of "Ahab’s Boat"."""
    while start < end:
        owner = _OWNER.search(text, start, min(end, start + RUN_MOST))
        stop = owner.start() if owner else min(end, start + RUN_MOST)
        if stop > start:
            yield start, stop, owner is not None
        if owner is None:
            return
        start = owner.end() + 1


def _read_cues(text: str, start: int, end: int, stop: int) -> Cue:
    """Read the words before and after a run. `stop` is where its sentence ends."""
    before = _BEFORE.search(text, max(0, start - 20), start)
    after = _AFTER.match(text, end, end + 30)
    lead = before[1].lower() if before else ""
    follows = after[1] if after else ""
    speech = list_words("speech_verbs")
    found = Cue(0)
    if lead == "the":
        found |= Cue.THE
    elif lead in _PLACE:
        found |= Cue.PLACE
    elif lead in _ONE_OF:
        found |= Cue.ONE_OF
    elif lead in _NAMED or (
        lead in ("is", "was") and text[max(0, start - 9) : start].endswith(f"name {lead} ")
    ):
        found |= Cue.NAMED
    if lead in speech or follows in speech:
        found |= Cue.SPEAKS
    if _PERSON.search(text, end, min(stop, end + _REACH)):
        found |= Cue.PERSON
    return found


class _TitleLines:
    """Tells which lines are headings by their capitals. Each line is looked at once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._end = -1
        self._found = False

    def hold(self, at: int) -> bool:
        if at > self._end:
            begin = self._text.rfind("\n", 0, at) + 1
            end = self._text.find("\n", at)
            self._end = len(self._text) if end < 0 else end
            self._found = _is_title(self._text[begin : min(self._end, begin + 121)])
        return self._found


def _is_title(line: str) -> bool:
    """Tell whether most of a short line's longer words have capitals."""
    if len(line) > 120:
        return False
    words = [word for word in re.findall(r"[^\W\d_]+", line) if len(word) > 3]
    return not line.rstrip().endswith((".", ",", ";")) and 2 * sum(w[0].isupper() for w in words) > len(words)
