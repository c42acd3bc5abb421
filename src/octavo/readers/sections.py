"""The sections of a page, and their place in the book's contents.

Readers of text and Markdown cut a page into `PageSection`s, one for each heading; `nest_sections` and
`build_chapter` turn them into the sections of the book. A heading stands below the nearest earlier heading of
a higher rank, so levels that a page skips are not invented. A heading that only repeats the page's title is
the chapter itself, not a section inside it. `Anchors` gives headings the ids that publishing tools give them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from octavo.readers.parsed import ParsedSection
from octavo.readers.parts import Container, Part, build_elements
from octavo.readers.titles import is_same_title
from octavo.types import ElementKind, Span

if TYPE_CHECKING:
    from octavo.types.markup import Attribute

_NOT_IN_GITHUB_ANCHOR = re.compile(r"[^\w\- ]")
_NOT_IN_MDBOOK_ANCHOR = re.compile(r"[^\w\-\s]")


@dataclass(frozen=True, slots=True)
class PageSection:
    """A heading and the text directly under it. Level 0 is what comes before the first heading."""

    level: int
    title: str
    anchor: str
    text: str
    blocks: tuple[Span, ...] = ()
    markup: tuple[Part, ...] = ()


@dataclass(slots=True)
class TextBuilder:
    """The text of one section while its paragraphs are added."""

    parts: list[str] = field(default_factory=list)
    length: int = 0
    blocks: list[Span] = field(default_factory=list)
    markup: list[Part] = field(default_factory=list)
    _open: list[tuple[Container, int]] = field(default_factory=list)

    def add(
        self,
        text: str,
        *,
        tight: bool = False,
        block: bool = False,
        within: Sequence[Container] = (),
        markup: Sequence[Part] = (),
    ) -> int:
        """Add a paragraph, or a line when `tight`, and return the offset where it starts.

        `markup` are the parts of `text`, and `within` are the containers around it, the outermost first.
        """
        gap = "" if not self.length else ("\n" if tight else "\n\n")
        start = self.length + len(gap)
        self.parts += (gap, text)
        self.length = start + len(text)
        if block:
            self.blocks.append(Span(start, self.length))
        self._mark(start, within, markup)
        return start

    def mark(self, markup: Sequence[Part], *, within: Sequence[Container] = ()) -> None:
        """Add parts that hold no text, such as pictures, at the end of the text."""
        self._mark(self.length, within, [part._replace(start=0, end=0) for part in markup])

    def _mark(self, start: int, within: Sequence[Container], markup: Sequence[Part]) -> None:
        shared = 0
        while shared < min(len(within), len(self._open)) and self._open[shared][0] is within[shared]:
            shared += 1
        del self._open[shared:]
        for _, number in self._open:
            self.markup[number] = self.markup[number]._replace(end=self.length)
        for container in within[shared:]:
            self._open.append((container, len(self.markup)))
            depth = len(self._open) - 1
            self.markup.append(Part(container.kind, start, self.length, depth, container.attributes))
        depth = len(within)
        self.markup += (
            Part(p.kind, p.start + start, p.end + start, p.depth + depth, p.attributes) for p in markup
        )

    def append(self, other: TextBuilder) -> None:
        """Add all of another text as a paragraph, with its blocks and its markup."""
        if other.length:
            start = self.add(other.text, markup=other.markup)
            self.blocks += [Span(b.start + start, b.end + start) for b in other.blocks]
        elif other.markup:
            self.mark(other.markup)

    def prepend(self, prefix: str) -> None:
        """Put `prefix` before the first line."""
        size = len(prefix)
        self.parts.insert(0, prefix)
        self.length += size
        self.blocks = [Span(b.start + size, b.end + size) for b in self.blocks]
        self.markup = [p._replace(start=p.start + size, end=p.end + size) for p in self.markup]

    def wrap(self, kind: ElementKind, attributes: Mapping[str, Attribute]) -> None:
        """Put everything so far inside one element."""
        inner = (part._replace(depth=part.depth + 1) for part in self.markup)
        self.markup = [Part(kind, 0, self.length, 0, attributes), *inner]
        self._open.clear()

    @property
    def text(self) -> str:
        return "".join(self.parts)


@dataclass(slots=True)
class SectionBuilder:
    """A `PageSection` while its text is added."""

    level: int = 0
    title: str = ""
    anchor: str = ""
    body: TextBuilder = field(default_factory=TextBuilder)

    def build(self) -> PageSection:
        body = self.body
        return PageSection(
            self.level, self.title, self.anchor, body.text, tuple(body.blocks), tuple(body.markup)
        )


def nest_sections(
    sections: Sequence[PageSection], *, path: tuple[str, ...], source_file: str, url: str = ""
) -> list[ParsedSection]:
    """Place headings below `path`, each under the nearest earlier heading of a higher rank."""
    nested: list[ParsedSection] = []
    above: list[PageSection] = []
    for section in sections:
        while above and above[-1].level >= section.level:
            above.pop()
        above.append(section)
        nested.append(
            ParsedSection(
                title=section.title,
                heading_path=(*path, *(s.title for s in above)),
                text=section.text,
                source_file=source_file,
                url=url,
                anchor=section.anchor,
                blocks=section.blocks,
                markup=build_elements(section.markup),
            )
        )
    return nested


def merge_sections(sections: Sequence[PageSection]) -> PageSection:
    """Join the texts of several sections; their headings are dropped."""
    merged = SectionBuilder()
    for section in sections:
        merged.body.append(
            TextBuilder([section.text], len(section.text), list(section.blocks), list(section.markup))
        )
    return merged.build()


def build_chapter(
    sections: Sequence[PageSection],
    *,
    path: tuple[str, ...],
    source_file: str,
    url: str = "",
    anchored: bool = True,
) -> list[ParsedSection]:
    """Build the chapter that a page is, at `path`: its own text first, then its headings below it."""
    own = 2 if _starts_with_title(sections, path[-1]) else 1
    head = merge_sections(sections[:own])
    first = ParsedSection(
        title=path[-1],
        heading_path=path,
        text=head.text,
        source_file=source_file,
        url=url,
        anchor=sections[1].anchor if own == 2 and anchored else "",
        blocks=head.blocks,
        markup=build_elements(head.markup),
    )
    return [first, *nest_sections(sections[own:], path=path, source_file=source_file, url=url)]


def find_page_title(sections: Sequence[PageSection]) -> str:
    """Find what a page calls itself: its first top heading, or the one above all others; may be empty."""
    top = next((s.title for s in sections if s.level == 1), "")
    return top or (sections[1].title if _starts_with_title(sections, "") else "")


def _starts_with_title(sections: Sequence[PageSection], title: str) -> bool:
    """Whether the first heading names the page: a top heading, the same words, or above all others."""
    if len(sections) < 2:
        return False
    first = sections[1]
    if first.level == 1 or is_same_title(first.title, title):
        return True
    return not sections[0].text and all(s.level > first.level for s in sections[2:])


def make_github_anchor(text: str) -> str:
    """As GitHub and Docusaurus do: lower case, no punctuation, each space a hyphen."""
    return _drop(_NOT_IN_GITHUB_ANCHOR, text.lower()).replace(" ", "-")


def make_mdbook_anchor(text: str) -> str:
    """As mdBook does: the same, with every kind of white space a hyphen."""
    return re.sub(r"\s", "-", _drop(_NOT_IN_MDBOOK_ANCHOR, text.strip().lower()))


def _drop(unwanted: re.Pattern[str], text: str) -> str:
    if text.isascii():
        return unwanted.sub("", text)
    return unwanted.sub(lambda m: m.group() if unicodedata.category(m.group())[0] == "M" else "", text)


class Anchors:
    """The ids of one page: each is used once, repeated headings count up."""

    def __init__(self, rule: Callable[[str], str] = make_github_anchor) -> None:
        self._rule = rule
        self._taken: dict[str, int] = {}

    def make(self, title: str, explicit: str = "") -> str:
        if explicit:
            self._taken.setdefault(explicit, 0)
            return explicit
        base = found = self._rule(title)
        while found in self._taken:
            self._taken[base] += 1
            found = f"{base}-{self._taken[base]}"
        self._taken[found] = 0
        return found
