"""Find the items of a list that the book does not mark as one.

A book may list things in paragraphs or sentences that are built alike. Four forms are known: short paragraphs
that name a thing, with what is said of it after them ("Temperance."); paragraphs that open with a name
("Thomas Godfrey, a mathematician, …"); sentences or paragraphs that open with a title ("The sister
theory—…"); and sentences that are counted ("First, …"). Where the lead-in says how many items there are and
ends with a colon, the next sentences or paragraphs are the items, whatever their form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, NamedTuple

from octavo.text.english import find_number_words
from octavo.types import ElementKind

if TYPE_CHECKING:
    from octavo.verification.claims import Sentence

# The most words of a paragraph that only names a thing, and more items than any list is asked for by number.
LABEL_MOST, COUNT_MOST = 3, 50
_LEADS = re.compile(r"\b(?:following|follows|below|these)\b", re.IGNORECASE)
_NAMED = re.compile(r"(?:[Aa]nd )?[A-Z][\w’'.-]+(?: [A-Z][\w’'.-]+)+,")
_TITLED = re.compile(r"[A-Z][^.:;,?!“”\"—–]{2,50}(?:—|–| - |: )")
_LABEL = re.compile(r"[A-Z][^?!“”\"‘]*")
_COUNTED = re.compile(
    r"(?:and |but )?(?:the )?(?P<number>first|second|third|fourth|fifth|sixth|seventh|eighth|finally|last)"
    r"(?:ly)?\b(?! (?:time|day|night|thing|glance|sight|place))",
    re.IGNORECASE,
)
_ORDER = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_LAST = len(_ORDER)


class Run(NamedTuple):
    """The items of a list in order, each by its first sentence, and the sentence that leads in to them."""

    lead: Sentence | None
    items: list[Sentence]


def leads_in(text: str) -> bool:
    """Whether a sentence says that a list comes next."""
    return text.rstrip().endswith(":") or _LEADS.search(text) is not None


def find_counts(text: str) -> set[int]:
    """Find the numbers of things that a text names, in digits or words, from two up."""
    found = {*re.findall(r"(?<![\w.,])\d{1,2}(?![\w.,]\w|\w)", text), *find_number_words(text)}
    return {int(number) for number in found if 1 < int(number) < COUNT_MOST}


def find_run(quoted: Sequence[Sentence], seen: Sequence[Sentence], *, count: int | None) -> Run | None:
    """Find the list that a quotation belongs to or leads in to among the sentences of its section, in order.

    `count` is how many items the question asks for, if it says so.
    """
    blocks = [list(held) for _, held in groupby(seen, key=lambda sentence: sentence.block)]
    places = {sentence.start for sentence in quoted}
    for run in _find_runs(blocks, count):
        inside = any(item.start in places for item in run.items)
        if inside or (run.lead is not None and run.lead.start in places):
            return Run(run.lead, run.items[:count])
    return None


def _find_runs(blocks: Sequence[Sequence[Sentence]], count: int | None) -> Iterator[Run]:
    """Yield the runs of a section, those of a surer form first."""
    yield from _find_labels(blocks)
    if count is not None:
        yield from _find_announced(blocks, count)
    yield from _find_alike(blocks, _NAMED, sure=True)
    yield from _find_alike(blocks, _TITLED, sure=False)
    for number, block in enumerate(blocks):
        yield from _find_titled(blocks, number)
        yield from _find_counted([s for later in blocks[number:] for s in later], block)


def _find_labels(blocks: Sequence[Sequence[Sentence]]) -> Iterator[Run]:
    """Yield short paragraphs after a lead-in with a colon. One paragraph after each may explain it."""
    for number, block in enumerate(blocks[:-1]):
        if not block[-1].text.rstrip().endswith(":"):
            continue
        items: list[Sentence] = []
        explained = True
        for held in blocks[number + 1 :]:
            is_label = _is_label(held)
            if not is_label and explained:
                break
            explained = not is_label
            items += held[:1] if is_label else []
        if len(items) > 2:
            yield Run(block[-1], items)


def _is_label(block: Sequence[Sentence]) -> bool:
    """Whether a paragraph only names a thing."""
    text = block[0].text.strip()
    short = len(block) == 1 and len(text.split()) <= LABEL_MOST and _is_prose(block)
    return short and _LABEL.fullmatch(text) is not None


def _is_prose(block: Sequence[Sentence]) -> bool:
    return block[0].block.kind is ElementKind.PARAGRAPH


def _find_announced(blocks: Sequence[Sequence[Sentence]], count: int) -> Iterator[Run]:
    """Yield what follows a lead-in with a colon that says how many items there are."""
    for number, block in enumerate(blocks[:-1]):
        lead, after = block[-1], blocks[number + 1 :]
        if lead.text.rstrip().endswith(":") and count in find_counts(lead.text):
            if len(after[0]) == count:
                yield Run(lead, list(after[0]))
            elif len(after) >= count and all(map(_is_prose, after[:count])) and len(after[0]) < count:
                yield Run(lead, [held[0] for held in after[:count]])


def _find_alike(blocks: Sequence[Sequence[Sentence]], form: re.Pattern[str], *, sure: bool) -> Iterator[Run]:
    """Yield neighbouring paragraphs that open alike. Unless that is `sure`, a lead-in must announce them."""
    at = 0
    while at < len(blocks):
        held = list(takewhile(lambda block: _is_prose(block) and form.match(block[0].words), blocks[at:]))
        lead = blocks[at - 1][-1] if at and _is_prose(blocks[at - 1]) else None
        if len(held) > 1 and (sure or (lead is not None and leads_in(lead.text))):
            yield Run(lead, [block[0] for block in held])
        at += len(held) or 1


def _find_titled(blocks: Sequence[Sequence[Sentence]], number: int) -> Iterator[Run]:
    """Yield the sentences of one paragraph if each opens with a title."""
    block = blocks[number]
    before = blocks[number - 1][-1] if number else None
    for first in (0, 1):
        items = list(takewhile(lambda sentence: _TITLED.match(sentence.words), block[first:]))
        if len(items) > 1 and _is_prose(block):
            yield Run(block[0] if first else before, items)


def _find_counted(later: Sequence[Sentence], block: Sequence[Sentence]) -> Iterator[Run]:
    """Yield the sentences that are counted from "first" on, if the first stands in this paragraph."""
    for number, sentence in enumerate(block):
        if _read_ordinal(sentence) != 0:
            continue
        items = [sentence]
        for other in later[later.index(sentence) + 1 :]:
            found = _read_ordinal(other)
            if found == 0:
                break
            if found in (len(items), _LAST):
                items.append(other)
            if found == _LAST:
                break
        if len(items) > 1:
            yield Run(block[number - 1] if number else None, items)


def _read_ordinal(sentence: Sentence) -> int | None:
    """Read the place that a sentence opens with, from 0 on; "finally" is `_LAST`."""
    found = _COUNTED.match(sentence.words)
    number = found["number"].lower() if found else ""
    return _LAST if number in ("finally", "last") else _ORDER.index(number) if number else None
