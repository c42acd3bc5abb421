"""Complete a list of which an answer quotes a part: its lead-in, and all of its items in order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from octavo.answers.extract import is_list_item
from octavo.verification.claims import Claim

if TYPE_CHECKING:
    from octavo.answers.workspace import Workspace
    from octavo.verification.claims import Sentence

MOST_WORDS = 150
# How far before and after a quotation its list is looked for, in characters.
REACH = 2_000
_PLURAL = re.compile(
    r"\b(?:what|which|name|list)(?: are| were)?(?: all| some of)?(?: the| its| their)?(?: \w+){0,3}? "
    r"(?P<noun>[a-z]{2,}(?<!s)s)\b(?!['’])",
    re.IGNORECASE,
)
_SEVERAL = re.compile(r"^\s*(?:list|enumerate|name (?:the|all|some))\b|\bwho are\b", re.IGNORECASE)
_SINGULAR = re.compile(r"(?:us|is|ss|as|does|was|has)$", re.IGNORECASE)


def wants_several(question: str) -> bool:
    """Whether a question asks for several things: "which limits can be set?", "list the mates"."""
    if _SEVERAL.search(question):
        return True
    found = _PLURAL.search(question)
    return found is not None and not _SINGULAR.search(found["noun"])


async def complete_lists(claims: Sequence[Claim], workspace: Workspace) -> tuple[Claim, ...]:
    """Add what is missing of the first list that the claims quote a part of, within the limit of words."""
    sentences = {sentence.id: sentence for sentence in workspace}
    for number, claim in enumerate(claims):
        quoted = [sentences[id_] for id_ in claim.sentences]
        if _is_of_list(quoted[-1]) or is_list_item(quoted[0].text):
            before, after = await _find_rest(quoted, workspace)
            if before or after:
                rest = [c for c in claims[number + 1 :] if not set(c.sentences) & _list_ids(before + after)]
                kept = [c for c in claims[:number] if not set(c.sentences) & _list_ids(before + after)]
                return (*kept, *_make_claims(before), claim, *_make_claims(after), *rest)
    return tuple(claims)


async def _find_rest(
    quoted: Sequence[Sentence], workspace: Workspace
) -> tuple[list[Sentence], list[Sentence]]:
    """Find the items before a quotation up to the lead-in, and those after it."""
    around = await workspace.read_around(quoted[0], quoted[-1], reach=REACH)
    left = MOST_WORDS - sum(_count_words(sentence) for sentence in quoted)
    after: list[Sentence] = []
    last = quoted[-1]
    for sentence in (s for s in around if s.start >= quoted[-1].end):
        if is_list_item(sentence.text):
            left -= _count_words(sentence)
            if left < 0:
                break
            after.append(sentence)
        elif sentence.start - last.end > 1:
            # A new paragraph that is no item ends the list. The rest of an item is left out.
            break
        last = sentence
    before: list[Sentence] = []
    for sentence in reversed([s for s in around if s.end <= quoted[0].start]):
        left -= _count_words(sentence)
        if left < 0 or not is_list_item(quoted[0].text) or not _is_of_list(sentence):
            break
        before.insert(0, sentence)
        if not is_list_item(sentence.text):
            break
    # A single item is no list: a line that begins with a dash may be a signature.
    items = [sentence for sentence in (*before, *quoted, *after) if is_list_item(sentence.text)]
    if len(items) < 2:
        return [], []
    return before, after


def _is_of_list(sentence: Sentence) -> bool:
    """Whether a sentence is an item of a list or leads in to one."""
    return is_list_item(sentence.text) or sentence.text.rstrip().endswith(":")


def _list_ids(sentences: Sequence[Sentence]) -> set[str]:
    return {sentence.id for sentence in sentences}


def _make_claims(sentences: Sequence[Sentence]) -> list[Claim]:
    """Make one claim of sentences that follow each other in a passage."""
    runs: list[list[Sentence]] = []
    for sentence in sentences:
        if runs and _follow(runs[-1][-1], sentence):
            runs[-1].append(sentence)
        else:
            runs.append([sentence])
    claims = []
    for held in runs:
        chunk = held[0].chunk
        text = chunk.content[held[0].start - chunk.start : held[-1].end - chunk.start]
        claims.append(Claim(text=text, sentences=tuple(sentence.id for sentence in held)))
    return claims


def _follow(one: Sentence, other: Sentence) -> bool:
    """Whether nothing but white space stands between two sentences of one passage."""
    chunk = one.chunk
    between = chunk.content[one.end - chunk.start : other.start - chunk.start]
    return other.chunk.id == chunk.id and other.start >= one.end and not between.strip()


def _count_words(sentence: Sentence) -> int:
    return len(sentence.text.split())
