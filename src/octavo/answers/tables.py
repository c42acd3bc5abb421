"""Tell a table of which an answer quotes a part: whole, with what leads in to it, or the rows that answer.

Rows are told below the headings of their columns. Where a question has words that only some rows have, those
rows are meant. Else a question for several things means the whole table, as far as it fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.answers.lists import GAP, MOST_BESIDE, MOST_WORDS, join_neighbours, limit_rest, may_want_several
from octavo.answers.questions import parse_question
from octavo.answers.runs import leads_in
from octavo.answers.short import count_words
from octavo.text.english import tokenize
from octavo.types import ElementKind
from octavo.verification.claims import Claim

if TYPE_CHECKING:
    from octavo.answers.workspace import Workspace
    from octavo.types.markup import Element
    from octavo.verification.claims import Phrase, Sentence

# So many rows at the most are told of a table to a question for one thing.
MOST_ROWS = 3
# A table without headings of its columns has so many rows at the least.
LEAST_ROWS = 3
# The order in "list the integer types" is no word of what is asked for.
_ORDER = re.compile(
    r"^\s*(?:please )?(?:list|name|enumerate|give|show|tell)(?:(?: for)? (?:me|us))?\b", re.IGNORECASE
)
# A table that has all words of "which flags are not red?" does not answer it.
_LEAVES_OUT = re.compile(
    r"\b(?:not|no|never|none|neither|nor|cannot|without|except|excluding|least|most)\b|n['’]t\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table by the sentences of its section: the paragraph above it, its headings, and its rows.

    Its captions are above it, wherever the book has them, and `head` are the headings of its columns.
    """

    above: tuple[Sentence, ...]
    head: tuple[Sentence, ...]
    rows: tuple[Sentence, ...]

    @property
    def named(self) -> frozenset[str]:
        """The words that say what it is a table of, with those of the heading of its section."""
        said = (sentence.text for sentence in (*self.above, *self.head))
        return _stem(" ".join((*said, *self.rows[0].chunk.heading_path[-1:])))

    @property
    def headings(self) -> frozenset[str]:
        """The words of its captions and of the headings of its columns."""
        return _stem(" ".join(s.text for s in (*filter(_is_title, self.above), *self.head)))

    @property
    def called(self) -> frozenset[str]:
        """The words of its captions, of the headings of its columns and of the heading of its section."""
        return self.headings | _stem(" ".join(self.rows[0].chunk.heading_path[-1:]))

    @property
    def whole(self) -> tuple[Sentence, ...]:
        """What is told of it: what leads in to it, or names it, and all of its rows."""
        return (*self.lead, *self.head, *self.rows)

    @property
    def lead(self) -> tuple[Sentence, ...]:
        """What leads in to it, or names it."""
        return tuple(s for s in self.above if _is_title(s) or (s is self.above[-1] and leads_in(s.text)))


async def complete_table(
    claims: Sequence[Claim], workspace: Workspace, *, question: str, short: Phrase | None = None
) -> tuple[Claim, ...]:
    """Tell the table whole that the claims of the first section quote a part of, or its rows that answer.

    The row that a `short` answer stands in is the one that answers.
    """
    known = {sentence.id: sentence for sentence in workspace}
    first = known[claims[0].sentences[0]] if claims and claims[0].sentences else None
    if first is None:
        return tuple(claims)
    for table in await _read_tables(first, workspace):
        places = {sentence.start for sentence in table.whole}
        touched = [
            claim
            for claim in claims
            if any(known[id_].start in places and _is_same(known[id_], first) for id_ in claim.sentences)
        ]
        quoted = [known[id_] for claim in touched for id_ in claim.sentences]
        rows = _choose_rows(table, quoted, question=question, short=short)
        if not touched or not rows or not (table.head or rows == table.rows):
            continue
        kept = _limit(table, rows, quoted)
        if not kept or kept[-1].start not in {row.start for row in table.rows}:
            continue
        if rows == table.rows:
            whole = join_neighbours(await workspace.take(kept))
            at = claims.index(touched[0])
            beside = [claim for claim in claims[:at] if count_words(claim.text) <= MOST_BESIDE]
            if is_named(whole, question, workspace):
                return tuple(whole)
            rest = [claim for claim in claims[at:] if claim not in touched]
            return (*beside, *whole, *limit_rest([*beside, *whole], rest))
        told = _join_rows(await workspace.take(kept))
        return (told, *(claim for claim in claims if claim not in touched))
    return tuple(claims)


async def find_named_table(name: str, workspace: Workspace) -> tuple[Claim, ...]:
    """Find the table that a name means in the sections that were found, and tell it whole.

    What is said above it and its headings have all words of the name: its headings most of them, and all
    together the fewest others. A name that only stands in the prose above a table is not its own.
    """
    wanted = frozenset(focus.stem for focus in parse_question(name).focus)
    sections = {(s.chunk.book_id, s.chunk.section_id): s for s in reversed(workspace)}
    tables = [table for s in sections.values() for table in await _read_tables(s, workspace)]
    named = [table for table in tables if wanted <= table.named and wanted & table.called]
    if not named:
        return ()
    best = min(named, key=lambda table: (len(wanted - table.headings), len(table.named)))
    kept = _limit(best, best.rows, best.rows[:1])
    return tuple(join_neighbours(await workspace.take(kept)))


def is_named(claims: Sequence[Claim], question: str, workspace: Workspace) -> bool:
    """Whether claims quote rows of a table, and have all words of a question above one of them or in it.

    A question that leaves something out or looks for an extreme means something else than the table.
    """
    known = {sentence.id: sentence for sentence in workspace}
    quoted = [known[id_] for claim in claims for id_ in claim.sentences]
    first = next((n for n, sentence in enumerate(quoted) if sentence.kind is ElementKind.ROW), None)
    if first is None or _LEAVES_OUT.search(question):
        return False
    wanted = {focus.stem for focus in parse_question(_ORDER.sub("", question)).focus}
    rest = wanted - _stem(" ".join(sentence.text for sentence in quoted[: first + 1]))
    return bool(wanted) and any(rest <= _stem(sentence.text) for sentence in quoted[first:])


async def _read_tables(sentence: Sentence, workspace: Workspace) -> list[Table]:
    """Read the tables of a sentence's section that the reader may see."""
    markup = await workspace.read_markup(sentence)
    if not any(element.kind is ElementKind.TABLE for element in markup):
        return []
    seen = await workspace.look_around(sentence)
    tables = [_read_table(inside, seen) for inside in _split_tables(markup)]
    # A note with its picture beside it is drawn as a table, too, but has no headings and hardly any rows.
    return [table for table in tables if len(table.rows) >= (1 if table.head else LEAST_ROWS)]


def _split_tables(markup: Sequence[Element]) -> Iterator[list[Element]]:
    """Yield the elements of each table, the table itself first."""
    held: list[Element] = []
    for element in markup:
        if held and element.depth > held[0].depth:
            held.append(element)
            continue
        if held:
            yield held
        held = [element] if element.kind is ElementKind.TABLE else []
    if held:
        yield held


def _read_table(inside: Sequence[Element], seen: Sequence[Sentence]) -> Table:
    table = inside[0]
    held = [s for s in seen if s.start >= table.start and s.end <= table.end]
    head_ends = _find_head_end(inside)
    before = [s for s in seen if 0 <= table.start - s.block.end <= GAP]
    captions = [s for s in held if s.kind is not ElementKind.ROW]
    rows = [s for s in held if s.kind is ElementKind.ROW]
    return Table(
        (*captions, *before),
        tuple(s for s in rows if s.start < head_ends),
        tuple(s for s in rows if s.start >= head_ends),
    )


def _find_head_end(inside: Sequence[Element]) -> int:
    """Find where the first rows end in which every cell is a header."""
    end, row = inside[0].start, inside[0]
    heads: dict[Element, bool] = {}
    for element in inside:
        if element.kind is ElementKind.ROW:
            row = element
        elif element.kind is ElementKind.CELL and element.end > element.start:
            heads[row] = heads.get(row, True) and bool(element.attributes.get("header"))
    for held, is_head in heads.items():
        if not is_head:
            break
        end = held.end
    return end


def _choose_rows(
    table: Table, quoted: Sequence[Sentence], *, question: str, short: Phrase | None
) -> tuple[Sentence, ...]:
    """Choose the rows that a question means: those with words of it that say nothing of the whole table."""
    places = {sentence.start for sentence in quoted}
    own = tuple(row for row in table.rows if row.start in places)
    answering = {s.start for s in quoted if short is not None and s.id == short.sentence}
    if answering:
        return tuple(row for row in own if row.start in answering)
    several = may_want_several(question)
    wanted = {f.stem: f.weight for f in parse_question(question).focus if f.stem not in table.named}
    having = table.rows if several else own
    weights = [sum(wanted[stem] for stem in wanted.keys() & _stem(row.text)) for row in having]
    best = max(weights, default=0.0)
    if best > 0:
        meant = tuple(row for row, weight in zip(having, weights, strict=True) if weight == best)
        return meant if several else meant[:MOST_ROWS]
    return table.rows if several else own[:MOST_ROWS]


def _is_title(sentence: Sentence) -> bool:
    """Whether a line names a table, and is no sentence."""
    return not sentence.text.rstrip().endswith((".", "!", "?", ":", "。"))


def _limit(table: Table, rows: Sequence[Sentence], quoted: Sequence[Sentence]) -> list[Sentence]:
    """Keep the first rows of a table within the limit of words, below its headings.

    The headings and the quoted rows are kept however long they are, and what leads in to it where it fits.
    """
    quoted_places = {sentence.start for sentence in quoted}
    kept = [*table.head, *(row for row in rows if row.start in quoted_places)]
    left = MOST_WORDS - sum(count_words(sentence.text) for sentence in kept)
    for sentence in table.lead if len(rows) == len(table.rows) else ():
        words = count_words(sentence.text)
        if words <= left:
            kept.append(sentence)
            left -= words
    for row in rows:
        if row.start not in quoted_places:
            left -= count_words(row.text)
            if left < 0:
                break
            kept.append(row)
    places = {sentence.start for sentence in kept}
    return [sentence for sentence in table.whole if sentence.start in places]


def _is_same(one: Sentence, other: Sentence) -> bool:
    """Whether two sentences stand in one section."""
    place = one.chunk.book_id, one.chunk.section_id
    return place == (other.chunk.book_id, other.chunk.section_id)


def _join_rows(rows: Sequence[Sentence]) -> Claim:
    """Make one claim of the headings and some rows of a table, each on its line."""
    return Claim("\n".join(row.text for row in rows), tuple(row.id for row in rows))


def _stem(text: str) -> frozenset[str]:
    return frozenset(token.stem for token in tokenize(text))
