"""Binds what a reader parsed into Sections that a library can keep.

Every section gets an id made from its place in the contents, so that a new edition keeps the ids of what did
not move, and a URL: the published page's where the book has a web address, a stable `book://` one elsewhere.
Headings that a source names only as part of a path (a part title, say) become empty sections, so that the
contents are a whole tree and every ancestor can be named.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import PurePath
from urllib.parse import quote, urlsplit

from octavo import rules
from octavo.errors import InvalidValue
from octavo.readers.parsed import ParsedBook, ParsedSection
from octavo.text import clean, collapse, slug
from octavo.types import Section

TITLE_MOST = 300
_WORDS = re.compile(r"\w+")
_SAFE_IN_PATHS = "/%~:@!$&'()*+,;="


def title_of(parsed: ParsedBook, given: str | None) -> str:
    """The title a person gave, or the book's own; cleaned, on one line, of bearable length."""
    title = collapse(clean(given if given is not None else parsed.title))
    if given is not None and not title:
        raise InvalidValue("title", "must not be empty or only whitespace", given)
    return title[:TITLE_MOST].strip() or "Untitled"


def bind_sections(parsed: ParsedBook, *, book_id: str, base_url: str | None) -> tuple[Section, ...]:
    """The sections in reading order, with ids, ancestors and URLs."""
    seen: Counter[str] = Counter()
    open_headings: list[Section] = []
    bound: list[Section] = []
    for position, section in enumerate(_with_missing_parents(parsed.sections)):
        path = section.heading_path
        while open_headings and not _is_parent(open_headings[-1].heading_path, path):
            open_headings.pop()
        stem = ".".join(slug(title, most=40) for title in path)
        seen[stem] += 1
        made = Section(
            id=stem if seen[stem] == 1 else f"{stem}~{seen[stem]}",
            book_id=book_id,
            title=section.title,
            heading_path=path,
            level=section.level,
            position=position,
            url="book://placeholder",
            text=section.text,
            source_file=section.source_file,
            anchor=section.anchor,
            pages=section.pages,
            blocks=section.blocks,
            ancestors=tuple(s.id for s in open_headings),
        )
        bound.append(replace(made, url=_url(made, section.url, base_url)))
        open_headings.append(bound[-1])
    return tuple(bound)


def _with_missing_parents(sections: Iterable[ParsedSection]) -> Iterable[ParsedSection]:
    current: tuple[str, ...] = ()
    for section in sections:
        path = section.heading_path
        shared = 0
        while shared < min(len(current), len(path) - 1) and current[shared] == path[shared]:
            shared += 1
        for depth in range(shared + 1, len(path)):
            parent = path[:depth]
            # It has no page of its own: with its first child's address, that address would name two sections.
            yield ParsedSection(
                title=parent[-1],
                heading_path=parent,
                text="",
                source_file=section.source_file,
                pages=tuple(replace(mark, offset=0) for mark in section.pages[:1]),
            )
        yield section
        current = path


def _is_parent(above: tuple[str, ...], path: tuple[str, ...]) -> bool:
    return len(above) < len(path) and path[: len(above)] == above


def _url(section: Section, relative: str, base_url: str | None) -> str:
    if web_address(relative):
        address = relative
    elif base_url and (relative or section.anchor):
        address = f"{base_url.rstrip('/')}/{quote(relative.lstrip('/'), safe=_SAFE_IN_PATHS)}"
    elif base_url:
        return base_url
    else:
        return f"book://{quote(section.book_id)}/{quote(section.id, safe='~')}"
    return f"{address}#{quote(section.anchor, safe='%~:@!$&()*+,;=/?')}" if section.anchor else address


def web_address(said: str | None) -> str | None:
    """What a source says of itself, if it is an address on the web."""
    try:
        rules.url("url", said or "")
    except InvalidValue:
        return None
    return said if urlsplit(said or "").scheme in ("http", "https") else None


def content_hash(parsed: ParsedBook, *, title: str, base_url: str | None, source_file: str) -> str:
    """The same for the same text, structure and addresses, whatever its file is called; else different."""
    digest = hashlib.sha256()
    one_file = len({section.source_file for section in parsed.sections}) == 1
    own_name = slug(parsed.title) == slug(PurePath(source_file).stem)
    head = [title, list(parsed.authors), parsed.language, parsed.format, base_url]
    digest.update(json.dumps(head, ensure_ascii=False).encode())
    for section in parsed.sections:
        fields = asdict(section)
        if one_file:
            del fields["source_file"]
        if own_name and parsed.title in section.heading_path:
            fields["heading_path"] = [title if h == parsed.title else h for h in section.heading_path]
            fields["title"] = fields["heading_path"][-1]
        digest.update(json.dumps(fields, ensure_ascii=False, sort_keys=True).encode())
    return digest.hexdigest()


def words_hash(parsed: ParsedBook) -> str:
    """The same for the same words in the same order, whatever the format: finds a book on the shelf."""
    said = []
    for section in parsed.sections:  # the book's title may be its file's name, so it is not among its words
        said += [section.text] if section.title == parsed.title else [section.title, section.text]
    words = _WORDS.findall("\n".join(said).casefold()) or said
    return hashlib.sha256(" ".join(words).encode()).hexdigest()
