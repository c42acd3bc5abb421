"""Read reStructuredText: one file, or the source of a Sphinx project.

The order is that of the toctrees, from the root document on; their captions are parts. `conf.py` is read as
text for a few plain settings (project, author, language, address) and never executed. Addresses are those of
the HTML that Sphinx writes, with the ids that docutils gives to headings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import TYPE_CHECKING

from octavo.errors import BadBook
from octavo.readers.documents.book import build_sections, read_markup, split_title
from octavo.readers.files import check_text_size, find_files
from octavo.readers.markup.project import Entry, Inclusions, ProjectOutline, SourcePage, read_source
from octavo.readers.markup.rst import Directive, RstPage
from octavo.readers.metadata import build_metadata
from octavo.readers.parsed import ParsedBook
from octavo.readers.titles import clean_line, make_title
from octavo.types import BookFormat

if TYPE_CHECKING:
    from octavo.limits import Limits

_HOMES = ("", "docs", "doc", "source", "docs/source", "doc/source", "Doc", "documentation")
_SETTING = re.compile(
    r"""^(project|author|language|master_doc|root_doc|html_baseurl)\s*=\s*u?(["'])(.{1,300}?)\2\s*(?:#.*)?$""",
    re.MULTILINE,
)
_TITLED = re.compile(r"(.*?)\s*<([^<>]+)>$")
_NO_PARTS = frozenset(("contents", "table of contents", "documentation", "toc"))
_ROOTS = ("index", "contents", "README", "readme")
_MYST_TOCTREE = re.compile(r"^(`{3,}|:{3,})\{toctree\}[^\n]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)


def is_sphinx(folder: Path) -> bool:
    """Whether a folder is the source of a Sphinx project."""
    return _find_home(folder) is not None


def _find_home(folder: Path) -> Path | None:
    """Return the folder with `conf.py` and a root document."""
    for place in _HOMES:
        home = folder / place
        if not home.resolve().is_relative_to(folder.resolve()):
            # A link out of the book.
            continue
        names = (f"{stem}{ending}" for stem in _ROOTS for ending in (".rst", ".txt", ".md"))
        if (home / "conf.py").is_file() and any((home / name).is_file() for name in names):
            return home
    return None


def read_rst(path: Path, limits: Limits) -> ParsedBook:
    """Read a file of reStructuredText, or a folder of them."""
    return _read_folder(path, limits) if path.is_dir() else _read_file(path, limits)


def _read_file(path: Path, limits: Limits) -> ParsedBook:
    inclusions = Inclusions(path, limits)
    page = RstPage(lambda reference: inclusions.load(path.parent, reference))
    pieces = read_markup(page.write(read_source(path, limits)), limits, name=path.name)
    first, rest = split_title(pieces)
    title = clean_line(first) or make_title(path.stem)
    author = clean_line(page.fields.get("author", "") or page.fields.get("authors", ""))
    return ParsedBook(
        title=title,
        format=BookFormat.RST,
        sections=build_sections(rest, limits, title=title, source_file=path.name),
        authors=(author,) if author else (),
        metadata=build_metadata(published=page.fields.get("date", "")),
        warnings=inclusions.describe_missing(),
    )


def _read_folder(folder: Path, limits: Limits) -> ParsedBook:
    home = _find_home(folder) or folder
    settings = _read_settings(home, limits)
    notes: list[str] = []
    pages = _read_pages(home, limits, notes)
    if not pages:
        raise BadBook("no_text", f"{folder.name} has no pages of reStructuredText")
    named = settings.get("root_doc") or settings.get("master_doc") or ""
    root = next((name for name in (named, *_ROOTS) if name in pages), "")
    title = clean_line(settings.get("project", "")) or (
        pages[root].title if root else make_title(folder.name)
    )
    outline = ProjectOutline(pages, lambda name: f"{name}.html", title)
    if root:
        _place_root(outline, pages[root], root)
    left = [name for name in pages if name not in outline.placed]
    if root and len(left) > max(3, len(pages) // 5):
        notes.append(f"{len(left)} of {len(pages)} pages are in no toctree; they come last, sorted by name")
    outline.place([Entry(name) for name in left])
    return ParsedBook(
        title=title,
        format=BookFormat.RST,
        sections=outline.build(limits, name=folder.name),
        authors=(clean_line(settings["author"]),) if settings.get("author") else (),
        language=settings.get("language", "")[:20],
        base_url=settings.get("html_baseurl"),
        warnings=tuple(notes),
    )


def _place_root(outline: ProjectOutline, page: SourcePage, root: str) -> None:
    """Place the root document as the book's first section, and what it lists as the chapters."""
    outline.placed.add(root)
    outline.outline.start_document(page.file, url=outline.make_url(root))
    if any(piece.text for piece in page.pieces):
        outline.outline.enter((outline.title,))
        outline.outline.add(page.pieces)
        outline.outline.leave()
    outline.place(page.contents)


def _read_settings(home: Path, limits: Limits) -> dict[str, str]:
    file = home / "conf.py"
    if not file.is_file():
        return {}
    return {name: clean_line(value) for name, _, value in _SETTING.findall(read_source(file, limits))}


def _read_pages(home: Path, limits: Limits, notes: list[str]) -> dict[str, SourcePage]:
    """Read every page of the project, by its name without the ending; what others include is no page."""
    endings = {".rst", ".rest"} | ({".md"} if (home / "conf.py").is_file() else set())
    if not (home / "index.rst").is_file() and (home / "index.txt").is_file():
        endings.add(".txt")
    inclusions = Inclusions(home, limits)
    files = {
        p.relative_to(home).as_posix(): p for p in find_files(home, frozenset(endings), limits, notes=notes)
    }
    raw: dict[str, tuple[str, RstPage | None, str]] = {}
    size = 0
    for file, path in files.items():
        text = read_source(path, limits)
        size += len(text)
        check_text_size(size, limits, name=home.name)
        name = file.rpartition(".")[0]
        if path.suffix.lower() == ".md":
            raw[name] = (file, None, text)
            continue
        page = RstPage(_make_loader(inclusions, home, path.parent))
        raw[name] = (file, page, page.write(text))
    notes += inclusions.describe_missing()
    pages: dict[str, SourcePage] = {}
    for name, (file, written, text) in raw.items():
        if file in inclusions.included or any(
            part.startswith("_") for part in PurePosixPath(file).parts[:-1]
        ):
            continue
        if written is None:
            pages[name] = _read_myst(file, name, text, raw, limits)
        else:
            contents = tuple(e for tree in written.toctrees for e in _list_entries(tree, name, raw))
            pages[name] = SourcePage(file, read_markup(text, limits, name=file), contents)
    return pages


def _make_loader(inclusions: Inclusions, home: Path, folder: Path) -> Callable[[str], str | None]:
    def load(reference: str) -> str | None:
        base = home if reference.startswith("/") else folder
        return inclusions.load(base, reference.lstrip("/"))

    return load


def _read_myst(file: str, name: str, text: str, known: Mapping[str, object], limits: Limits) -> SourcePage:
    """Read a page of Markdown, as Sphinx takes them too, with the toctrees in its fences."""
    from octavo.readers.markdown.reader import read_sections
    from octavo.readers.pages import Heading, Piece, Text

    contents: list[Entry] = []
    for _, body in _MYST_TOCTREE.findall(text):
        lines = [line.strip() for line in body.split("\n")]
        found = (re.match(r":([\w-]+):\s*(.*)", line) for line in lines)
        options = {m.group(1): m.group(2) for m in found if m}
        rest = [line for line in lines if line and not line.startswith(":")]
        contents += _list_entries(Directive("toctree", "", options, rest), name, known)
    pieces: list[Piece] = []
    for section in read_sections(_MYST_TOCTREE.sub("", text)):
        if section.title:
            pieces.append(Heading(level=section.level, text=section.title, ids=(section.anchor,)))
        at = 0
        for block in section.blocks:
            pieces += [Text(text=section.text[at : block.start].strip("\n"))]
            pieces += [Text(text=section.text[block.start : block.end], block=True)]
            at = block.end
        pieces.append(Text(text=section.text[at:].strip("\n")))
    check_text_size(len(text), limits, name=file)
    return SourcePage(file, tuple(p for p in pieces if p.text), tuple(contents))


def _list_entries(tree: Directive, page: str, known: Mapping[str, object]) -> list[Entry]:
    """Return the lines of a toctree; a caption becomes a line above them."""
    base = PurePosixPath(page).parent.as_posix()
    entries: list[Entry] = []
    for line in tree.content:
        titled = _TITLED.match(line.strip())
        title, target = titled.groups() if titled else ("", line.strip())
        if not target or target == "self" or "://" in target:
            continue
        name = normpath(target.lstrip("/") if target.startswith("/") else f"{base}/{target}")
        stem = re.sub(r"\.(?:rst|txt|md)$", "", name)
        if "glob" in tree.options and any(sign in name for sign in "*?["):
            entries += [Entry(each) for each in sorted(known) if fnmatchcase(each, stem) and each != page]
        elif stem in known or name in known:
            entries.append(Entry(stem if stem in known else name, title))
    if "reversed" in tree.options:
        entries.reverse()
    caption = clean_line(tree.options.get("caption", ""))
    is_part = bool(caption and entries) and caption.casefold().strip(": ") not in _NO_PARTS
    return [Entry("", caption, tuple(entries))] if is_part else entries
