"""Build the pieces of a page from runs of text.

Text is collected until a block ends, then it becomes one or more pieces. Ids and page breaks wait for the
next piece that has text. Lists put their markers and indents before each item; a `tight` piece goes on the
line after the one before it. Each piece gets the inline elements of its text, and the containers that are
open around it. A picture without words becomes a piece without text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from octavo.readers.html.inline import BREAK, finish_paragraphs
from octavo.readers.pages import Heading, PageBreak, Piece, Text
from octavo.readers.parts import Container, MarkedRuns, Part, is_image, wrap
from octavo.text.clean import clean
from octavo.types import ElementKind

_DEEPEST_INDENT = 8
_LONGEST_LABEL = 50


def clean_label(label: str) -> str:
    """Return a page's label as it is shown: one short line."""
    return " ".join(clean(label).split())[:_LONGEST_LABEL]


@dataclass(slots=True)
class _OpenList:
    """A list that is open: how its items are marked, and how many there were."""

    ordered: bool
    number: int
    indent: str
    begun: bool = False


class PageBuilder:
    """The pieces of one page while they are built."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.tight = False
        self.in_heading = False
        self.marks = MarkedRuns()
        self.containers: list[Container] = []
        self.leaf = Part(ElementKind.PARAGRAPH, 0, 0)
        self._raw = self.marks.runs
        self._ids: dict[str, None] = {}
        self._labels: list[str] = []
        self._lists: list[_OpenList] = []
        self._marker = ""

    @property
    def last_run(self) -> str:
        """The last run of text that was written."""
        return self._raw[-1] if self._raw else ""

    def write(self, text: str) -> None:
        self._raw.append(text)

    def note_id(self, name: str) -> None:
        self._ids[name] = None

    def break_page(self, label: str) -> None:
        """Note that a printed page begins here."""
        self._labels.append(clean_label(label))
        self._raw.append(BREAK)

    def open_list(self, *, ordered: bool, start: int) -> None:
        indent = "  " * min(len(self._lists), _DEEPEST_INDENT)
        self._lists.append(_OpenList(ordered, start - 1, indent))

    def close_list(self) -> None:
        if self._lists:
            self._lists.pop()

    def open_item(self) -> None:
        if not self._lists:
            return
        holder = self._lists[-1]
        holder.number += 1
        self._marker = f"{holder.number}. " if holder.ordered else "- "
        self.tight = holder.begun or len(self._lists) > 1
        holder.begun = True

    def close_item(self) -> None:
        self._marker = ""

    def flush(self) -> None:
        """Turn the collected text into paragraphs; page breaks without text wait for the next."""
        if self.in_heading:
            self._raw.append(" ")
            return
        if not self._raw and not self.marks:
            return
        waiting = 0
        for text, offsets, markup in self._take_paragraphs():
            if text:
                self._add_text(text, (0,) * waiting + offsets, markup)
                waiting = 0
            else:
                self.add_images(markup)
                waiting += len(offsets)
        self._raw += [BREAK] * waiting

    def close_heading(self, level: int, *, own_id: str) -> None:
        """Turn the collected text into a heading; its own id comes before the others."""
        self.in_heading = False
        settled = self._take_paragraphs()
        text = " ".join(" ".join(t.split()) for t, _, _ in settled if t)
        images = [part for _, _, markup in settled for part in markup if is_image(part)]
        if not text:
            self.add_images(images)
            self._raw += [BREAK] * sum(len(offsets) for _, offsets, _ in settled)
            return
        ids = tuple(sorted(self._take_ids(), key=lambda name: name != own_id))
        breaks = self._take_breaks((0,) * len(self._labels))
        self.pieces.append(Heading(level=level, text=text, ids=ids, breaks=breaks))
        self.add_images(images)
        self.tight = False

    def add_images(self, parts: Iterable[Part]) -> None:
        """Add the pictures among `parts` as a piece without text."""
        images = tuple(part._replace(start=0, end=0, depth=0) for part in parts if is_image(part))
        if images:
            self.pieces.append(Text(text="", markup=images, within=tuple(self.containers)))

    def add_break(self) -> None:
        """Add a break between two parts of a text, such as a rule."""
        if not self.in_heading:
            mark = Part(ElementKind.BREAK, 0, 0)
            self.pieces.append(Text(text="", markup=(mark,), within=tuple(self.containers)))

    def add_block(
        self, text: str, *, ids: Iterable[str] = (), labels: Iterable[str] = (), markup: Iterable[Part] = ()
    ) -> None:
        """Add code or a table as it is. `labels` belong to the page breaks inside it."""
        if self.in_heading:
            self._ids.update(dict.fromkeys(ids))
            self._labels += labels
            self._raw.append(f" {text} ")
            return
        waiting = self._raw.count(BREAK)
        self.marks.clear()
        if self._marker:
            self._add_text("", (), [])
            self.tight = True
        self._ids.update(dict.fromkeys(ids))
        breaks = self._take_breaks((0,) * waiting)
        lengths = accumulate(len(part) for part in text.split(BREAK)[:-1])
        breaks += tuple(PageBreak(offset, label) for offset, label in zip(lengths, labels, strict=True))
        text = text.replace(BREAK, "")
        piece = Text(
            text=text,
            block=True,
            tight=self.tight,
            ids=self._take_ids(),
            breaks=breaks,
            markup=tuple(markup),
            within=tuple(self.containers),
        )
        self.pieces.append(piece)
        self.tight = False

    def finish(self) -> tuple[Piece, ...]:
        """Return all pieces; ids and page breaks after the last text get an empty piece."""
        self.flush()
        if self._ids or self._labels:
            breaks = self._take_breaks((0,) * len(self._labels))
            self.pieces.append(Text(text="", ids=self._take_ids(), breaks=breaks))
        return tuple(self.pieces)

    def _take_paragraphs(self) -> list[tuple[str, tuple[int, ...], list[Part]]]:
        settled = finish_paragraphs("".join(self._raw))
        if self.marks:
            settled = settled or [("", ())]
            placed = self.marks.place([text for text, _ in settled])
        else:
            placed = [[] for _ in settled]
        self.marks.clear()
        return [(text, offsets, markup) for (text, offsets), markup in zip(settled, placed, strict=True)]

    def _add_text(self, text: str, offsets: tuple[int, ...], markup: list[Part]) -> None:
        indent = self._lists[-1].indent if self._lists else ""
        lead = f"{indent}{self._marker}" if self._marker else (f"{indent}  " if self._lists else "")
        last = next((piece for piece in reversed(self.pieces) if piece.text), None)
        tight = self.tight and isinstance(last, Text)

        def move(offset: int) -> int:
            return offset + len(lead) * (text.count("\n", 0, offset) + 1)

        parts = wrap(markup, self.leaf._replace(end=len(text))) if text else []
        parts = [p._replace(start=move(p.start), end=move(p.end)) for p in parts] if lead else parts
        breaks = self._take_breaks(tuple(move(offset) for offset in offsets))
        piece = Text(
            text=(lead + text.replace("\n", "\n" + " " * len(lead))).rstrip(),
            tight=tight,
            ids=self._take_ids(),
            breaks=breaks,
            markup=tuple(parts),
            within=tuple(self.containers),
        )
        self.pieces.append(piece)
        self._marker, self.tight = "", False

    def _take_ids(self) -> tuple[str, ...]:
        """Return the ids seen since the last piece, the nearest first."""
        ids, self._ids = tuple(reversed(self._ids)), {}
        return ids

    def _take_breaks(self, offsets: tuple[int, ...]) -> tuple[PageBreak, ...]:
        labels, self._labels = self._labels[: len(offsets)], self._labels[len(offsets) :]
        return tuple(PageBreak(offset, label) for offset, label in zip(offsets, labels, strict=False))
