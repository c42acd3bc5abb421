"""Split sections into chunks of whole sentences that fit into the embedder's window.

`section.text[chunk.start:chunk.end] == chunk.content`, no two chunks overlap, none crosses a section, and
every character that is not blank lies in exactly one chunk. There is one exception: a chunk has at least ten
characters. A shorter section has no chunk (readers see its text, search does not find it), and neither has a
remainder of fewer than ten characters that fits into no neighbour.

The borders of a section are chosen together, so that the sizes come close to the target. A border between
paragraphs costs nothing, one between sentences little, one inside a code block or table more. A chunk that
goes on into another paragraph costs something too, so that long paragraphs have chunks of their own and only
short ones come together. A new page is a good place for a border, because a passage is cited by the page on
which it begins. Ids are made from book, section and content, so a change elsewhere in the book does not
change them.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from uuid import UUID, uuid5

from octavo.ingest.table_heads import find_head_above, find_table_heads
from octavo.text.blocks import list_section_blocks, split_code
from octavo.text.languages import identify_sections
from octavo.text.sentences import split_long, split_sentences
from octavo.types import CHUNK_LEAST, CHUNK_MOST, Chunk, PageMark, Section, Span
from octavo.validation import LARGEST_EXACT_INTEGER

CHUNKER_VERSION = "7"
NAMESPACE = UUID("6f1d6b1e-2d5c-5a0e-9a57-0c7a0b00c5e1")
# About 40 word pieces of English, 48 of Chinese.
HEADING_BYTES = 144
_ATOM_MOST = 1_000
# In pieces. Smaller parts of one paragraph stay together.
_TINY = 10
# So many tiny paragraphs in a row are no prose, and the borders between them are not weighed one by one.
_MANY = 100
_PARAGRAPH_BORDER, _LINE_BORDER, _SENTENCE_BORDER, _BLOCK_BORDER = 0.0, 0.08, 0.15, 0.3
# What a chunk costs that goes on over a new page or into a new paragraph, where it could have ended.
_CONTINUED = 0.5
_LEFT_OUT = 50.0

Pieces = Callable[[Sequence[str]], list[int]]


def chunk_book(
    book_title: str,
    sections: Sequence[Section],
    *,
    pieces: Pieces,
    max_pieces: int,
    target: int,
    created_at: datetime,
    languages: Sequence[str] = ("",),
) -> list[Chunk]:
    """Return every chunk of the book, in reading order.

    `languages` are that of the book, and those that some of its sections may be in; "" is English.
    """
    made: list[Chunk] = []
    spoken = identify_sections([section.text for section in sections], languages=languages)
    for section, language in zip(sections, spoken, strict=True):
        spans = split_section(section, pieces=pieces, max_pieces=max_pieces, target=target)
        chunks = list(_build_chunks(book_title, section, spans, position=len(made), created_at=created_at))
        # English chunks are as they always were.
        if language:
            chunks = [replace(chunk, metadata={**chunk.metadata, "language": language}) for chunk in chunks]
        made += chunks
    return made


def split_section(section: Section, *, pieces: Pieces, max_pieces: int, target: int) -> list[Span]:
    """Return the spans of one section that become its chunks."""
    text, heading = section.text, make_heading_line(section.heading_path)
    if len(text) < CHUNK_LEAST or text.isspace():
        return []
    repeated = max((head.text for head in find_table_heads(section)), key=len, default="")
    heading = _add_heading(heading, repeated) if repeated else heading
    room = max(max_pieces - pieces([heading])[0], max_pieces // 3)
    most = max(room - _TINY, room // 2)
    atoms = _merge_tiny(_join_blocks(_split_atoms(section, pieces, most=most), section, most=most), most=most)
    packed = _pack(_merge_paragraphs(atoms), room=room, target=min(target, room))
    doubtful = [a for a in packed if a.size * 9 // 8 + text.count("\n", a.start, a.end) + _TINY > room]
    counted = pieces([_add_heading(heading, text[a.start : a.end]) for a in doubtful]) if doubtful else []
    over = {a.start for a, size in zip(doubtful, counted, strict=True) if size > max_pieces}
    spans: list[Span] = []
    for atom in packed:
        span = Span(atom.start, atom.end)
        spans += _split_to_fit(text, span, heading, pieces, max_pieces) if atom.start in over else [span]
    return spans


def make_embedded_text(chunk: Chunk) -> str:
    """Return what is embedded: the headings above the passage, those of its table, and the passage."""
    heading = make_heading_line(chunk.heading_path)
    if chunk.context:
        heading = _add_heading(heading, chunk.context)
    return _add_heading(heading, chunk.content)


def make_heading_line(heading_path: Sequence[str]) -> str:
    """Return the heading path on one line, without its middle if it is long."""
    line = " › ".join(heading_path)
    if len(line.encode("utf-8", "replace")) <= HEADING_BYTES:
        return line
    ends = [heading_path[0], heading_path[-1]] if len(heading_path) > 1 else [heading_path[-1]]
    between = " › … › " if len(heading_path) > 2 else " › "
    share = (HEADING_BYTES - 16) // len(ends)
    return between.join(_clip(end, share) for end in ends)


def _clip(text: str, most: int) -> str:
    data = text.encode("utf-8", "replace")
    if len(data) <= most:
        return text
    kept = data[:most].decode("utf-8", "ignore")
    return f"{kept.rsplit(' ', 1)[0] if ' ' in kept else kept}…"


def _add_heading(heading: str, content: str) -> str:
    return f"{heading}\n{content}"


@dataclass(frozen=True, slots=True)
class _Atom:
    """A span that is not split any further, with its size in pieces and the cost of a border before it.

    `continued` is what a chunk costs that goes on into it from the atom before.
    """

    start: int
    end: int
    size: int
    border: float = 0.0
    continued: float = 0.0

    def join(self, other: _Atom) -> _Atom:
        return replace(self, end=other.end, size=self.size + other.size)


def _split_atoms(section: Section, pieces: Pieces, *, most: int) -> list[_Atom]:
    """Return the sentences, and the parts of those that are too long for a chunk."""
    text = section.text
    blocks = split_code(text, list_section_blocks(section))
    spans = [(s.start, s.end) for s in split_sentences(text, blocks=blocks)]
    sizes = pieces([text[a:b] for a, b in spans])
    found: list[_Atom] = []
    while spans:
        again: list[tuple[int, int]] = []
        for (a, b), size in zip(spans, sizes, strict=True):
            if (size <= most and b - a <= _ATOM_MOST) or b - a < 2:
                found.append(_Atom(a, b, size))
                continue
            length = min(_ATOM_MOST, (b - a) * most * 9 // (max(size, most) * 10), b - a - 1)
            again += split_long(text, a, b, most=max(1, length), unbroken=max(1, length))
        spans, sizes = again, pieces([text[a:b] for a, b in again]) if again else []
    found.sort(key=lambda atom: atom.start)
    for number, (before, atom) in enumerate(pairwise(found), start=1):
        border = _rate_border(section, text[before.end : atom.start], atom)
        # What ends with a colon belongs to the paragraph that it announces.
        new_paragraph = border == _PARAGRAPH_BORDER and text[before.end - 1] != ":"
        new_page = _find_page(section, before.end - 1) != _find_page(section, atom.start)
        found[number] = replace(atom, border=border, continued=_CONTINUED * (new_page or new_paragraph))
    return found


def _rate_border(section: Section, gap: str, atom: _Atom) -> float:
    if _find_block(section.blocks, atom.start - len(gap) - 1, atom.start) is not None:
        return _BLOCK_BORDER
    if gap.count("\n") > 1:
        return _PARAGRAPH_BORDER
    return _LINE_BORDER if "\n" in gap else _SENTENCE_BORDER


def _find_block(blocks: Sequence[Span], first: int, last: int) -> int | None:
    """Return the number of the block that both characters lie in."""
    number = bisect_right(blocks, last, key=lambda block: block.start) - 1
    if number >= 0 and blocks[number].start <= first and last < blocks[number].end:
        return number
    return None


def _join_blocks(atoms: Sequence[_Atom], section: Section, *, most: int) -> list[_Atom]:
    """Join the atoms of each code block and table that fits into a chunk."""
    runs: list[list[_Atom]] = []
    last = None
    for atom in atoms:
        block = _find_block(section.blocks, atom.start, atom.end - 1) if section.blocks else None
        if block is not None and block == last:
            runs[-1].append(atom)
        else:
            runs.append([atom])
        last = block
    whole: list[_Atom] = []
    for run in runs:
        size, length = sum(atom.size for atom in run), run[-1].end - run[0].start
        if size <= most and length <= CHUNK_MOST - CHUNK_LEAST:
            whole.append(replace(run[0], end=run[-1].end, size=size))
        else:
            whole += run
    return whole


def _merge_tiny(atoms: Sequence[_Atom], *, most: int) -> list[_Atom]:
    """Join tiny atoms of one paragraph, so that there are fewer borders to choose from."""
    made: list[_Atom] = []
    for atom in atoms:
        if made and not atom.continued and atom.end - made[-1].start <= _ATOM_MOST:
            tiny = (made[-1].size < _TINY) + (atom.size < _TINY)
            size = made[-1].size + atom.size
            if size <= most and (tiny == 2 or (tiny == 1 and atom.border > 0 and size < 4 * _TINY)):
                made[-1] = made[-1].join(atom)
                continue
        made.append(atom)
    return made


def _merge_paragraphs(atoms: Sequence[_Atom]) -> list[_Atom]:
    """Join tiny paragraphs where very many follow each other, as in a list of words.

    A chunk has room for more than a hundred of them, and `_pack` would try each as its end.
    """
    made: list[_Atom] = []
    for first, end in _find_tiny_runs(atoms):
        many = end - first >= _MANY
        for number in range(first, end):
            atom = atoms[number]
            if many and number > first and _is_tiny_together(made[-1], atom):
                made[-1] = made[-1].join(atom)
            else:
                made.append(atom)
    return made


def _is_tiny_together(one: _Atom, following: _Atom) -> bool:
    return one.size + following.size <= _TINY and following.end - one.start <= _ATOM_MOST


def _find_tiny_runs(atoms: Sequence[_Atom]) -> Iterator[tuple[int, int]]:
    """Find where each stretch of tiny paragraphs begins and ends. Any other atom is a stretch by itself."""
    first = 0
    for number, atom in enumerate(atoms):
        goes_on = atom.continued and atom.size < _TINY and atoms[number - 1].size < _TINY
        if number and not goes_on:
            yield first, number
            first = number
    if atoms:
        yield first, len(atoms)


def _pack(atoms: Sequence[_Atom], *, room: int, target: int) -> list[_Atom]:
    """Find the cheapest way to group the atoms into chunks, by dynamic programming."""
    count = len(atoms)
    cost = [0.0] + [float("inf")] * count
    back: list[tuple[int, bool]] = [(0, False)] * (count + 1)
    for first in range(count):
        start, so_far = atoms[first].start, cost[first] + (atoms[first].border if first else 0.0)
        size = 0
        continued = 0.0
        for last in range(first, count):
            size += atoms[last].size
            continued += atoms[last].continued if last > first else 0.0
            length = atoms[last].end - start
            if last > first and (size > room or length > CHUNK_MOST):
                break
            short = length < CHUNK_LEAST
            if short and last > first:
                continue
            total = so_far + (_LEFT_OUT if short else (size / target - 1.0) ** 2 + continued)
            if total < cost[last + 1]:
                cost[last + 1], back[last + 1] = total, (first, not short)
    chosen: list[_Atom] = []
    at = count
    while at:
        first, kept = back[at]
        if kept:
            size = sum(atom.size for atom in atoms[first:at])
            chosen.append(_Atom(atoms[first].start, atoms[at - 1].end, size))
        at = first
    return chosen[::-1]


def _split_to_fit(text: str, span: Span, heading: str, pieces: Pieces, most: int) -> Iterator[Span]:
    """Return the span, or its parts if it has more pieces than its atoms had when counted one by one."""
    content = text[span.start : span.end]
    length = len(content)
    if length < 4 * CHUNK_LEAST or pieces([_add_heading(heading, content)])[0] <= most:
        yield span
        return
    for a, b in split_long(text, span.start, span.end, most=length * 2 // 3, unbroken=length * 2 // 3):
        yield from _split_to_fit(text, Span(a, b), heading, pieces, most)


def _build_chunks(
    book_title: str, section: Section, spans: Sequence[Span], *, position: int, created_at: datetime
) -> Iterator[Chunk]:
    seen: dict[str, int] = {}
    heads = find_table_heads(section)
    for index, span in enumerate(spans):
        context = find_head_above(heads, span.start, span.end)
        content = section.text[span.start : span.end]
        digest = hashlib.sha256(content.encode()).hexdigest()
        occurrence = seen[digest] = seen.get(digest, -1) + 1
        name = "\x1f".join((section.book_id, section.id, str(occurrence), digest))
        identity = uuid5(NAMESPACE, name)
        first, last = _find_page(section, span.start), _find_page(section, span.end - 1)
        yield Chunk(
            id=str(identity),
            chunk_id=identity.int % LARGEST_EXACT_INTEGER + 1,
            content=content,
            book_id=section.book_id,
            section_id=section.id,
            chapter=section.heading_path[0],
            section=section.heading_path[-1],
            document_position=position + index,
            chunk_index=index,
            url=section.url,
            source_file=section.source_file,
            source_location=_describe_location(book_title, section.heading_path, first, last),
            source_title=book_title,
            start=span.start,
            end=span.end,
            created_at=created_at,
            heading_path=section.heading_path,
            ancestors=section.ancestors,
            page_number=first.number if first else None,
            page_end=last.number if last and first else None,
            page_label=first.label if first else None,
            metadata={"context": context} if context else {},
        )


def _find_page(section: Section, offset: int) -> PageMark | None:
    """Do what `section.page_at` does, but by binary search: a section may have a thousand pages."""
    number = bisect_right(section.pages, offset, key=lambda mark: mark.offset) - 1
    return section.pages[number] if number >= 0 else None


def _describe_location(
    title: str, heading_path: Sequence[str], first: PageMark | None, last: PageMark | None
) -> str:
    names = dict.fromkeys((title, heading_path[0], heading_path[-1]))
    where = " › ".join(names)
    if first is None:
        return where
    begin = first.label or str(first.number)
    if last is None or last.number == first.number:
        return f"{where}, p. {begin}"
    return f"{where}, pp. {begin}–{last.label or last.number}"
