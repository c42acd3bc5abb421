"""From the pieces of a page to sections with their place in the contents.

Levels that a page skips are not invented: a heading stands below the nearest one above it that ranks
higher. The heading that only repeats what the page is called is the chapter itself, not a section inside
it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from octavo.readers.parsed import ParsedSection
from octavo.types import Span


@dataclass(frozen=True, slots=True)
class PageSection:
    """A heading (level 1-6; 0 is what stands before the first) and the text directly under it."""

    level: int
    title: str
    anchor: str
    text: str
    blocks: tuple[Span, ...] = ()


def nest_sections(
    pieces: Sequence[PageSection], *, path: tuple[str, ...], source_file: str, url: str = ""
) -> list[ParsedSection]:
    """Headings below `path`, each under the nearest that ranks higher."""
    made: list[ParsedSection] = []
    above: list[PageSection] = []
    for piece in pieces:
        while above and above[-1].level >= piece.level:
            above.pop()
        above.append(piece)
        made.append(
            ParsedSection(
                title=piece.title,
                heading_path=(*path, *(p.title for p in above)),
                text=piece.text,
                source_file=source_file,
                url=url,
                anchor=piece.anchor,
                blocks=piece.blocks,
            )
        )
    return made


def merge_sections(pieces: Sequence[PageSection]) -> PageSection:
    """Several pieces as one text."""
    text = ""
    blocks: list[Span] = []
    for piece in pieces:
        if piece.text:
            shift = len(text) + 2 if text else 0
            text = f"{text}\n\n{piece.text}" if text else piece.text
            blocks += [Span(b.start + shift, b.end + shift) for b in piece.blocks]
    return PageSection(0, "", "", text, tuple(blocks))


def build_chapter(
    pieces: Sequence[PageSection],
    *,
    path: tuple[str, ...],
    source_file: str,
    url: str = "",
    anchored: bool = True,
) -> list[ParsedSection]:
    """A page whose own place is `path`: its text first, then the headings inside it."""
    merged = 2 if _is_page_title(pieces, path[-1]) else 1
    head = merge_sections(pieces[:merged])
    first = ParsedSection(
        title=path[-1],
        heading_path=path,
        text=head.text,
        source_file=source_file,
        url=url,
        anchor=pieces[1].anchor if merged == 2 and anchored else "",
        blocks=head.blocks,
    )
    return [first, *nest_sections(pieces[merged:], path=path, source_file=source_file, url=url)]


def _is_page_title(pieces: Sequence[PageSection], title: str) -> bool:
    """Whether the first heading is the page's title: a top heading, the same words, or above all others."""
    if len(pieces) < 2:
        return False
    first = pieces[1]
    if first.level == 1 or _squash(first.title) == _squash(title):
        return True
    return not pieces[0].text and all(p.level > first.level for p in pieces[2:])


def find_page_title(pieces: Sequence[PageSection]) -> str:
    """What a page calls itself: its first top heading, or the one above all others; may be empty."""
    top = next((p.title for p in pieces if p.level == 1), "")
    return top or (pieces[1].title if _is_page_title(pieces, "") else "")


def _squash(title: str) -> str:
    return re.sub(r"[\W_]+", "", title.casefold())
