"""Prepare an edition: which book it is, its sections and chunks, and what it would change.

A book is known by its words: the same words in another file or format are the same book. A file is a new
edition of a known book when two of three agree: the title, the file name, some of the text. A book with a
known title that shares neither name nor text is another book, and gets a number behind its id.

Each section gets an id made from its place in the contents, so that a new edition keeps the ids of what did
not move. Its URL is that of the published page where the book has a web address, and a stable `book://` one
otherwise. A heading that a source names only as part of a path (a part title, say) becomes an empty section,
so that the contents form one tree and every ancestor has a name. Nothing here writes anything.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import PurePath
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from octavo import validation
from octavo.concurrency import run_blocking
from octavo.errors import BadBook, InvalidValue
from octavo.events import Compared
from octavo.ingest.chunking import CHUNKER_VERSION, chunk_book, make_embedded_text
from octavo.readers import READERS_VERSION
from octavo.readers.parsed import NO_IMAGES, ParsedBook, ParsedSection
from octavo.records.rows import hash_text
from octavo.text.clean import clean, collapse, make_slug
from octavo.text.languages import WORDS_VERSION, get_base_code, identify_sections
from octavo.types import NO_METADATA, Book, Chunk, Element, Section
from octavo.types.books import read_languages

if TYPE_CHECKING:
    from octavo.protocols import Embedder
    from octavo.records.catalogue import Records
    from octavo.records.options import BookOptions
    from octavo.settings import Settings

TITLE_MOST = 300
# Stands for a reader's own text in scopes and links.
RESERVED_ID = "selection"
# The share of the sections' texts that makes two books of one title the same: more than chance, and less
# than a thorough revision leaves.
SAME_BOOK_SHARE = 0.1
# Files of one name share a licence or a preface more often than books of one title do.
RETITLED_SHARE = 0.5
CREDENTIALS_LEFT_OUT = "the book's own web address holds a user or a password, which is left out"
_WORDS = re.compile(r"\w+")
_SAFE_IN_PATHS = "/%~:@!$&'()*+,;="
_SAFE_IN_ANCHORS = "%~:@!$&()*+,;=/?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Which book a parsed file is. `known` is the book in the library, `unchanged` if nothing differs."""

    book_id: str
    title: str
    base_url: str | None
    source_file: str
    content_hash: str
    words_hash: str
    fingerprint: str
    known: Book | None
    unchanged: bool
    language: str = ""
    """The language whose rules the words of the book follow; "" for English."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """An edition that is ready to be embedded and stored. `texts` is what is embedded for each chunk."""

    book: Book
    words_hash: str
    sections: tuple[Section, ...]
    chunks: tuple[Chunk, ...]
    texts: Mapping[str, str]
    vector_keys: Mapping[str, str]
    images: Mapping[str, bytes] = field(default_factory=lambda: NO_IMAGES)
    """The pictures that the markup of the sections names."""
    file: bytes = b""
    """The PDF whose pages are drawn."""
    scanner: str = ""
    """What has read the scanned pages of the PDF."""


def make_fingerprint(settings: Settings, embedder: Embedder, *, languages: Sequence[str] = ("",)) -> str:
    """Name everything that shapes an index besides the book itself.

    `languages` are that of the book, and those of sections in others; "" is English.
    """
    codes = "+".join(language or "en" for language in languages)
    words = f"words-{codes}-{WORDS_VERSION} " if any(languages) else ""
    return (
        f"readers-{READERS_VERSION} chunks-{CHUNKER_VERSION}-{settings.chunk_tokens} "
        f"{words}{embedder.fingerprint}"
    )


def apply_options(parsed: ParsedBook, options: BookOptions) -> ParsedBook:
    """Put what the caller says of authors, language and the like in the place of what the file says."""
    return replace(
        parsed,
        authors=options.authors or parsed.authors,
        language=options.language or parsed.language,
        metadata=parsed.metadata.update(options.metadata),
    )


def drop_credentials(parsed: ParsedBook) -> ParsedBook:
    """Take users and passwords out of the addresses that a book gives its pages, with a warning."""
    base_url = parsed.base_url and validation.remove_credentials(parsed.base_url)
    urls = [validation.remove_credentials(section.url) for section in parsed.sections]
    if base_url == parsed.base_url and urls == [section.url for section in parsed.sections]:
        return parsed
    sections = tuple(replace(s, url=url) for s, url in zip(parsed.sections, urls, strict=True))
    warnings = (*parsed.warnings, CREDENTIALS_LEFT_OUT)
    return replace(parsed, base_url=base_url, sections=sections, warnings=warnings)


async def identify(
    parsed: ParsedBook, source_file: str, *, options: BookOptions, records: Records, fingerprint: str
) -> Identity:
    """Find out whether the library has this book, and whether it has exactly this edition.

    `fingerprint` is that of the index that the book would get.
    """
    # A name to be shown, not a path to be opened.
    source_file = collapse(clean(source_file)) or "book"
    words = await run_blocking(hash_words, parsed)
    known = await _find_known(parsed, source_file, words, options, records)
    title = choose_title(parsed, options.title or (known.title if known else None))
    # An earlier version may have kept a password.
    before = validation.remove_credentials(known.base_url) if known and known.base_url else None
    base_url = options.base_url or before or accept_web_address(parsed.base_url)
    content = await run_blocking(
        hash_content, parsed, title=title, base_url=base_url, source_file=source_file
    )
    unchanged = (
        known is not None
        and known.index_fingerprint == fingerprint
        and (known.content_hash == content or await _is_copy(parsed, words, known, options, records))
    )
    return Identity(
        book_id=known.id if known else options.book_id or await choose_id(make_slug(title), records),
        title=title,
        base_url=base_url,
        source_file=source_file,
        content_hash=content,
        words_hash=words,
        fingerprint=fingerprint,
        known=known,
        unchanged=unchanged,
        language=read_languages(fingerprint)[0],
    )


async def _find_known(
    parsed: ParsedBook, source_file: str, words: str, options: BookOptions, records: Records
) -> Book | None:
    if options.book_id is not None:
        return await records.find_book(options.book_id)
    same_words = await records.find_by_words_hash(words)
    if same_words is not None:
        return same_words
    title = choose_title(parsed, options.title)
    books = await records.list_books()
    namesakes = [b for b in books if b.title == title or b.id == make_slug(title)]
    # A title that is made from the file's name says nothing more than that name.
    named_after_file = make_slug(title) == make_slug(PurePath(source_file).stem)
    for book in namesakes:
        if book.source_file == source_file and not named_after_file:
            return book
    ours = {hash_text(s.text) for s in parsed.sections if s.text}
    retitled = [b for b in books if b.source_file == source_file]
    for book in (*namesakes, *retitled):
        theirs = set((await records.list_section_hashes(book.id)).values())
        share = SAME_BOOK_SHARE if book in namesakes else RETITLED_SHARE
        if ours and len(ours & theirs) >= share * len(ours):
            return book
    return None


async def _is_copy(
    parsed: ParsedBook, words: str, known: Book, options: BookOptions, records: Records
) -> bool:
    """Tell whether this is another format of a known book, with nothing new said about it."""
    nothing_new = options.title in (None, known.title) and options.base_url in (None, known.base_url)
    return nothing_new and known.format != parsed.format and words == await records.find_words_hash(known.id)


async def choose_id(wanted: str, records: Records) -> str:
    """Return the id, with a number behind it if another book has it."""
    taken = {book.id for book in await records.list_books()} | {RESERVED_ID}
    number = 2
    candidate = wanted
    while candidate in taken:
        candidate, number = f"{wanted}-{number}", number + 1
    return candidate


def choose_title(parsed: ParsedBook, wanted: str | None) -> str:
    """Return the wanted title, or the book's own: cleaned, on one line, and not too long."""
    title = collapse(clean(wanted if wanted is not None else parsed.title))
    if wanted is not None and not title:
        raise InvalidValue("title", "must not be empty or only whitespace", wanted)
    return title[:TITLE_MOST].strip() or "Untitled"


def accept_web_address(text: str | None) -> str | None:
    """Return what a source says of itself if it is a web address, and None otherwise."""
    try:
        validation.check_url("url", text or "")
    except InvalidValue:
        return None
    return text if urlsplit(text or "").scheme in ("http", "https") else None


def hash_content(parsed: ParsedBook, *, title: str, base_url: str | None, source_file: str) -> str:
    """Hash text, structure and addresses, but not the file's name."""
    digest = hashlib.sha256()
    one_file = len({section.source_file for section in parsed.sections}) == 1
    own_name = make_slug(parsed.title) == make_slug(PurePath(source_file).stem)
    head: list[object] = [title, list(parsed.authors), parsed.language, parsed.format, base_url]
    # Books without metadata keep the hash that an earlier version gave them.
    head += [asdict(parsed.metadata)] if parsed.metadata != NO_METADATA else []
    digest.update(json.dumps(head, ensure_ascii=False).encode())
    for section in parsed.sections:
        # How a text is drawn is no part of what is said.
        fields = asdict(replace(section, markup=(), lines=(), places=()))
        del fields["markup"], fields["lines"], fields["places"]
        if one_file:
            del fields["source_file"]
        if own_name and parsed.title in section.heading_path:
            fields["heading_path"] = [title if h == parsed.title else h for h in section.heading_path]
            fields["title"] = fields["heading_path"][-1]
        digest.update(json.dumps(fields, ensure_ascii=False, sort_keys=True).encode())
    return digest.hexdigest()


def hash_words(parsed: ParsedBook) -> str:
    """Hash the words in their order: the same for every format of one book."""
    texts = []
    for section in parsed.sections:
        # The book's title may be its file's name, so it does not count as one of its words.
        texts += [section.text] if section.title == parsed.title else [section.title, section.text]
    words = _WORDS.findall("\n".join(texts).casefold()) or texts
    return hashlib.sha256(" ".join(words).encode()).hexdigest()


def prepare_edition(
    parsed: ParsedBook, identity: Identity, *, embedder: Embedder, settings: Settings
) -> Edition:
    """Build sections and chunks of the edition. Takes CPU time: call it through `run_blocking`."""
    sections = build_sections(parsed, book_id=identity.book_id, base_url=identity.base_url)
    now = datetime.now(UTC)
    book = Book(
        id=identity.book_id,
        title=identity.title,
        authors=parsed.authors,
        language=_choose_language(parsed.language, identity.language),
        format=parsed.format,
        source_file=identity.source_file,
        base_url=identity.base_url,
        content_hash=identity.content_hash,
        index_fingerprint=identity.fingerprint,
        section_count=len(sections),
        page_count=parsed.page_count,
        metadata=parsed.metadata,
        added_at=now,
        updated_at=now,
    )
    new = build_edition(book, sections, words_hash=identity.words_hash, embedder=embedder, settings=settings)
    return replace(new, images=parsed.images, scanner=parsed.scanner)


def _choose_language(declared: str, found: str) -> str:
    """Return what the file declares, unless its text is in another language."""
    return declared if not found or get_base_code(declared) == found else found


def find_section_language(book: Book, section: Section) -> str:
    """Return the language of a section, by its code, or that of the book; "" if neither is known."""
    languages = read_languages(book.index_fingerprint)
    (spoken,) = identify_sections([section.text], languages=languages)
    return book.language if spoken == languages[0] else spoken or "en"


def build_edition(
    book: Book, sections: Sequence[Section], *, words_hash: str, embedder: Embedder, settings: Settings
) -> Edition:
    """Split the sections of a book into chunks, and name the vector that each of them needs."""
    chunks = chunk_book(
        book.title,
        sections,
        pieces=embedder.count_pieces,
        max_pieces=embedder.max_pieces,
        target=settings.chunk_tokens,
        created_at=book.updated_at,
        languages=read_languages(book.index_fingerprint),
    )
    if not chunks:
        raise BadBook("no_text", f"{book.source_file} has no passage long enough to be found")
    return join_edition(book, sections, chunks, words_hash=words_hash, embedder=embedder)


def join_edition(
    book: Book, sections: Sequence[Section], chunks: Sequence[Chunk], *, words_hash: str, embedder: Embedder
) -> Edition:
    """Make an edition of sections with their chunks, and name the vector that each chunk needs."""
    texts = {chunk.id: make_embedded_text(chunk) for chunk in chunks}
    return Edition(
        book=replace(book, chunk_count=len(chunks)),
        words_hash=words_hash,
        sections=tuple(sections),
        chunks=tuple(chunks),
        texts=texts,
        vector_keys={id_: hash_text(f"{embedder.fingerprint}\x1f{text}") for id_, text in texts.items()},
    )


def build_sections(parsed: ParsedBook, *, book_id: str, base_url: str | None) -> tuple[Section, ...]:
    """Return the sections in reading order, with ids, ancestors and URLs."""
    seen: Counter[str] = Counter()
    open_headings: list[Section] = []
    sections: list[Section] = []
    names: list[str] = []
    marked: list[tuple[int, ParsedSection]] = []
    own = {id(section) for section in parsed.sections}
    for position, section in enumerate(_add_missing_parents(parsed.sections)):
        path = section.heading_path
        while open_headings and not _is_parent(open_headings[-1].heading_path, path):
            open_headings.pop()
        stem = ".".join(make_slug(title, most=40) for title in path)
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
            lines=section.lines,
            ancestors=tuple(s.id for s in open_headings),
        )
        sections.append(replace(made, url=make_url(made, section.url, base_url)))
        open_headings.append(sections[-1])
        if id(section) in own:
            names.append(made.id)
        if section.markup:
            marked.append((position, section))
    for position, section in marked:
        sections[position] = replace(sections[position], markup=_name_sections(section.markup, names))
    return tuple(sections)


def _name_sections(markup: tuple[Element, ...], names: Sequence[str]) -> tuple[Element, ...]:
    """Give the links of a text the ids of the sections that they have the numbers of."""
    return tuple(
        replace(element, attributes={**element.attributes, "section": names[number]})
        if isinstance(number := element.attributes.get("section"), int)
        else element
        for element in markup
    )


def _add_missing_parents(sections: Iterable[ParsedSection]) -> Iterable[ParsedSection]:
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


def make_url(section: Section, relative: str, base_url: str | None) -> str:
    """Return the address of a section: that of its page, `relative` to the book's, or a `book://` one."""
    if accept_web_address(relative):
        address = relative
    elif base_url and (relative or section.anchor):
        address = f"{base_url.rstrip('/')}/{quote(relative.lstrip('/'), safe=_SAFE_IN_PATHS)}"
    elif base_url:
        return base_url
    else:
        return f"book://{quote(section.book_id)}/{quote(section.id, safe='~')}"
    return f"{address}#{quote(section.anchor, safe=_SAFE_IN_ANCHORS)}" if section.anchor else address


async def compare(new: Edition, records: Records) -> Compared:
    """Tell what installing `new` would change: sections for people, chunks for the work to be done."""
    before = await records.list_section_hashes(new.book.id)
    after = {s.id: hash_text(s.text) for s in new.sections}
    shared = before.keys() & after.keys()
    changed = sum(before[id_] != after[id_] for id_ in shared)
    stored = (await records.read_manifest(new.book.id)).keys()
    ids = {chunk.id for chunk in new.chunks}
    known = await records.find_book(new.book.id)
    return Compared(
        book_id=new.book.id,
        title=new.book.title,
        added=len(after.keys() - shared),
        changed=changed,
        removed=len(before.keys() - shared),
        kept=len(shared) - changed,
        chunks_new=len(ids - stored),
        chunks_gone=len(stored - ids),
        replaces=known.format if known else "",
    )
