"""Find what a section says first that is titled as the thing that is asked for.

A manual often tells under a heading what it names, without naming it again: "Here Documents" begins with
"This type of redirection …". No reader model takes that for an answer to "what is a here document?".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from octavo.answers.extract import (
    is_apparatus,
    is_headline,
    is_list_item,
    is_reference,
    says_nothing,
)
from octavo.answers.parts import drop_number, fold_title
from octavo.types import ElementKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from octavo.answers.workspace import Workspace
    from octavo.verification.claims import Sentence

# So many sentences of the beginning are quoted, if they have no more words than this.
MOST_SENTENCES, MOST_WORDS = 2, 80
# A longer section tells more than what a thing is.
LONGEST = 6_000
# A section that so often speaks of somebody tells a story, and does not begin with what its title is.
STORY = 0.02
_ENDS = (".", "!", ".)", ".”", '."')
_SOMEBODY = re.compile(r"\b(?:he|she|him|his|her|hers|said|i|my|me)\b", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:an?|the) ")
_PLURAL = re.compile(r"(?<=[a-z]{3})(?:(?<=[sxz])es|(?<=[cs]h)es|(?<!s)s)$")


async def find_headed(name: str, workspace: Workspace) -> list[Sentence]:
    """Find the first sentences of the section that is titled so, if they may be taken for a definition.

    It is one that was found, and the only one of that title: "Options" of a manual are those of each command.
    It is short, stands below another heading, and tells no story.
    """
    wanted = _fold(name)
    found = [
        s for s in workspace if s.chunk.heading_path[1:] and _is_titled(s.chunk.heading_path[-1], wanted)
    ]
    if not wanted or len({(one.chunk.book_id, one.chunk.section_id) for one in found}) != 1:
        return []
    seen = await workspace.look_around(found[0])
    if not seen or seen[0].start or seen[-1].end > LONGEST or tells_story(seen):
        return []
    opening = _choose_opening(seen)
    taken = await workspace.take(opening)
    return taken if len(taken) == len(opening) else []


def _is_titled(title: str, wanted: str) -> bool:
    return not is_apparatus(title) and wanted in (_fold(title), _fold(drop_number(title)))


def _fold(name: str) -> str:
    """Write a name in one way: without an article before it, and without the ending of a plural."""
    return _PLURAL.sub("", _ARTICLE.sub("", fold_title(name)))


def tells_story(sentences: Sequence[Sentence]) -> bool:
    """Whether sentences speak of somebody so often that they tell a story."""
    words = sum(len(sentence.text.split()) for sentence in sentences)
    return sum(len(_SOMEBODY.findall(sentence.text)) for sentence in sentences) > STORY * words


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
