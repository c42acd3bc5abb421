"""Find what a section says first that is titled as the thing that is asked for.

A manual often tells under a heading what it names, without naming it again: "Here Documents" begins with
"This type of redirection …". No reader model takes that for an answer to "what is a here document?".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.answers.extract import (
    is_apparatus,
    is_headline,
    is_list_item,
    is_reference,
    says_nothing,
)
from octavo.answers.parts import drop_number
from octavo.text.english import tokenize
from octavo.types import ElementKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from octavo.answers.workspace import Workspace
    from octavo.verification.claims import Sentence

# So many sentences of the beginning are quoted, if they have no more words than this.
MOST_SENTENCES, MOST_WORDS = 2, 80
# A longer section tells more than what a thing is. What begins later is not how a section begins: of chosen
# pages, the first may begin in the middle of it.
LONGEST, LATEST = 6_000, 300
_ENDS = (".", "!", ".)", ".”", '."')


async def find_headed(name: str, workspace: Workspace) -> list[Sentence]:
    """Find the first sentences of a section that is titled so, if they may be taken for a definition.

    Either they have the name, or the section is a short one below another heading: the chapter of a novel
    that has a name for its title does not begin with what that is. The section is one that was found.
    """
    found = [sentence for sentence in workspace if _is_titled(sentence, name)]
    if not found:
        return []
    first = min(found, key=lambda sentence: sentence.chunk.document_position)
    seen = await workspace.look_around(first)
    opening = _choose_opening(seen)
    if not opening or opening[0].start > LATEST:
        return []
    named = _collect_stems(name) <= _collect_stems(" ".join(sentence.text for sentence in opening))
    within = len(first.chunk.heading_path) > 1 and seen[-1].end <= LONGEST
    return await workspace.take(opening) if named or within else []


def _is_titled(sentence: Sentence, name: str) -> bool:
    title = sentence.chunk.heading_path[-1] if sentence.chunk.heading_path else ""
    wanted = _collect_stems(name)
    return bool(wanted) and not is_apparatus(title) and _collect_stems(drop_number(title)) == wanted


def _choose_opening(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Choose the first sentences of prose, which follow each other in one passage."""
    chosen: list[Sentence] = []
    for sentence in sentences:
        if not _is_prose(sentence):
            if chosen or is_list_item(sentence):
                break
            continue
        words = sum(len(one.text.split()) for one in (*chosen, sentence))
        if words > MOST_WORDS or (chosen and sentence.chunk.id != chosen[0].chunk.id):
            break
        chosen.append(sentence)
        if len(chosen) == MOST_SENTENCES:
            break
    return chosen


def _is_prose(sentence: Sentence) -> bool:
    text = sentence.text.rstrip()
    if is_list_item(sentence) or sentence.kind is ElementKind.CODE or is_headline(text):
        return False
    return text.endswith(_ENDS) and not says_nothing(sentence) and not is_reference(text)


def _collect_stems(text: str) -> frozenset[str]:
    return frozenset(token.stem for token in tokenize(text) if not token.stop)
