"""Show what a quoted sentence points back to.

"It is not possible to use the assistant to do this type of transaction" says little without the sentence
before it. Such a sentence is quoted together with the one before, as far as the limit of words allows. No
other quotation gives way to it: on the tales, more was lost by that than gained.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from octavo.answers.short import count_words
from octavo.text.english import list_words, tokenize
from octavo.types import ElementKind
from octavo.verification.claims import CatalogueClaim, Claim

if TYPE_CHECKING:
    from octavo.answers.workspace import Workspace
    from octavo.types.markup import Element
    from octavo.verification.claims import Sentence

# How far before a sentence the one is looked for that it points to, in characters, and how many are added.
REACH, MOST_BEFORE = 800, 2
_OPENS = re.compile(
    r"[\"“'‘(]*(?:he|she|it|they|this|these|that|those|his|her|their|its|such an?|the (?:former|latter))\b",
    re.IGNORECASE,
)
# "It is possible to …" and "it seems that …" point at nothing.
_EMPTY_IT = re.compile(
    r"[\"“'‘(]*it(?:(?:['’]s| is| was| will be| would be| may be| might be| can be| has been)"
    r"(?: not| no| also| often| always| never| very| more| most| \w+ly)*"
    rf" (?:{'|'.join(sorted(list_words('empty_subject_words')))})\b| seems\b| appears that\b| turns out\b)",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"\b(?:this|these|such an?|the (?:former|latter))\b(?P<named>(?:[ -]\w+){0,3})", re.IGNORECASE
)
_CLAUSE = re.compile(r"[,;:—–]|\b(?:and|but|so|if|when|while|because|which|that|who)\b", re.IGNORECASE)
_CAPTION = re.compile(
    r"(?:figure|fig\.|table|listing|image|example)\s+[\dA-Z][\w.-]*\W*"
    r"|(?:an? )?(?:image|picture|screen ?shot|photograph|diagram) (?:of|showing)\b"
    r"(?!.*\b(?:is|are|was|were|has|have|had|will|can|must|hung|stood|lay)\b).*",
    re.IGNORECASE | re.DOTALL,
)
# "Those who come late …" says itself who is meant.
_EXPLAINED = re.compile(
    r"[\"“'‘(]*(?:those|they|he|she|that|it) (?:who|whom|whose|which|that)\b", re.IGNORECASE
)
_OPENS_THIS = re.compile(r"[\"“'‘(]*(?:this|these)\b(?P<named>(?:[ -]\w+){0,3})", re.IGNORECASE)
# "Ere this" means now.
_BY_NOW = re.compile(r"\b(?:ere|until|till) $", re.IGNORECASE)
# What follows a list or a listing points to what stands before it, and not to its last line.
_LISTED = frozenset((ElementKind.ITEM, ElementKind.ROW, ElementKind.CODE))
_PICTURED = frozenset((ElementKind.CAPTION, ElementKind.FIGURE, ElementKind.IMAGE))


def points_back(text: str) -> bool:
    """Whether a sentence names something only by pointing at what was said before it."""
    if _OPENS.match(text) and not _EMPTY_IT.match(text) and not _EXPLAINED.match(text):
        opening = _OPENS_THIS.match(text)
        return opening is None or not _means_itself(opening["named"])
    return any(_is_open(text, found) for found in _POINTS.finditer(text))


def _means_itself(named: str) -> bool:
    """Whether "this" and the words after it mean the book or its time: "this chapter", "these days"."""
    words = re.split(r" of\b", named.lower())[0].split()
    return not list_words("self_reference").isdisjoint((*words, *(word.removesuffix("s") for word in words)))


def _is_open(text: str, found: re.Match[str]) -> bool:
    """Whether "this" within a sentence has nothing in it to mean, and does not mean the book or its time.

    A term on the line before is something to mean. Who speaks in the book points at what the listener sees.
    """
    before = text[: found.start()]
    is_spoken = before.count("“") > before.count("”") or before.count('"') % 2 == 1
    if "\n" in before or is_spoken or _CLAUSE.search(before) or _means_itself(found["named"]):
        return False
    if _BY_NOW.search(before) and not found["named"]:
        return False
    named = [token for token in tokenize(found["named"]) if not token.stop]
    known = {token.stem for token in tokenize(before)}
    return not any(token.stem in known for token in named)


async def add_antecedents(claims: Sequence[Claim], workspace: Workspace, *, most: int) -> tuple[Claim, ...]:
    """Quote with each claim the sentences before it that it points back to, within `most` words."""
    said = {id_ for claim in claims for id_ in claim.sentences}
    whole = list(claims)
    for number, claim in enumerate(claims):
        before = await _find_before(claim, said, workspace)
        needed = sum(count_words(sentence.text) for sentence in before)
        if before and _count(whole) + needed <= most:
            whole[number] = _join(before, claim, workspace)
            said |= {sentence.id for sentence in before}
    return tuple(whole)


async def _find_before(claim: Claim, said: set[str], workspace: Workspace) -> list[Sentence]:
    """Find the sentences that the first one of a claim points back to, in the order of the book."""
    if isinstance(claim, CatalogueClaim) or not claim.sentences:
        return []
    first = next(sentence for sentence in workspace if sentence.id == claim.sentences[0])
    if not points_back(first.words):
        return []
    around = await workspace.read_around(first, first, reach=REACH)
    earlier = [s for s in around if s.end <= first.start and s.chunk.section_id == first.chunk.section_id]
    pictures = [element for element in await workspace.read_markup(first) if element.kind in _PICTURED]
    told = [
        s
        for s in earlier
        if (s.block == first.block or s.block.kind not in _LISTED)
        and not is_caption(s)
        and not is_label(s)
        and not _is_shown(s, pictures)
    ]
    found: list[Sentence] = []
    for sentence in reversed(told):
        if sentence.id in said or len(found) == MOST_BEFORE:
            break
        found.insert(0, sentence)
        if not _OPENS.match(sentence.words):
            break
    return found


def is_caption(sentence: Sentence) -> bool:
    """Whether a sentence only names a picture or a table, or says what a picture shows."""
    return sentence.kind in _PICTURED or _CAPTION.fullmatch(sentence.text) is not None


def is_label(sentence: Sentence) -> bool:
    """Whether a line is a heading, a word such as "Note" or a signature, and no sentence."""
    ends = sentence.text.rstrip().endswith((".", "!", "?", ":", "…", "”", "’", '"', ".)", "。"))
    return sentence.kind is ElementKind.HEADING or not ends


def _is_shown(sentence: Sentence, pictures: Sequence[Element]) -> bool:
    """Whether a sentence stands in the place of a picture or belongs to it."""
    return any(one.start <= sentence.start and sentence.end <= one.end for one in pictures)


def _join(before: Sequence[Sentence], claim: Claim, workspace: Workspace) -> Claim:
    """Put sentences before a claim, with the book's own space between them where they adjoin."""
    first = next(sentence for sentence in workspace if sentence.id == claim.sentences[0])
    lead = ""
    for sentence, after in zip(before, (*before[1:], first), strict=True):
        chunk = sentence.chunk
        between = chunk.content[sentence.end - chunk.start : after.start - chunk.start]
        adjoins = after.chunk.id == chunk.id and between and not between.strip()
        lead += sentence.text + (between if adjoins else " ")
    marks = tuple((start + len(lead), end + len(lead)) for start, end in claim.marks)
    ids = (*(sentence.id for sentence in before), *claim.sentences)
    return replace(claim, text=lead + claim.text, sentences=ids, marks=marks)


def _count(claims: Sequence[Claim]) -> int:
    return sum(count_words(claim.text) for claim in claims)
