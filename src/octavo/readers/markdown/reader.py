"""Read Markdown: one file, or a folder of files that together are a book.

A single file whose only top heading comes first is named by it, and its second-level headings are the
chapters. In a folder each file is a chapter, and a folder with several files is a part. The order is what
front matter says, then README or index, then names in natural order. All readers of the Markdown family read
a page with `read_sections`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import pyromark

from octavo.errors import BadBook
from octavo.readers.files import check_sections, check_text_size, find_files, load_file, make_sort_key
from octavo.readers.markdown.frontmatter import FrontMatter, split_front_matter
from octavo.readers.markdown.mdx import strip_mdx
from octavo.readers.markdown.render import compose, rewrite_html
from octavo.readers.parsed import ParsedBook, ParsedSection
from octavo.readers.parts import build_elements
from octavo.readers.sections import (
    Anchors,
    PageSection,
    build_chapter,
    find_page_title,
    make_github_anchor,
    merge_sections,
    nest_sections,
)
from octavo.readers.titles import make_title
from octavo.text.clean import clean, decode
from octavo.types import BookFormat

if TYPE_CHECKING:
    from octavo.limits import Limits

SUFFIXES = frozenset((".md", ".markdown", ".mdown", ".mkd", ".mdx"))
_ORDER = ("nav_order", "weight", "sidebar_position", "order", "position")
_INDEX = ("index", "readme", "_index")
_WIKI = re.compile(r"(?<![\w\])])\[\[[^\W\d_][^\[\]\n]*\]\](?![(\[])")
_FORMULA = re.compile(r"\$\$([^$`]*)\$\$|\$([^$\s`][^$\n`]*)\$")
_ENTITY = re.compile(r"&#?\w+;")
_OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_HEADING_ATTRIBUTES
    | pyromark.Options.ENABLE_GFM
    | pyromark.Options.ENABLE_DEFINITION_LIST
)


def read_sections(
    source: str,
    *,
    rule: Callable[[str], str] = make_github_anchor,
    code: Callable[[str, str], str] = lambda _info, text: text,
) -> list[PageSection]:
    """Return what comes before the first heading, then each heading with its own text; `source` is clean."""
    options = _OPTIONS
    if "[[" in source and "]](" not in source and _WIKI.search(source):
        options |= pyromark.Options.ENABLE_WIKILINKS
    # A formula has a backslash: $HOME and $PATH are no formula.
    if any("\\" in (m[1] or m[2] or "") for m in _FORMULA.finditer(source)):
        options |= pyromark.Options.ENABLE_MATH
    events = pyromark.events(rewrite_html(source), options=options)
    return compose(events, anchors=Anchors(rule), code=code, entities=bool(_ENTITY.search(source)))


@dataclass(frozen=True, slots=True)
class MarkdownPage:
    """One file: what its front matter says, and its text, decoded and clean."""

    path: Path
    front_matter: FrontMatter
    warnings: tuple[str, ...] = ()

    @property
    def body(self) -> str:
        return self.front_matter.body


def open_page(path: Path, limits: Limits, *, name: str) -> MarkdownPage:
    """Read one file; `name` is its name in warnings."""
    data = load_file(path, limits)
    decoded = decode(data)
    matter = split_front_matter(clean(decoded.text), limits)
    warnings = [*decoded.warnings, *([matter.warning] if matter.warning else [])]
    return MarkdownPage(path, matter, tuple(f"{name}: {w}" for w in warnings))


def open_pages(
    root: Path, paths: list[Path], limits: Limits, warnings: list[str]
) -> dict[Path, MarkdownPage]:
    """Read every file that can be read; leave out the others with a warning."""
    found: dict[Path, MarkdownPage] = {}
    size = 0
    for path in paths:
        name = path.relative_to(root).as_posix()
        try:
            found[path] = page = open_page(path, limits, name=name)
        except BadBook as refused:
            warnings.append(f"{name}: left out, {refused.message}")
        except OSError as error:
            warnings.append(f"{name}: left out, {error.strerror or 'it cannot be opened'}")
        else:
            warnings.extend(page.warnings)
            size += len(page.body)
        check_text_size(size, limits, name=root.name)
    return found


def read_markdown(path: Path, limits: Limits) -> ParsedBook:
    """Read a Markdown file, or a folder of them."""
    return _read_folder(path, limits) if path.is_dir() else _read_file(path, limits)


def _read_file(path: Path, limits: Limits) -> ParsedBook:
    if path.is_file() and not path.stat().st_size:
        raise BadBook("empty_file", f"{path.name} is empty: it has 0 bytes")
    page = open_page(path, limits, name=path.name)
    found = _read_page_sections(page)
    tops = [p for p in found if p.level == 1]
    named = len(tops) == 1 and found[1] is tops[0]
    title = page.front_matter.get_text("title") or (tops[0].title if named else make_title(path.stem))
    head = merge_sections(found[:2] if named else found[:1])
    sections = nest_sections(found[2:] if named else found[1:], path=(), source_file=path.name)
    if head.text:
        anchor = tops[0].anchor if named else ""
        sections.insert(0, _build_section(title, head, path.name, anchor))
    return ParsedBook(
        title=title,
        format=BookFormat.MARKDOWN,
        sections=check_sections(sections, limits, name=path.name),
        authors=page.front_matter.authors,
        language=page.front_matter.get_text("lang", "language"),
        warnings=page.warnings,
    )


def _build_section(title: str, head: PageSection, source_file: str, anchor: str) -> ParsedSection:
    return ParsedSection(
        title=title,
        heading_path=(title,),
        text=head.text,
        source_file=source_file,
        anchor=anchor,
        blocks=head.blocks,
        markup=build_elements(head.markup),
    )


def _read_page_sections(page: MarkdownPage) -> list[PageSection]:
    body = strip_mdx(page.body) if page.path.suffix.lower() == ".mdx" else page.body
    return read_sections(body)


def _read_folder(root: Path, limits: Limits) -> ParsedBook:
    warnings: list[str] = []
    pages = open_pages(root, find_files(root, SUFFIXES, limits, notes=warnings), limits, warnings)
    read_pages = {path: _read_page_sections(page) for path, page in pages.items()}
    folder = _PageTree(root, pages, read_pages)
    index = folder.find_index(root)
    title = folder.find_title(index) if index else make_title(root.resolve().name)
    matter = pages[index].front_matter if index else FrontMatter("")
    return ParsedBook(
        title=title,
        format=BookFormat.MARKDOWN,
        sections=check_sections(folder.build_sections(root, ()), limits, name=root.name or "the folder"),
        authors=matter.authors,
        language=matter.get_text("lang", "language"),
        warnings=tuple(warnings),
    )


class _PageTree:
    """A folder of pages as parts and chapters."""

    def __init__(
        self, root: Path, pages: dict[Path, MarkdownPage], found: dict[Path, list[PageSection]]
    ) -> None:
        self._root, self._pages, self._found = root, pages, found
        self._files: dict[Path, list[Path]] = {}
        self._folders: dict[Path, set[Path]] = {}
        for path in pages:
            self._files.setdefault(path.parent, []).append(path)
            below = path.parent
            while below != root:
                self._folders.setdefault(below.parent, set()).add(below)
                below = below.parent

    def find_index(self, folder: Path) -> Path | None:
        ranked = [(_INDEX.index(f.stem.lower()), f) for f in self._files.get(folder, ()) if _is_index(f)]
        return min(ranked)[1] if ranked else None

    def find_title(self, path: Path) -> str:
        stem = path.parent.resolve().name if _is_index(path) else path.stem
        stated = self._pages[path].front_matter.get_text("title", "sidebar_label")
        return stated or find_page_title(self._found[path]) or make_title(stem)

    def build_sections(self, folder: Path, path: tuple[str, ...]) -> list[ParsedSection]:
        index = self.find_index(folder)
        inner = path
        sections: list[ParsedSection] = []
        if index:
            at_root = folder == self._root
            inner = path if at_root else (*path, self.find_title(index))
            sections += self._build_chapter(index, (*path, self.find_title(index)))
        elif (
            folder != self._root and len(self._files.get(folder, ())) + len(self._folders.get(folder, ())) > 1
        ):
            inner = (*path, make_title(folder.name))
            place = folder.relative_to(self._root).as_posix()
            sections.append(ParsedSection(title=inner[-1], heading_path=inner, text="", source_file=place))
        entries = [f for f in self._files.get(folder, ()) if f != index]
        for entry in sorted([*entries, *self._folders.get(folder, ())], key=self._rank):
            sections += (
                self._build_chapter(entry, (*inner, self.find_title(entry)))
                if entry in self._pages
                else (self.build_sections(entry, inner))
            )
        return sections

    def _rank(self, entry: Path) -> tuple[float, bool, list[tuple[int, str]]]:
        page = self._pages.get(entry) or self._pages.get(self.find_index(entry) or entry)
        order = page.front_matter.get_number(*_ORDER) if page else None
        return (float("inf") if order is None else order, not _is_index(entry), make_sort_key(entry.name))

    def _build_chapter(self, path: Path, place: tuple[str, ...]) -> list[ParsedSection]:
        name = path.relative_to(self._root).as_posix()
        page = PurePosixPath(name)
        url = page.with_name("index.html" if _is_index(path) else f"{page.stem}.html").as_posix()
        return build_chapter(self._found[path], path=place, source_file=name, url=url)


def _is_index(path: Path) -> bool:
    return path.stem.lower() in _INDEX
