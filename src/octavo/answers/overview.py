"""Tell what a part of a book says as a whole: sentences of its own, in order, covering its parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

from octavo.answers.extract import is_apparatus, is_headline, is_list_item
from octavo.answers.headed import tells_story
from octavo.answers.parts import Extent, keep_visible, resolve_part
from octavo.concurrency import run_blocking
from octavo.text.bookmap.blocks import Blocks
from octavo.text.bookmap.coverage import Statement, choose_covering, count_sections
from octavo.text.bookmap.gist import stands_alone
from octavo.text.languages import count_words
from octavo.text.scoring import logistic
from octavo.types import ElementKind
from octavo.verification.claims import Claim

if TYPE_CHECKING:
    from octavo.answers.parts import Part
    from octavo.answers.workspace import Workspace
    from octavo.types import Section
    from octavo.verification.claims import Sentence

MOST_SENTENCES, MOST_WORDS = 7, 170
# A part is told with one sentence for every so many of its own, at the least.
SENTENCES_PER_CHOICE = 2.5
# Of a long part, so many sections are read.
SECTIONS_MOST = 24
# What of a part belongs to its end.
_LAST_SHARE, _LAST_LEAST = 0.15, 16
# How sure a gist is, by the logarithm of the share of its part that it tells: log odds.
_TOLD, _TOLD_SHARE, _TOLD_LEAST = 2.6, 0.9, 0.2
# With so many sentences a part ends, whatever they say, if they have no more words than this: two of them, or
# one long one.
_LAST = ((2, 80), (1, 150))
# A part opens with one of its first sentences, if that is no longer.
OPENING_MOST, OPENING_WORDS = 4, 50
_PROSE = frozenset((ElementKind.PARAGRAPH, ElementKind.TERM, ElementKind.VERSE))
# What a program says of the file, in the last section, is no part of what the book tells.
_METADATA = re.compile(r"(?:\W*(?:meta-?data|document information))+\W*", re.IGNORECASE)
_ENDS = (".", "!", "?", "…", "”", "’", '"', "'", ")")


async def find_part(name: str, workspace: Workspace) -> Part | None:
    """Find the part of the book that a name means, as far as the reader may see it."""
    sections, visible = await workspace.list_sections()
    own = (book.title for book in await workspace.list_books() if sections and book.id == sections[0].book_id)
    part = await run_blocking(resolve_part, name, sections, title=next(own, ""))
    return keep_visible(part, visible) if part else None


@dataclass(frozen=True, slots=True)
class Gist:
    """The sentences that tell a part, and which share of its words they are."""

    claims: tuple[Claim, ...] = ()
    share: float = 0.0

    @property
    def confidence(self) -> float:
        """How often a gist has what readers ask of a part: the less of it is told, the more seldom.

        A whole book is told too, however long it is.
        """
        told = logistic(_TOLD + _TOLD_SHARE * log(self.share)) if self.share > 0 else 0.0
        return round(max(_TOLD_LEAST, told), 4)


async def tell_part(part: Part, workspace: Workspace) -> Gist:
    """Choose the sentences that say most of a part, in the order of the book."""
    written = [s for s in part.sections if s.text.strip()] or list(part.sections)
    if len(written) > 1 and _METADATA.fullmatch(written[-1].title):
        written = written[:-1]
    sections = [s for s in written if not is_apparatus(s.title)] or written
    read_through = _thin_out(sections, SECTIONS_MOST)
    seen = [(s, await workspace.look_through(s)) for s in read_through]
    prose = [(section, [s for s in sentences if s.kind in _PROSE]) for section, sentences in seen]
    whole = sum(s.text.rstrip().endswith(_ENDS) for _, kept in prose for s in kept)
    # A part that is mostly lists and tables is told with those too.
    read = [one for one in (prose if whole >= MOST_SENTENCES else seen) if one[1]]
    ends = part.extent is Extent.END
    read = _cut_to_end(read) if ends else read
    closing = _find_closing(*read[-1]) if ends and read else []
    book = await workspace.list_visible_texts()
    chosen = await run_blocking(_choose, read, book, closing=closing)
    taken = await workspace.take(chosen)
    claims = tuple(Claim(text=sentence.text, sentences=(sentence.id,)) for sentence in taken)
    words = _count_words(s for _, sentences in read for s in sentences) * len(sections) / len(read_through)
    return Gist(claims, min(1.0, _count_words(taken) / words) if words else 0.0)


def _count_words(sentences: Iterable[Sentence]) -> int:
    return sum(count_words(sentence.text, sentence.chunk.language) for sentence in sentences)


def _find_closing(section: Section, sentences: Sequence[Sentence]) -> list[Sentence]:
    """Find the last sentences of a section that are prose, if they are not too long to quote."""
    inside = Blocks(section.blocks)
    prose = [
        sentence
        for sentence in sentences
        if not inside.hold(sentence.start)
        and not is_headline(sentence.text)
        and not is_list_item(sentence)
        and sentence.text.rstrip().endswith(_ENDS)
    ]
    for many, most in _LAST:
        closing = prose[-many:]
        if sum(len(sentence.text.split()) for sentence in closing) <= most:
            return closing
    return []


def _choose(
    read: Sequence[tuple[Section, Sequence[Sentence]]],
    book: Sequence[str],
    *,
    closing: Sequence[Sentence] = (),
) -> list[Sentence]:
    """Choose within the limits. The `closing` sentences are the last ones in any case.

    `book` are the texts of all sections: what stands in many of them says little of this part.
    """
    told = [sentence for section, sentences in read for sentence in _list_told(section, sentences)]
    first = [] if closing else _find_first(told)
    after = told[told.index(first[0]) + 1 :] if first else told
    rest = [sentence for sentence in after if sentence not in closing]
    opening = {
        (section.id, sentences[0].start)
        for section, sentences in read
        if not section.text[: sentences[0].start].strip()
    }
    statements = [
        Statement(
            sentence.text,
            count_words(sentence.text, sentence.chunk.language),
            opens=(sentence.chunk.section_id, sentence.start) in opening,
            spoken=_is_within_speech(sentence),
        )
        for sentence in rest
    ]
    kept = [*first, *closing]
    wanted = min(MOST_SENTENCES, max(2, round(len(told) / SENTENCES_PER_CHOICE))) - len(kept)
    words, known = MOST_WORDS - _count_words(kept), [sentence.text for sentence in kept]
    chosen = choose_covering(statements, most=wanted, words=words, book=count_sections(book), told=known)
    return [*first, *(rest[n] for n in chosen), *closing]


def _find_first(told: Sequence[Sentence]) -> list[Sentence]:
    """Find the sentence that a part begins with, if it can stand alone and the part tells no story.

    What explains something says at once what it is about.
    """
    if tells_story(told):
        return []
    for sentence in told[:OPENING_MOST]:
        text = sentence.text.rstrip()
        if stands_alone(text) and count_words(text, sentence.chunk.language) <= OPENING_WORDS:
            return [sentence]
    return []


def _list_told(section: Section, sentences: Sequence[Sentence]) -> list[Sentence]:
    """List the sentences of a section that are not in its code or tables."""
    inside = Blocks(section.blocks)
    return [sentence for sentence in sentences if not inside.hold(sentence.start)]


def _is_within_speech(sentence: Sentence) -> bool:
    """Whether what somebody says has begun earlier in the paragraph, and not ended."""
    chunk = sentence.chunk
    first = max(0, sentence.block.start - chunk.start)
    before = chunk.content[first : sentence.start - chunk.start]
    return before.count("“") > before.count("”") or before.count('"') % 2 == 1


def _cut_to_end(read: Sequence[tuple[Section, list[Sentence]]]) -> list[tuple[Section, list[Sentence]]]:
    """Keep the last share of all the sentences."""
    total = sum(len(sentences) for _, sentences in read)
    skip = max(0, total - max(_LAST_LEAST, round(total * _LAST_SHARE)))
    kept: list[tuple[Section, list[Sentence]]] = []
    for section, sentences in read:
        if skip < len(sentences):
            kept.append((section, sentences[skip:]))
        skip = max(0, skip - len(sentences))
    return kept


def _thin_out(sections: Sequence[Section], most: int) -> list[Section]:
    if len(sections) <= most:
        return list(sections)
    return [sections[round(n * (len(sections) - 1) / (most - 1))] for n in range(most)]
