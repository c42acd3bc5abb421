"""Read FictionBook (`.fb2`): nested sections with titles, verse, quotations and notes.

The description gives title, authors, language, genres, series, publisher and ISBN. The notes of a book are
its last chapter; a call of one is its number in brackets. The cover is the picture that the title page names.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.errors import BadBook
from octavo.readers.documents.book import build_sections, read_markup, write_element, write_heading
from octavo.readers.files import load_file
from octavo.readers.metadata import build_metadata
from octavo.readers.parsed import Cover, ParsedBook, make_cover
from octavo.readers.titles import clean_line, is_same_title, make_title
from octavo.readers.xml import (
    Element,
    find_all,
    find_children,
    find_first,
    get_attribute,
    get_local_name,
    parse_xml,
    read_words,
)
from octavo.types import BookFormat

if TYPE_CHECKING:
    from octavo.limits import Limits

CODE = "bad_document"
_INLINE = {"emphasis": "em", "strong": "strong", "code": "code", "sup": "sup", "sub": "sub"}
_NOTES = frozenset(("notes", "comments", "footnotes"))


def read_fb2(path: Path, limits: Limits) -> ParsedBook:
    """Read the book in an `.fb2` file."""
    root = parse_xml(load_file(path, limits), name=path.name, code=CODE)
    if get_local_name(root) != "FictionBook":
        raise BadBook(CODE, f"{path.name} is XML, but not a FictionBook")
    info = find_first(root, "title-info")
    print_info = find_first(root, "publish-info")
    title = clean_line(read_words(find_first(info, "book-title"))) or make_title(path.stem)
    markup = "".join(_write_body(body, title) for body in find_children(root, "body"))
    sequence = find_first(info, "sequence")
    date = find_first(info, "date")
    genres = [read_words(node) for node in find_all(info, "genre")] if info is not None else []
    keywords = read_words(find_first(info, "keywords")).split(",")
    return ParsedBook(
        title=title,
        format=BookFormat.FB2,
        sections=build_sections(
            read_markup(markup, limits, name=path.name), limits, title=title, source_file=path.name
        ),
        authors=_read_authors(info),
        language=read_words(find_first(info, "lang"))[:20],
        cover=_read_cover(root, info),
        metadata=build_metadata(
            subjects=[*genres, *keywords],
            series=get_attribute(sequence, "name") if sequence is not None else "",
            series_position=get_attribute(sequence, "number") if sequence is not None else "",
            publisher=read_words(find_first(print_info, "publisher")),
            published=_read_date(date) or read_words(find_first(print_info, "year")),
            identifiers=[("isbn", read_words(find_first(print_info, "isbn")))],
        ),
    )


def _read_date(date: Element | None) -> str:
    return (get_attribute(date, "value") or read_words(date)) if date is not None else ""


def _read_authors(info: Element | None) -> tuple[str, ...]:
    names = []
    for author in find_children(info, "author") if info is not None else ():
        parts = find_children(author, "first-name", "middle-name", "last-name")
        parts = parts or find_children(author, "nickname")
        names.append(clean_line(" ".join(read_words(part) for part in parts)))
    return tuple(dict.fromkeys(name for name in names if name))


def _read_cover(root: Element, info: Element | None) -> Cover | None:
    image = find_first(find_first(info, "coverpage"), "image")
    wanted = get_attribute(image, "href").lstrip("#") if image is not None else ""
    for binary in find_children(root, "binary"):
        if wanted and get_attribute(binary, "id") == wanted:
            try:
                return make_cover(b64decode("".join((binary.text or "").split()), validate=True))
            except (binascii.Error, ValueError):
                return None
    return None


def _write_body(body: Element, title: str) -> str:
    """Write one body. The first has the book; others have notes, under a heading of their own."""
    name = get_attribute(body, "name")
    heads = find_children(body, "title")
    own = _read_title(heads[0]) if heads else ""
    if name.lower() in _NOTES:
        return write_heading(1, escape(own or "Notes")) + _write_notes(body)
    # The title of the main body repeats that of the book, often with its author.
    shown = "" if not own or is_same_title(own, title) or title.casefold() in own.casefold() else own
    return write_heading(1, escape(shown)) + _write_parts(body, 2 if shown else 1)


def _write_notes(body: Element) -> str:
    notes = []
    for section in find_all(body, "section"):
        heads = find_children(section, "title")
        mark = escape(_read_title(heads[0])) if heads else ""
        text = " ".join(_write_inline(p) for p in find_all(section, "p") if not _is_in_title(p))
        notes.append(write_element("p", f"[{mark}] {text}" if mark else text))
    return "".join(notes)


def _is_in_title(node: Element) -> bool:
    parent = node.getparent()
    return parent is not None and get_local_name(parent) == "title"


def _read_title(title: Element) -> str:
    """Return the lines of a title on one line."""
    lines = [line for p in find_children(title, "p") if (line := read_words(p))]
    return " ".join(line if line.endswith((".", ":", "!", "?")) else f"{line}." for line in lines[:-1]) + (
        f" {lines[-1]}" if len(lines) > 1 else "".join(lines)
    )


def _write_parts(parent: Element, level: int) -> str:
    written: list[str] = []
    for node in parent:
        name = get_local_name(node)
        if name == "section":
            heads = find_children(node, "title")
            heading = write_heading(level, escape(_read_title(heads[0]))) if heads else ""
            written += (heading, _write_parts(node, level + 1 if heads else level))
        elif name in ("p", "subtitle", "text-author"):
            written.append(write_element("p", _write_inline(node)))
        elif name in ("epigraph", "cite", "annotation"):
            written.append(write_element("blockquote", _write_parts(node, level)))
        elif name == "poem":
            written.append(_write_poem(node))
        elif name == "table":
            written.append(_write_table(node))
    return "".join(written)


def _write_poem(poem: Element) -> str:
    """Write each stanza as a paragraph with its lines."""
    written = []
    for part in poem:
        name = get_local_name(part)
        if name == "stanza":
            lines = [_write_inline(verse) for verse in find_children(part, "v", "subtitle")]
            written.append(write_element("p", "<br>".join(lines)))
        elif name in ("title", "epigraph", "text-author", "subtitle"):
            written.append(write_element("p", escape(read_words(part))))
    return "".join(written)


def _write_table(table: Element) -> str:
    rows = []
    for row in find_children(table, "tr"):
        cells = ((get_local_name(cell), _write_inline(cell)) for cell in find_children(row, "td", "th"))
        rows.append(write_element("tr", "".join(f"<{tag}>{text}</{tag}>" for tag, text in cells)))
    return write_element("table", "".join(rows))


def _write_inline(node: Element) -> str:
    parts = [escape(node.text or "")]
    for child in node:
        name = get_local_name(child)
        text = _write_inline(child)
        if name == "a" and get_attribute(child, "type") == "note":
            text = f"[{text.strip().strip('[]')}]"
        elif name in _INLINE:
            text = f"<{_INLINE[name]}>{text}</{_INLINE[name]}>"
        parts += (text if name else "", escape(child.tail or ""))
    return "".join(parts)
