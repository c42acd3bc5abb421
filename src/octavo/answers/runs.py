"""Find the items of a list that the book does not mark as one.

A book may list things in paragraphs or sentences that are built alike. Four forms are known: short paragraphs
that name a thing, with what is said of it after them ("Temperance."); paragraphs that open with a name
("Thomas Godfrey, a mathematician, …"); sentences or paragraphs that open with a title ("The sister
theory—…"); and sentences that are counted ("First, …"). Where the lead-in says how many items there are and
ends with a colon, the next sentences or paragraphs are the items, whatever their form. Where it says how many
there are and just as many have titles or are counted after it, those are the items, whatever stands between.

Sentences may be built alike by chance: a form is a list only after a lead-in, or where its marks leave no
doubt.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from functools import partial
from itertools import chain, groupby, takewhile
from typing import TYPE_CHECKING, NamedTuple

from octavo.text.english import find_number_words
from octavo.types import ElementKind

if TYPE_CHECKING:
    from octavo.verification.claims import Sentence

# How far before and after a quotation its list is looked for, in characters, if it does not say its length.
REACH = 2_000
# The most words of a paragraph that only names a thing, and more items than any list is asked for by number.
LABEL_MOST, COUNT_MOST = 3, 50
_LEADS = re.compile(r"\b(?:following|follows|below|these)\b", re.IGNORECASE)
# What leads in to sentences that no mark makes a list: "these" alone is not enough, nor "the following day".
_LEADS_ON = re.compile(
    r":\s*$|\bas follows\b|\bbelow\W*$|\b(?:are|were) these\W*$|^\W*these (?:are|were)\b"
    r"|\bthe following\b(?! (?:day|morning|afternoon|evening|night|week|month|year|spring|summer|autumn)\b)",
    re.IGNORECASE,
)
_NAME = r"[A-Z][\w’'.-]+"
_NAMED = re.compile(rf"(?:[Aa]nd )?{_NAME}(?: {_NAME})+,")
# "The first members were Joseph Breintnal, …" names the first item itself.
_NAMES_FIRST = re.compile(rf"\b[a-z]+s\b[^.:;,]{{0,60}} (?:are|were|included?) {_NAME}(?: {_NAME})*,")
_NO_PERSON = re.compile(
    r"(?:[Aa]nd )?[^,]*\b(?:Street|Road|Lane|Avenue|Square|Hill|Bridge|River|Lake|Hall|House|Church|County"
    r"|Island|Mount|Bay|Park|Harbou?r|Castle|City|Valley|College|School|Company|Society|Club),"
)
_TITLED = re.compile(r"(?P<title>[A-Z][^.:;,?!“”\"—–]{2,50}?)\s?(?:—|–| - |: )")
_ASIDE = re.compile(
    r"(?:notes?|warning|caution|tip|hint|remark|example|important|figure|table|see|source)\b[^a-z]",
    re.IGNORECASE,
)
_LABEL = re.compile(r"[A-Z][^?!“”\"‘]*")
_COUNTED = re.compile(
    r"(?:and |but )?(?P<the>the )?"
    r"(?P<number>first|second|third|fourth|fifth|sixth|seventh|eighth|finally|last)"
    r"(?:ly)?\b(?P<comma>,)?(?! (?:time|day|night|thing|glance|sight|place))",
    re.IGNORECASE,
)
# What lists are lists of.
_KIND = (
    r"(?:reason|cause|way|kind|sort|type|step|stage|thing|point|part|rule|ground|objection|argument|advantage"
    r"|condition|method)"
)
_KINDS = re.compile(rf"\b{_KIND}s\b", re.IGNORECASE)
# How a sentence goes on that is counted as one of several.
_OF_A_LIST = re.compile(
    rf"{_COUNTED.pattern}(?:\s(?:is|was|are|were|of these|one|and (?:last|most))\b|(?<=,)\s"
    rf"|\s(?:\w+\s)?{_KIND}\b)",
    re.IGNORECASE,
)
_ASKED_COUNT = re.compile(
    r"\b(?:what|which|who|name|list|enumerate|tell me|give me)(?: are| were)?(?: all)?"
    r"(?: (?:the|his|her|its|their|these|those)| [\w-]+['’]s?)?(?: first| last| main)?"
    r" (?P<number>\d{1,2}|[a-z]+(?:-[a-z]+)?)"
    r"(?: (?!(?:of|in|on|at|from|and|or|do|does|did|is|are|was|were|has|have|had|can)\b)[\w-]+){0,3}?"
    r" (?:[a-z]{2,}(?<!s)s|men|women|people|children)\b(?!['’])",
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


def find_asked_count(question: str) -> int | None:
    """Find how many things a question asks for: "the three theories", but not "chapter 2" or "in 1850"."""
    found = _ASKED_COUNT.search(question)
    # A word after the number ends it.
    counts = find_counts(f"{found['number']} things") if found else set()
    return next(iter(counts), None)


def find_run(quoted: Sequence[Sentence], seen: Sequence[Sentence], *, count: int | None) -> Run | None:
    """Find the list that a quotation belongs to or leads in to among the sentences of its section, in order.

    `count` is how many items the question asks for, if it says so.
    """
    near = [s for s in seen if quoted[0].start - REACH <= s.start and s.end <= quoted[-1].end + REACH]
    places = {sentence.start for sentence in quoted}
    for run in chain(_find_announced_by_number(_group(seen)), _find_runs(_group(near), count)):
        inside = any(item.start in places for item in run.items)
        if inside or (run.lead is not None and run.lead.start in places):
            return Run(run.lead, run.items[:count])
    return None


def _group(sentences: Sequence[Sentence]) -> list[list[Sentence]]:
    return [list(held) for _, held in groupby(sentences, key=lambda sentence: sentence.block)]


def _find_runs(blocks: Sequence[Sequence[Sentence]], count: int | None) -> Iterator[Run]:
    """Yield the runs of a section, those of a surer form first."""
    yield from _find_labels(blocks)
    if count is not None:
        yield from _find_announced(blocks, count)
    yield from _find_alike(blocks, _NAMED)
    yield from _find_alike(blocks, _TITLED)
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


def _find_announced_by_number(blocks: Sequence[Sequence[Sentence]]) -> Iterator[Run]:
    """Yield what has titles in a paragraph, or is counted, after a sentence that says how many there are.

    It has to say of what kind: "three reasons", and not "two days".
    """
    prose = [sentence for block in blocks if _is_prose(block) for sentence in block]
    openers = {block[0].start: block for block in blocks}
    for number, sentence in enumerate(prose[1:], start=1):
        lead, block = prose[number - 1], openers.get(sentence.start)
        titled = block is not None and _has_colon(sentence)
        if not (titled or _read_ordinal(sentence) == 0) or not (counts := _find_announced_counts(lead)):
            continue
        items = [s for s in block if _has_colon(s)] if block is not None and titled else []
        if not titled:
            items = _count_on(sentence, prose[number + 1 :], lead)
            items = items if _are_of_one_list(items, openers) else []
        if len(items) in counts:
            yield Run(lead, items)


def _find_announced_counts(lead: Sentence) -> set[int]:
    """Find the numbers that a sentence says there are of something: three of "objections of three kinds"."""
    before = (lead.text[max(0, kind.start() - 40) : kind.start()] for kind in _KINDS.finditer(lead.text))
    said = (re.search(r"(?:[\w-]+\W+){1,2}$", text) for text in before)
    return {count for found in said if found for count in find_counts(f"{found[0]}things")}


def _has_colon(sentence: Sentence) -> bool:
    """Whether a sentence opens with a title and a colon."""
    found = _TITLED.match(sentence.words) if _is_titled(sentence) else None
    return found is not None and found[0].endswith(": ")


def _are_of_one_list(items: Sequence[Sentence], openers: Container[int]) -> bool:
    """Whether what is counted is counted as one: "The second is …", "The second objection …", "Second, …".

    "The second floor" is none of the reasons. What stands in another paragraph opens it.
    """
    together = all(item.start in openers or item.block == items[0].block for item in items)
    return together and all(_OF_A_LIST.match(item.words) for item in items)


def _count_on(first: Sentence, following: Sequence[Sentence], lead: Sentence | None) -> list[Sentence]:
    """Select the sentences that are counted from the first on, until counting begins anew."""
    items = [first]
    for other in following:
        found = _read_ordinal(other)
        if found == 0:
            break
        if found == len(items) or (found == _LAST and _ends(items, other, lead)):
            items.append(other)
        if items[-1] is other and found == _LAST:
            break
    return items


def _find_alike(blocks: Sequence[Sequence[Sentence]], form: re.Pattern[str]) -> Iterator[Run]:
    """Yield neighbouring paragraphs that open alike after a lead-in."""
    at = 0
    while at < len(blocks):
        is_alike = partial(_is_alike, first=blocks[at][0], form=form)
        items = list(takewhile(is_alike, (block[0] for block in takewhile(_is_prose, blocks[at:]))))
        lead = blocks[at - 1][-1] if at and _is_prose(blocks[at - 1]) else None
        if len(items) > 1 and lead is not None and (_leads_on(lead) or _names_first(lead, form)):
            yield Run(lead, items)
        at += len(items) or 1


def _is_alike(sentence: Sentence, *, first: Sentence, form: re.Pattern[str]) -> bool:
    """Whether a sentence has a form as the first one has it: a street is not named among persons."""
    words = sentence.words
    same = bool(_NO_PERSON.match(words)) == bool(_NO_PERSON.match(first.words))
    return form.match(words) is not None and same and not _ASIDE.match(words)


def _is_titled(sentence: Sentence) -> bool:
    return _TITLED.match(sentence.words) is not None and not _ASIDE.match(sentence.words)


def _leads_on(lead: Sentence | None) -> bool:
    return lead is not None and _LEADS_ON.search(lead.text) is not None


def _names_first(lead: Sentence, form: re.Pattern[str]) -> bool:
    return form is _NAMED and _NAMES_FIRST.search(lead.words) is not None


def _find_titled(blocks: Sequence[Sequence[Sentence]], number: int) -> Iterator[Run]:
    """Yield the sentences of one paragraph if each opens with a title.

    They need a lead-in, unless the titles are of one kind: "The lamp theory—…", "The storm theory—…".
    """
    block = blocks[number]
    before = blocks[number - 1][-1] if number else None
    for first in (0, 1):
        lead = block[0] if first else before
        items = list(takewhile(_is_titled, block[first:]))
        if len(items) < 2 or not _is_prose(block):
            continue
        if _leads_on(lead):
            yield Run(lead, items)
        elif len(kinds := {_read_kind(item) for item in items}) == 1 and kinds != {""}:
            yield Run(None, items)


def _read_kind(item: Sentence) -> str:
    """Read what a title is one of: "theory" of "The lamp theory—"; "" if it does not say."""
    found = _TITLED.match(item.words)
    words = found["title"].lower().split() if found else []
    return words[-1] if len(words) > 2 and words[0] == "the" else ""


def _find_counted(later: Sequence[Sentence], block: Sequence[Sentence]) -> Iterator[Run]:
    """Yield the sentences that are counted from "first" on, if the first stands in this paragraph.

    "First, …", "Second, …" are surely counted; "The first ship …" only after a lead-in.
    """
    for number, sentence in enumerate(block):
        if _read_ordinal(sentence) != 0:
            continue
        lead = block[number - 1] if number else None
        items = _count_on(sentence, later[later.index(sentence) + 1 :], lead)
        leads = lead is not None and (_leads_on(lead) or len(items) in find_counts(lead.text))
        surely = all(map(_is_marked, items))
        if len(items) > 1 and (leads or surely):
            named = leads or (lead is not None and _KINDS.search(lead.text) is not None)
            yield Run(lead if named else None, items)


def _ends(items: Sequence[Sentence], last: Sentence, lead: Sentence | None) -> bool:
    """Whether "finally" or "last" ends a list: in the paragraph of the lead-in, or with a comma.

    In a later paragraph it ends no list of which only the first item was told.
    """
    inside = last.block == items[0].block
    return (inside and lead is not None) or (_is_marked(last) and (inside or len(items) > 1))


def _is_marked(sentence: Sentence) -> bool:
    """Whether a sentence opens with a number and a comma: "First, …"."""
    found = _COUNTED.match(sentence.words)
    return found is not None and found["the"] is None and found["comma"] is not None


def _read_ordinal(sentence: Sentence) -> int | None:
    """Read the place that a sentence opens with, from 0 on; "finally" is `_LAST`."""
    found = _COUNTED.match(sentence.words)
    number = found["number"].lower() if found else ""
    return _LAST if number in ("finally", "last") else _ORDER.index(number) if number else None
