"""The blocks of a text: the stretches that sentences do not cross, and what each of them is.

A block is a paragraph, a heading, a term, a caption, a stanza of verse, the code between two blank lines, a
row of a table, or what an item of a list begins with. The markup of the text says so.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from octavo.text.layout import read_layout
from octavo.types import Element, ElementKind, Section

_LEAVES = frozenset(
    (
        ElementKind.PARAGRAPH,
        ElementKind.HEADING,
        ElementKind.TERM,
        ElementKind.CAPTION,
        ElementKind.CODE,
        ElementKind.VERSE,
        ElementKind.ROW,
    )
)
_EXPLAINED = (ElementKind.TERM, ElementKind.PARAGRAPH)
# Possessive, so that a match keeps nothing in memory for the characters that it has passed.
_PARAGRAPH = re.compile(r"\S(?:[^\n]++|\n(?!\s*?\n))*+")
_LINE = re.compile(r"\S[^\n]*")


class Block(NamedTuple):
    """A stretch of a text and what it is. Its words begin at `words`, after the mark of an item."""

    kind: ElementKind
    start: int
    end: int
    words: int

    def shift(self, by: int) -> Block:
        """Return the block with offsets that count from `by` characters before."""
        return Block(self.kind, self.start + by, self.end + by, self.words + by)

    def begins(self, start: int) -> bool:
        """Whether a sentence that begins at `start` is the first of the block."""
        return start <= self.words


def list_blocks(text: str, markup: Sequence[Element] = ()) -> tuple[Block, ...]:
    """Return the blocks of a text in order. Every character that is not blank lies in one of them.

    Without markup, the lines of the text tell.
    """
    return tuple(_fill_gaps(text, _find_leaves(text, markup or read_layout(text))))


def list_section_blocks(section: Section, markup: Sequence[Element] = ()) -> tuple[Block, ...]:
    """Return the blocks of a section: by its markup, by what is given, or by its lines."""
    known = section.markup or markup or read_layout(section.text, kept=section.blocks)
    return list_blocks(section.text, known)


def split_code(text: str, blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks with each line of code as one of its own."""
    for block in blocks:
        if block.kind is not ElementKind.CODE:
            yield block
            continue
        at = block.start
        for line in text[block.start : block.end].split("\n"):
            if line.strip():
                yield Block(ElementKind.PARAGRAPH, at, at + len(line), at)
            at += len(line) + 1


def cut_blocks(blocks: Sequence[Block], start: int, end: int) -> list[Block]:
    """Return what of the blocks lies in a stretch of the text, with offsets from its start on."""
    first = bisect_right(blocks, start, key=lambda block: block.end)
    last = bisect_left(blocks, end, key=lambda block: block.start)
    return [
        Block(b.kind, max(b.start, start) - start, min(b.end, end) - start, max(b.words, start) - start)
        for b in blocks[first:last]
    ]


def find_block(blocks: Sequence[Block], start: int) -> Block:
    """Return the block that a character stands in."""
    return blocks[max(0, bisect_right(blocks, start, key=lambda block: block.start) - 1)]


def _find_leaves(text: str, markup: Sequence[Element]) -> Iterator[Block]:
    """Yield the blocks that the markup names. A term and what explains it on the next line are one."""
    item: Element | None = None
    term: Block | None = None
    after = 0
    for element in markup:
        if element.start < after:
            # A row has cells, and a stanza has lines.
            continue
        if item and element.start >= item.end:
            item = None
        if element.kind is ElementKind.ITEM:
            item = item or element
        elif element.kind in _LEAVES and element.end > element.start:
            start, after = item.start if item else element.start, element.end
            named = item is not None and element.kind in _EXPLAINED
            block = Block(ElementKind.ITEM if named else element.kind, start, after, element.start)
            if term and element.kind in _EXPLAINED and text[term.end : start].strip(" ") == "\n":
                block = term._replace(end=after)
            elif term:
                yield term
            item, term = None, block if element.kind is ElementKind.TERM else None
            if term is None:
                yield from _split(text, block)
    if term:
        yield term


def _split(text: str, block: Block) -> Iterator[Block]:
    """Yield a block in parts between blank lines, and the lines of a row that has several."""
    apart = _LINE if block.kind is ElementKind.ROW else _PARAGRAPH
    kind = block.kind
    for part in apart.finditer(text, block.start, block.end):
        yield Block(kind, part.start(), part.end(), max(part.start(), block.words))
        # An item goes on with paragraphs.
        kind = ElementKind.PARAGRAPH if kind is ElementKind.ITEM else kind


def _fill_gaps(text: str, leaves: Iterator[Block]) -> Iterator[Block]:
    """Yield the blocks, and what is between them as paragraphs."""
    at = 0
    for leaf in (*leaves, Block(ElementKind.PARAGRAPH, len(text), len(text), len(text))):
        parts = [(part.start(), part.end()) for part in _PARAGRAPH.finditer(text, at, leaf.start)]
        if parts and leaf.end > leaf.start and "\n" not in text[parts[-1][1] : leaf.start]:
            # The label of a note stands on the note's own line.
            leaf = leaf._replace(start=parts.pop()[0])
        yield from (Block(ElementKind.PARAGRAPH, start, end, start) for start, end in parts)
        if leaf.end > leaf.start:
            yield leaf
        at = max(at, leaf.end)
