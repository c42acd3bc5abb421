"""Reads what stands around a short selection: without it, a line of code or a row of a table says little.

Code is led in to by the prose before it. A row is read with the header of its table, and with the prose
before the table. Any other sentence is read with the one before it. What comes after the selection lies ahead
of the reader: only if the selected words stand in several places, the next sentence of the paragraph is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from octavo.answers.references import is_label
from octavo.types import ElementKind

if TYPE_CHECKING:
    from octavo.answers.workspace import Workspace
    from octavo.types.markup import Element
    from octavo.verification.claims import Sentence

NO_PROSE = (ElementKind.HEADING, ElementKind.CAPTION, ElementKind.CODE, ElementKind.ROW)
# So many sentences lead in to a piece of code.
LEAD_MOST = 2

Around = tuple[list["Sentence"], list["Sentence"]]


async def read_around(own: Sequence[Sentence], workspace: Workspace) -> Around:
    """Read what stands before the sentences of a selection, and what stands after them."""
    if not own or workspace.bounds.within is None:
        return [], []
    read = workspace.look_back()
    seen = await read.look_around(own[0])
    before, after = _choose(own, seen, await workspace.read_markup(own[0]))
    return await read.take(before), await read.take(after)


def _choose(own: Sequence[Sentence], seen: Sequence[Sentence], markup: Sequence[Element]) -> Around:
    start, end = own[0].start, own[-1].end
    if own[0].kind is ElementKind.ROW:
        table = _find_table(markup, start)
        header = [s for s in seen if table <= s.start < start and s.kind is ElementKind.ROW]
        return [*_list_prose(seen, table)[-1:], *header[:1]], []
    if own[0].kind is ElementKind.CODE:
        lead = _list_prose(seen, start)
        return [s for s in lead if s.block.start == lead[-1].block.start][-LEAD_MOST:], []
    following = [s for s in seen if s.start >= end and s.block.start == own[-1].block.start]
    return _list_prose(seen, start)[-1:], following[:1]


def _list_prose(seen: Sequence[Sentence], end: int) -> list[Sentence]:
    """List the sentences of prose that end before a place."""
    return [s for s in seen if s.end <= end and s.kind not in NO_PROSE and not is_label(s)]


def _find_table(markup: Sequence[Element], start: int) -> int:
    """Find where the table of a row begins."""
    tables = (e.start for e in markup if e.kind is ElementKind.TABLE and e.start <= start < e.end)
    return max(tables, default=start)
