"""Follow a sentence that only says where a list is: "You can find a list of the keywords in Appendix A."

Who asks for the list wants what stands there, so its lead-in and items are told in place of the pointer. The
links of the sentence say where, or the part that it names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from octavo.answers.lists import join_neighbours, read_first_list
from octavo.answers.parts import resolve_part
from octavo.answers.questions import parse_question
from octavo.text.english import tokenize

if TYPE_CHECKING:
    from octavo.answers.workspace import Workspace
    from octavo.types import Section
    from octavo.verification.claims import Claim, Sentence

_PART = r"(?P<part>(?:appendix|chapter|section|part|annex) (?-i:[A-Z\d])[\w.]*\b)"
_POINTS = re.compile(
    rf"\b(?:list|table|overview)\b.{{0,200}}?\b(?:in|see|at) (?:the )?[“\"]?{_PART}"
    rf"|\blisted in (?:the )?[“\"]?{_PART}".replace("?P<part>", "?:"),
    re.IGNORECASE,
)
_NAMED = re.compile(_PART, re.IGNORECASE)
# Words of a question that say where to look, and not what for.
_MEANT = frozenset(token.stem for token in tokenize("list listed table overview find found"))


def points_to_list(text: str) -> bool:
    """Whether a sentence only says where a list is."""
    return _POINTS.search(text) is not None and not text.rstrip().endswith(":")


async def follow_pointers(
    claims: Sequence[Claim], workspace: Workspace, *, question: str
) -> tuple[Claim, ...]:
    """Tell the list that a claim points to, if it or its heading is about what the question asks for.

    Where it is not found, the claims without those that point are told.
    """
    about = frozenset(focus.stem for focus in parse_question(question).focus) - _MEANT
    known = {sentence.id: sentence for sentence in workspace}
    pointers = [c for c in claims if c.sentences and points_to_list(known[c.sentences[-1]].text)]
    for claim in pointers:
        for section in await _find_targets(known[claim.sentences[-1]], workspace):
            listed = await read_first_list(section, workspace, about=about)
            if listed:
                return tuple(join_neighbours(listed))
    return tuple(claim for claim in claims if claim not in pointers)


async def _find_targets(sentence: Sentence, workspace: Workspace) -> list[Section]:
    """Find the sections that a sentence links to or names, with those under them."""
    places = {
        str(element.attributes["section"])
        for element in await workspace.read_markup(sentence)
        if sentence.start <= element.start < sentence.end and "section" in element.attributes
    }
    sections, visible = await workspace.list_sections_of(sentence.chunk.book_id)
    named = _NAMED.search(sentence.text)
    if not places and named is not None:
        part = resolve_part(named["part"], sections)
        places = {part.sections[0].id} if part else set()
    return [s for s in sections if s.id in visible and places & {s.id, *s.ancestors}]
