"""Quote what a sentence announces.

"After some time he took this other method." and "It is done as follows." say little without what comes next.
Such a sentence is quoted together with the next ones, as far as the limit of words allows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from octavo.answers.references import is_caption
from octavo.answers.short import count_words
from octavo.types import ElementKind
from octavo.verification.claims import CatalogueClaim

if TYPE_CHECKING:
    from octavo.answers.workspace import Workspace
    from octavo.verification.claims import Claim, Sentence

# How many sentences are added.
MOST_AFTER = 3
_MEANS = (
    r"(?:method|ways?|plan|means|trick|scheme|device|expedient|stratagem|course|procedure|technique|approach"
    r"|remedy|solution|steps|idea)"
)
_ANNOUNCES = re.compile(
    rf":\s*$|\bas follows\W*$|\b(?:in )?the following (?:\w+ )?(?:manner|fashion|order|words|{_MEANS})\W*$"
    rf"|\b(?:this|these)(?: \w+)? {_MEANS}[.;]?\s*$"
    r"|\b(?:works?|worked|happen(?:s|ed)|went|goes|(?:is|was) (?:done|made)|did it|do it) like this\W*$"
    r"|^\W*(?:this|here) is how\b"
    rf"|\b{_MEANS} (?:is|was) this\W*$"
    r"|^\W*(?:his|her|their|its|the) (?:method|procedure|technique) (?:is|was) an? (?:\w+ )?\w+ one\b",
    re.IGNORECASE,
)
# "She was found in this way." looks back, unlike "he tried this way".
_BACK = re.compile(
    r"\b(?:in|by|no|any|not|than|for) (?:this|these|another)(?! other)(?: \w+)? \w+[.;]?\s*$", re.IGNORECASE
)


def announces(text: str) -> bool:
    """Whether a sentence says that something comes next, and not yet what."""
    return _ANNOUNCES.search(text) is not None and _BACK.search(text) is None


async def add_announced(claims: Sequence[Claim], workspace: Workspace, *, most: int) -> tuple[Claim, ...]:
    """Quote with the first claim that announces something the sentences after it, within `most` words.

    The claims after it give way, because what is announced belongs to the answer.
    """
    sentences = {sentence.id: sentence for sentence in workspace}
    said = {sentences[id_].start for claim in claims for id_ in claim.sentences}
    for number, claim in enumerate(claims):
        last = sentences[claim.sentences[-1]] if claim.sentences else None
        if last is None or isinstance(claim, CatalogueClaim) or not announces(last.text):
            continue
        left = most - sum(count_words(one.text) for one in claims[: number + 1])
        after = await _find_after(last, workspace, left=left)
        if after and after[0].start not in said:
            whole = _join(claim, last, await workspace.take(after))
            kept = [*claims[:number], whole]
            return (*kept, *_limit(claims[number + 1 :], kept, most=most))
    return tuple(claims)


async def _find_after(last: Sentence, workspace: Workspace, *, left: int) -> list[Sentence]:
    """Find the sentences after one: those of its paragraph, or else of the next, within `left` words."""
    seen = await workspace.look_around(last)
    later = [s for s in seen if s.start >= last.end and not is_caption(s)]
    inside = [s for s in later if s.block == last.block] or [s for s in later if s.block == later[0].block]
    found: list[Sentence] = []
    for sentence in takewhile(lambda s: s.kind is not ElementKind.HEADING, inside[:MOST_AFTER]):
        left -= count_words(sentence.text)
        if left < 0:
            break
        found.append(sentence)
    return found


def _limit(claims: Sequence[Claim], kept: Sequence[Claim], *, most: int) -> list[Claim]:
    """Keep the claims that fit with those that are kept and do not repeat them."""
    said = {id_ for claim in kept for id_ in claim.sentences}
    left = most - sum(count_words(claim.text) for claim in kept)
    rest: list[Claim] = []
    for claim in claims:
        if count_words(claim.text) <= left and not said & set(claim.sentences):
            left -= count_words(claim.text)
            rest.append(claim)
    return rest


def _join(claim: Claim, last: Sentence, after: Sequence[Sentence]) -> Claim:
    """Put sentences after a claim, with the book's own space between them where they adjoin."""
    text = claim.text
    for before, sentence in zip((last, *after[:-1]), after, strict=True):
        chunk = before.chunk
        between = chunk.content[before.end - chunk.start : sentence.start - chunk.start]
        adjoins = sentence.chunk.id == chunk.id and between and not between.strip()
        text += (between if adjoins else " ") + sentence.text
    return replace(claim, text=text, sentences=(*claim.sentences, *(s.id for s in after)))
