"""Complete a list of which an answer quotes a part: its lead-in, and all of its items in order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from octavo.answers.runs import REACH, find_asked_count, find_run, leads_in
from octavo.answers.workspace import READ_MOST, Workspace
from octavo.text.english import tokenize
from octavo.types.markup import Element, ElementKind
from octavo.verification.claims import Claim, Sentence

if TYPE_CHECKING:
    from octavo.types import Section

# The most words of a list, and of an answer with a list that also says something else.
MOST_WORDS, MOST_BESIDE = 200, 120
# The most characters between a lead-in and its list: white space, and the mark of the first item.
GAP = 4
Span = tuple[int, int]
Rest = tuple[list[Sentence], list[Sentence]]
# A verb has its object after it: "which key updates the list" asks for one thing.
_NO_VERB = r"(?<!\bhappens)(?! (?:the|an?|his|her|its|their|my|your|our|it|him|them|me|you|us)\b)"
_PLURAL = re.compile(
    r"\b(?:what|which|name|list|who)(?: are| were)?(?: all| some of)?(?: the| its| their)?(?: \w+){0,3}? "
    rf"(?P<noun>[a-z]{{2,}}(?<!s)s|men|women|people|children)\b(?!['’]){_NO_VERB}",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"^\s*(?:list|enumerate|name (?:the|all|some)|(?:the )?names of|(?:\w+ )?ways (?:to|of|in)|reasons)\b"
    r"|\bwho are\b|\bwhat kinds? of\b|\beach of\b|\ball of them\b"
    r"|\bwhat (?:does|do|did) .+ (?:contain|include|consist of|comprise)\W*$",
    re.IGNORECASE,
)
# What may have several answers, or one.
_MAYBE_SEVERAL = re.compile(
    r"^\s*what (?:should|can|could|must|may) (?:i|you|we|one)\b"
    r"|^\s*what (?:does|do|did) .+ (?:offer|support)\W*$",
    re.IGNORECASE,
)
_SINGULAR = re.compile(r"(?:us|is|ss|as|does|was|has)$", re.IGNORECASE)


def wants_several(question: str) -> bool:
    """Whether a question asks for several things: "which limits can be set?", "list the mates"."""
    if _SEVERAL.search(question):
        return True
    found = _PLURAL.search(question)
    return found is not None and not _SINGULAR.search(found["noun"])


def may_want_several(question: str) -> bool:
    """Whether a question asks for several things, or may: "what should I change?"."""
    return wants_several(question) or _MAYBE_SEVERAL.search(question) is not None


async def complete_lists(
    claims: Sequence[Claim], workspace: Workspace, *, question: str = ""
) -> tuple[Claim, ...]:
    """Add what is missing of the first list that the claims quote a part of, within the limit of words.

    Unless the `question` wants several things, only a list is completed whose lead-in is quoted.
    """
    sentences = {sentence.id: sentence for sentence in workspace}
    several, count = may_want_several(question), find_asked_count(question)
    for number, claim in enumerate(claims):
        quoted = [sentences[id_] for id_ in claim.sentences]
        if not several and not any(leads_in(sentence.text) for sentence in quoted):
            continue
        before, after = await _find_rest(quoted, workspace, count=count)
        # What leads in to a list has nothing of it before it.
        if (before or after) and (several or not before):
            rest = [c for c in claims[number + 1 :] if not set(c.sentences) & _list_ids(before + after)]
            kept = [c for c in claims[:number] if not set(c.sentences) & _list_ids(before + after)]
            whole = [*kept, *join_neighbours(before), claim, *join_neighbours(after)]
            return (*whole, *limit_rest(whole, rest))
    return tuple(claims)


def limit_rest(whole: Sequence[Claim], rest: Sequence[Claim]) -> list[Claim]:
    """Keep the claims after a list that fit with it."""
    left = MOST_BESIDE - sum(len(claim.text.split()) for claim in whole)
    kept = list[Claim]()
    for claim in rest:
        left -= len(claim.text.split())
        if left >= 0:
            kept.append(claim)
    return kept


def drop_lone_mark(claims: Sequence[Claim], sentences: Mapping[str, Sentence]) -> tuple[Claim, ...]:
    """Drop the number or bullet before an item of a list where no other item is quoted."""
    quoted = {id_: claim for claim in claims for id_ in claim.sentences if _is_marked(sentences[id_])}
    if len(quoted) != 1:
        return tuple(claims)
    ((id_, lone),) = quoted.items()
    mark = len(sentences[id_].text) - len(sentences[id_].words)
    if not lone.text.startswith(sentences[id_].text):
        return tuple(claims)
    marks = tuple((max(0, start - mark), end - mark) for start, end in lone.marks if end > mark)
    bare = replace(lone, text=lone.text[mark:], marks=marks)
    return tuple(bare if claim is lone else claim for claim in claims)


def _is_marked(sentence: Sentence) -> bool:
    return sentence.kind is ElementKind.ITEM and 0 < len(sentence.words.strip()) < len(sentence.text)


async def read_list(sentence: Sentence, workspace: Workspace) -> tuple[list[Sentence], int]:
    """Read the list that a sentence belongs to or leads in to, with its lead-in, or the sentence alone.

    It is read from its start, or from the sentence if that lies further on, up to `READ_MOST` passages.
    Returns its sentences, and how many of its items are not wholly among them.
    """
    items = await _find_items([sentence], workspace)
    if not items:
        return [sentence], 0
    seen = await workspace.look_around(sentence)
    lead = _find_lead(seen, items)
    inside = [s for s in seen if s.start < items[-1][1] and s.end > items[0][0]]
    kept = _limit_passages([lead, *inside] if lead else inside)
    if all(s.start != sentence.start for s in kept):
        kept = _limit_passages([s for s in inside if s.start >= sentence.start])
    places = {(s.start, s.end) for s in kept}
    rest = [s for s in inside if (s.start, s.end) not in places]
    left_out = sum(any(s.start < end and s.end > start for s in rest) for start, end in items)
    taken = await workspace.take(kept)
    return [sentence if s.start == sentence.start else s for s in taken] or [sentence], left_out


async def read_first_list(section: Section, workspace: Workspace, *, about: Set[str]) -> list[Sentence]:
    """Read the first list of a section that is `about` one of some stems, each item by its first sentence.

    Its lead-in has the word, or the heading of the section.
    """
    seen = sorted(await workspace.look_through(section), key=lambda sentence: sentence.start)
    markup = await workspace.read_markup(seen[0]) if seen else ()
    heading = " ".join(section.heading_path[-1:])
    for items in _find_lists(markup):
        lead = _find_lead(seen, items)
        said = f"{heading} {lead.text if lead else ''}"
        if len(items) > 1 and about & {token.stem for token in tokenize(said)}:
            wanted = _select_items(seen, items)
            _, after = _limit(wanted[:1], wanted[1:]) if wanted else ([], [])
            return await workspace.take([*wanted[:1], *after]) if after else []
    return []


def _limit_passages(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Keep the sentences of the first few passages."""
    passages = list(dict.fromkeys(sentence.chunk.id for sentence in sentences))[:READ_MOST]
    return [sentence for sentence in sentences if sentence.chunk.id in passages]


async def _find_rest(quoted: Sequence[Sentence], workspace: Workspace, *, count: int | None) -> Rest:
    """Find the items before a quotation up to the lead-in, and those after it.

    They are those of a list that the book marks as one, or of a run of parts that are built alike.
    """
    items = await _find_items(quoted, workspace)
    if items:
        around = await workspace.read_around(quoted[0], quoted[-1], reach=REACH)
        return _limit(quoted, _select_items(around, items))
    run = find_run(quoted, await workspace.look_around(quoted[0]), count=count)
    if run is None:
        return [], []
    before, after = _limit(quoted, [run.lead, *run.items] if run.lead else run.items)
    return await workspace.take(before), await workspace.take(after)


async def _find_items(quoted: Sequence[Sentence], workspace: Workspace) -> list[Span]:
    """Find where the items are of the list that a quotation belongs to or leads in to."""
    markup = await workspace.read_markup(quoted[0])
    place = quoted[0].start, quoted[-1].end
    leads = leads_in(quoted[-1].text)
    return next((items for items in _find_lists(markup) if _belongs(place, items, leads=leads)), [])


def _find_lead(around: Sequence[Sentence], items: Sequence[Span]) -> Sentence | None:
    return next((s for s in reversed(around) if 0 <= items[0][0] - s.end <= GAP), None)


def _find_lists(markup: Sequence[Element]) -> Iterator[list[Span]]:
    """Yield the items of each list, an inner list before the one that it is in.

    A term and what explains it are an item of a list of definitions.
    """
    kinds = (ElementKind.ITEM, ElementKind.TERM, ElementKind.DEFINITION)
    lists: dict[int, list[Span]] = {}
    for element in (*markup, Element(ElementKind.PARAGRAPH, 0, 0)):
        for depth in sorted((d for d in lists if d > element.depth), reverse=True):
            yield lists.pop(depth)
        if element.kind not in kinds:
            if element.depth in lists:
                yield lists.pop(element.depth)
            continue
        held = lists.setdefault(element.depth, [])
        if element.kind is ElementKind.DEFINITION and held:
            held[-1] = held[-1][0], element.end
        else:
            held.append((element.start, element.end))


def _belongs(place: Span, items: Sequence[Span], *, leads: bool) -> bool:
    """Whether a quotation shares text with a list, or `leads` in to it. A single item is no list."""
    first, last = items[0][0], items[-1][1]
    return len(items) > 1 and place[0] < last and first - place[1] <= (GAP if leads else -1)


def _select_items(around: Sequence[Sentence], items: Sequence[Span]) -> list[Sentence]:
    """Select the lead-in and the first sentence of each item."""
    firsts = [next((s for s in around if s.start < end and s.end > start), None) for start, end in items]
    return list(dict.fromkeys(s for s in (_find_lead(around, items), *firsts) if s is not None))


def _limit(quoted: Sequence[Sentence], wanted: Sequence[Sentence]) -> Rest:
    """Keep what is not quoted yet, within the limit of words: what stands before a quotation and after it."""
    places = {sentence.start for sentence in quoted}
    left = MOST_WORDS - sum(_count_words(sentence) for sentence in quoted)
    kept = list[Sentence]()
    for sentence in wanted:
        if sentence.start in places:
            continue
        left -= _count_words(sentence)
        if left < 0:
            break
        kept.append(sentence)
    return [s for s in kept if s.end <= quoted[0].start], [s for s in kept if s.start >= quoted[-1].end]


def _list_ids(sentences: Sequence[Sentence]) -> set[str]:
    return {sentence.id for sentence in sentences}


def join_neighbours(sentences: Sequence[Sentence]) -> list[Claim]:
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
