"""Mark one section: everything that its text shows by itself, and nothing that depends on other sections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from octavo.text.blocks import Block, list_blocks, split_code
from octavo.text.bookmap.definitions import find_codes, find_definitions, find_other_names
from octavo.text.bookmap.gist import choose_gist
from octavo.text.bookmap.marks import SectionMarks, Stretch
from octavo.text.bookmap.names import find_runs
from octavo.text.layout import read_layout
from octavo.text.sentences import split_sentences

if TYPE_CHECKING:
    from octavo.types import Span


def mark_section(
    text: str, blocks: Sequence[Span] = (), parts: Sequence[Block] | None = None
) -> SectionMarks:
    """Mark the text of a section. Takes CPU time that grows with its length: run it in a thread.

    `blocks` are its code and tables, `parts` all of its blocks. Where those are not known, its lines tell.
    """
    known = list_blocks(text, read_layout(text, kept=blocks)) if parts is None else parts
    lines = split_code(text, known)
    sentences = tuple(Stretch(span.start, span.end) for span in split_sentences(text, blocks=lines))
    runs = tuple(find_runs(text, sentences, blocks))
    return SectionMarks(
        sentences=sentences,
        runs=runs,
        codes=tuple(find_codes(text, blocks)),
        definitions=tuple(find_definitions(text, sentences, blocks, known)),
        other_names=tuple(find_other_names(text, runs)),
        gist=choose_gist(text, sentences, blocks),
    )
