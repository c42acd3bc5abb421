"""Documentation projects of several source files: the order, the titles and the addresses of their pages.

A project is a tree of pages. Each page becomes a chapter below the pages and captions above it; pages that no
contents name come last, with a warning. Files outside of the project are never read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.errors import BadBook
from octavo.limits import MB
from octavo.readers.files import check_sections, load_file, resolve_inside
from octavo.readers.outline import Outline
from octavo.readers.pages import Heading, Piece
from octavo.readers.titles import clean_line, is_same_title, make_title
from octavo.text.clean import clean, decode

if TYPE_CHECKING:
    from octavo.limits import Limits
    from octavo.readers.parsed import ParsedSection

_DEEPEST = 12


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the contents: a page by its name, or a caption with the lines below it."""

    page: str
    title: str = ""
    below: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class SourcePage:
    """A page that was read: its file, its pieces, and the contents that it lists."""

    file: str
    pieces: tuple[Piece, ...]
    contents: tuple[Entry, ...] = ()

    @property
    def title(self) -> str:
        heading = next((p.text for p in self.pieces if isinstance(p, Heading)), "")
        return clean_line(heading) or make_title(Path(self.file).stem)


@dataclass(slots=True)
class Inclusions:
    """The files of a folder, for pages that include others; their sizes are counted together.

    A file that is added alone may not read its neighbours.
    """

    root: Path
    limits: Limits
    left: int = field(init=False)
    included: set[str] = field(default_factory=set)
    missing: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.left = self.limits.max_text_mb * MB

    def load(self, base: Path, reference: str) -> str | None:
        """Return the text of a file that a page in folder `base` includes; None for none inside the root."""
        file = resolve_inside(self.root, base, reference.strip())
        if file is None or not file.is_file() or not self.root.is_dir():
            self.missing[clean_line(reference)[:100]] = None
            return None
        text = read_source(file, self.limits)
        self.left -= len(text) + 1
        if self.left < 0:
            raise BadBook("too_large", f"{self.root.name} includes more than {self.limits.max_text_mb} MB")
        self.included.add(file.relative_to(self.root.resolve()).as_posix())
        return text

    def describe_missing(self) -> tuple[str, ...]:
        """Return a warning about the files that could not be included, if there are any."""
        if not self.missing:
            return ()
        names = ", ".join(list(self.missing)[:3]) + (", …" if len(self.missing) > 3 else "")
        if self.root.is_dir():
            return (f"included files that are not in the folder are left out: {names}",)
        return (f"included files are left out: {names}; add the folder to read them",)


def read_source(file: Path, limits: Limits) -> str:
    """Read a source file as clean text."""
    return clean(decode(load_file(file, limits)).text)


@dataclass(slots=True)
class ProjectOutline:
    """Places the pages of a project, each once, in the order of its contents."""

    pages: Mapping[str, SourcePage]
    make_url: Callable[[str], str]
    title: str
    outline: Outline = field(default_factory=Outline)
    placed: set[str] = field(default_factory=set)

    def place(self, entries: Sequence[Entry], above: tuple[str, ...] = (), depth: int = 0) -> None:
        """Place the pages of these lines of the contents and of all below them."""
        for entry in entries:
            page = self.pages.get(entry.page)
            if entry.page and (page is None or entry.page in self.placed):
                continue
            path = above
            if page is not None:
                path = self._add_page(entry, page, above)
            elif entry.title:
                path = (*above, clean_line(entry.title))
            if depth < _DEEPEST:
                self.place((*entry.below, *(page.contents if page else ())), path, depth + 1)

    def _add_page(self, entry: Entry, page: SourcePage, above: tuple[str, ...]) -> tuple[str, ...]:
        self.placed.add(entry.page)
        title = clean_line(entry.title) or page.title
        is_cover = not above and is_same_title(title, self.title)
        # A part that is named like its first page is that page.
        path = above if above and is_same_title(above[-1], title) else (*above, title)
        self.outline.start_document(page.file, url=self.make_url(entry.page))
        if any(piece.text for piece in page.pieces):
            self.outline.enter(path)
            self.outline.add(page.pieces)
        return () if is_cover else path

    def build(self, limits: Limits, *, name: str) -> tuple[ParsedSection, ...]:
        return check_sections(self.outline.build_sections(title=self.title), limits, name=name)
