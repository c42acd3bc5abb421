"""Build the sections of a book from pieces of pages and entries of its table of contents.

Both say where a section begins: an entry (`enter`) and a heading in the text. Often they say the same thing
twice, so a heading that repeats an entry is taken as the entry's own. Headings that the contents do not list
nest by level under the entry they follow. Pages are numbered through the book, and a section that begins in
the middle of a page starts with that page's mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from octavo.readers.pages import Heading, Piece, Text
from octavo.readers.parsed import ParsedSection
from octavo.readers.parts import Part, build_elements, is_image
from octavo.readers.sections import TextBuilder
from octavo.readers.titles import clean_line, is_same_title, split_words, squash_title
from octavo.text.clean import clean
from octavo.types import PageMark

_LEAD_NOWHERE = ("contents", "tableofcontents", "shorttableofcontents", "toc", "inhalt", "sommaire")
_NUMBERING = re.compile(
    r"^(?:(?:chapter|part|book|section|appendix|kapitel|chapitre)\s+)?(?:\d+(?:\.\d+)*|[ivxlcdm]+)[.:)\s—–-]+",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _SectionDraft:
    path: tuple[str, ...]
    source_file: str
    url: str
    anchor: str
    body: TextBuilder = field(default_factory=TextBuilder)
    pages: list[PageMark] = field(default_factory=list)
    places: list[tuple[str, int]] = field(default_factory=list)

    def build(self) -> ParsedSection:
        text = self.body.text
        return ParsedSection(
            title=self.path[-1],
            heading_path=self.path,
            text=text,
            source_file=self.source_file,
            url=self.url,
            anchor=self.anchor,
            pages=tuple(PageMark(min(m.offset, len(text)), m.number, m.label) for m in self.pages),
            blocks=tuple(self.body.blocks),
            markup=build_elements(self.body.markup),
            places=tuple(self.places),
        )


class Outline:
    """The sections of a book while they are built."""

    def __init__(self) -> None:
        self.drafts: list[_SectionDraft] = []
        self.page_count = 0
        self._label: str | None = None
        self._stack: list[tuple[int | None, str]] = []
        self._source_file, self._url = "", ""
        self._awaits_heading = self._pinned = False
        self._title_so_far = ""
        self._images_before: list[Part] = []
        self._is_placed = True

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(title for _, title in self._stack)

    def build_sections(self, *, title: str) -> list[ParsedSection]:
        """Return all sections, except empty ones that only say "Contents" or repeat the book's title."""
        bare = {*_LEAD_NOWHERE, squash_title(title)}
        kept = []
        for number, draft in enumerate(self.drafts):
            following = self.drafts[number + 1].path if number + 1 < len(self.drafts) else ()
            is_leaf = following[: len(draft.path)] != draft.path
            if draft.body.length or not is_leaf or squash_title(draft.path[-1]) not in bare:
                kept.append(draft.build())
        return kept

    def start_document(self, source_file: str, *, url: str = "") -> None:
        """Say which file the next pieces come from. Its headings may end entries that had none."""
        self._source_file, self._url = clean(source_file), clean(url)
        self._awaits_heading = False
        self._is_placed = False
        last = len(self._stack) - 1
        self._stack = [(int(i == last) if n is None else n, t) for i, (n, t) in enumerate(self._stack)]

    def enter(self, path: tuple[str, ...], *, anchor: str = "", pinned: bool = False) -> None:
        """Start the section of an entry of the contents; no heading ends a `pinned` one."""
        clean_path = tuple(line for part in path if (line := clean_line(part)))
        if not clean_path:
            return
        known = dict(zip(self.path, (n for n, _ in self._stack), strict=True))
        self._pinned = pinned
        self._stack = [(0 if pinned else known.get(t) or 0, t) for t in clean_path[:-1]]
        self._stack.append((None, clean_path[-1]))
        self._open_section(anchor)
        self._awaits_heading, self._title_so_far = True, ""

    def leave(self) -> None:
        """End the entry: what follows stands beside it, not under it."""
        self._stack.clear()
        self._awaits_heading = False

    def add(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            if isinstance(piece, Heading):
                self._add_heading(piece)
            else:
                self._add_text(piece)

    def _open_section(self, anchor: str) -> None:
        draft = _SectionDraft(self.path, self._source_file, self._url, anchor)
        if self.page_count:
            draft.pages.append(PageMark(0, self.page_count, self._label))
        if self._images_before:
            draft.body.mark(self._images_before)
            self._images_before = []
        self.drafts.append(draft)

    def _add_heading(self, piece: Heading) -> None:
        title = clean_line(piece.text)
        if not title:
            return
        level, entry = self._stack[-1] if self._stack else (0, "")
        if (self._awaits_heading and self._repeats_entry(title)) or (
            level is None and is_same_title(entry, title)
        ):
            if level is None:
                self._stack[-1] = (0 if self._pinned else piece.level, entry)
            draft = self.drafts[-1]
            draft.anchor = draft.anchor or piece.anchor
            self._note_places(piece, draft.body.length)
            self._mark_pages(piece, draft.body.length)
            return
        self._awaits_heading = False
        while self._stack and self._stack[-1][0] is not None and self._stack[-1][0] >= piece.level:
            self._stack.pop()
        self._stack.append((piece.level, title))
        self._open_section(piece.anchor)
        self._note_places(piece, 0)
        self._mark_pages(piece, 0)

    def _repeats_entry(self, title: str) -> bool:
        """Whether a heading, alone or together with the ones before it, repeats the entry's title."""
        entry, so_far = self._stack[-1][1], f"{self._title_so_far} {title}".strip()
        if not squash_title(title) or is_same_title(entry, title) or is_same_title(entry, so_far):
            self._title_so_far = so_far
            return True
        if _strip_number(entry) == _strip_number(title):
            self._title_so_far = entry
            return True
        whole, words = split_words(entry), split_words(title)
        ends = not self._title_so_far and (_ends_with(whole, words) or _ends_with(words, whole))
        if ends or _starts_with(whole, split_words(so_far)):
            self._title_so_far = so_far
            return True
        return False

    def _add_text(self, piece: Text) -> None:
        if not self.drafts:
            if piece.text:
                raise ValueError("text before any entry: call enter() first")
            self._images_before += _find_images(piece)
            self._mark_pages(piece, 0)
            return
        draft = self.drafts[-1]
        if piece.text:
            if self._awaits_heading and self._spells_entry(piece):
                draft.body.mark(_find_images(piece))
                self._note_places(piece, draft.body.length)
                self._mark_pages(piece, draft.body.length)
                return
            self._awaits_heading = False
            start = draft.body.add(
                piece.text, tight=piece.tight, block=piece.block, within=piece.within, markup=piece.markup
            )
            self._note_places(piece, start)
            self._mark_pages(piece, start, within=True)
        else:
            if piece.markup:
                draft.body.mark(piece.markup, within=piece.within)
            self._note_places(piece, draft.body.length)
            self._mark_pages(piece, draft.body.length)

    def _note_places(self, piece: Piece, offset: int) -> None:
        """Note where the ids of a piece are, and where its document begins."""
        places = self.drafts[-1].places
        if not self._is_placed:
            places.append((self._source_file, offset))
            self._is_placed = True
        places += ((f"{self._source_file}#{clean(name)}", offset) for name in piece.ids)

    def _spells_entry(self, piece: Text) -> bool:
        """Whether a paragraph only prints the entry's title, as in books without headings."""
        if piece.block or len(piece.text) > 200:
            return False
        entry, so_far = self._stack[-1][1], f"{self._title_so_far} {piece.text}".strip()
        if not split_words(so_far) or not (
            is_same_title(entry, so_far) or _starts_with(split_words(entry), split_words(so_far))
        ):
            return False
        self._title_so_far = so_far
        return True

    def _mark_pages(self, piece: Piece, start: int, *, within: bool = False) -> None:
        """Mark the pages that begin in this piece: `within` its text, or else all at `start`."""
        for broken in piece.breaks:
            self.page_count += 1
            self._label = broken.label or None
            if not self.drafts:
                continue
            draft = self.drafts[-1]
            offset = start + broken.offset if within else start
            mark = PageMark(offset, self.page_count, self._label)
            if draft.pages and draft.pages[-1].offset == mark.offset:
                draft.pages.pop()
            draft.pages.append(mark)


def _find_images(piece: Text) -> list[Part]:
    """Return the pictures of a piece whose text is not kept."""
    return [part._replace(depth=0) for part in piece.markup if is_image(part)]


def _starts_with(words: list[str], others: list[str]) -> bool:
    return words[: len(others)] == others


def _ends_with(words: list[str], others: list[str]) -> bool:
    return bool(others) and words[-len(others) :] == others


def _strip_number(text: str) -> str:
    return squash_title(_NUMBERING.sub("", text)) or squash_title(text)
