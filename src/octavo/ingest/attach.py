"""Attach a Qdrant collection that another program filled, so that it can be searched and asked like a book.

The points are read once and copied, and nothing is ever written to that collection. Each web address becomes
a section, whose text is that of its points in their order. Each point becomes a chunk that is a part of that
text, so its quotations can be checked like any other. The vectors are reused if a sample shows that the
embedder of the book's language makes the same ones; otherwise the texts are embedded again. Attaching the
collection again updates what changed and removes what is gone.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import fsum
from pathlib import PurePosixPath
from statistics import median
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit
from uuid import uuid5

from octavo.concurrency import run_blocking
from octavo.errors import BadBook, InvalidValue
from octavo.events import IngestEvent, Parsed, Published
from octavo.ingest.chunking import NAMESPACE, make_embedded_text
from octavo.ingest.edition import (
    CREDENTIALS_LEFT_OUT,
    TITLE_MOST,
    Edition,
    build_sections,
    choose_id,
    compare,
    hash_words,
    make_fingerprint,
)
from octavo.ingest.install import STORE_AT_ONCE, install, split_batches
from octavo.readers.parsed import ParsedBook, ParsedSection
from octavo.records.rows import hash_text
from octavo.store.qdrant_payloads import PayloadKeys
from octavo.text.clean import clean, collapse, make_slug
from octavo.text.languages import identify_languages, identify_sections
from octavo.text.sentences import split_long
from octavo.types import CHUNK_LEAST, CHUNK_MOST, Book, BookFormat, Chunk, Section
from octavo.types.books import read_languages
from octavo.validation import LARGEST_EXACT_INTEGER, remove_credentials

if TYPE_CHECKING:
    from octavo.ingest.context import Changes
    from octavo.protocols import Embedder
    from octavo.records.catalogue import Records
    from octavo.records.options import BookOptions
    from octavo.store.qdrant_import import CollectionPoint, Source

SAMPLE = 8
# A cosine. The same model in another precision reaches 0.98 and more, another model almost 0.
SAME_MODEL = 0.9
BETWEEN = "\n\n"
USUAL_KEYS = PayloadKeys(text="text", url="url", title="source_title", order="chunk_id")


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The place in a section's text of a passage, or of a part of one that is too long for a chunk."""

    start: int
    end: int
    passage: CollectionPoint
    whole: bool


@dataclass(frozen=True, slots=True)
class _Page:
    """The passages of one web address, as one text."""

    section: ParsedSection
    stretches: tuple[_Stretch, ...]


async def attach(
    source: Source, options: BookOptions, *, changes: Changes
) -> AsyncGenerator[IngestEvent, None]:
    """Add a collection as a book, and yield the progress. The last event is `Published`."""
    from octavo.store.qdrant_import import read_points

    given, keys = await read_points(source)
    found = [replace(point, url=remove_credentials(point.url)) for point in given]
    wanted = options.title or _find_common_title(found) or source.collection
    title = collapse(clean(wanted))[:TITLE_MOST].strip()
    pages = await run_blocking(_build_pages, found, title)
    parsed = _build_parsed(title, pages)
    texts = [section.text for section in parsed.sections]
    languages = await run_blocking(identify_languages, texts)
    async with changes() as context:
        embedder = context.choose_embedder(languages[0])
        own, notes = await run_blocking(_check_vectors, found, embedder)
        if keys != USUAL_KEYS:
            notes = (f"read {keys.describe()}", *notes)
        if found != given:
            notes = (*notes, CREDENTIALS_LEFT_OUT)
        yield Parsed(title, len(pages), parsed.characters, 0, notes)
        label = f"{urlsplit(source.url).netloc}/{source.collection}"
        known = await _find_known(label, options, context.records)
        id = known.id if known else options.book_id or await choose_id(make_slug(title), context.records)
        fingerprint = make_fingerprint(context.settings, embedder, languages=languages)
        book = _build_book(id, title, label, found, fingerprint, options.base_url)
        if known and (known.content_hash, known.index_fingerprint) == (book.content_hash, fingerprint):
            yield Published(known, unchanged=True)
            return
        new, vectors = await run_blocking(_build_edition, book, parsed, pages, embedder, own)
        yield await compare(new, context.records)
        for batch in split_batches(list(vectors.items()), STORE_AT_ONCE):
            await context.records.save_vectors({key: tuple(vector) for key, vector in batch})
        async with aclosing(install(new, context)) as steps:
            async for event in steps:
                yield event


def is_attached(chunks: Sequence[Chunk]) -> bool:
    """Whether these are the passages of a collection, which are the collection's own."""
    return any("point_id" in chunk.metadata for chunk in chunks)


async def _find_known(label: str, options: BookOptions, records: Records) -> Book | None:
    """Find the book that this collection became when it was attached before."""
    if options.book_id is None:
        return next((book for book in await records.list_books() if book.source_file == label), None)
    named = await records.find_book(options.book_id)
    if named is not None and named.source_file != label:
        raise InvalidValue("book_id", f"must not be that of another book ({named.title})", named.id)
    return named


def _find_common_title(found: Sequence[CollectionPoint]) -> str:
    """Return the title of all passages if they share one, and "" otherwise."""
    titles = {passage.source_title for passage in found}
    return titles.pop() if len(titles) == 1 else ""


def _check_vectors(found: Sequence[CollectionPoint], embedder: Embedder) -> tuple[bool, tuple[str, ...]]:
    """Tell by a sample whether the embedder makes such vectors, and what to report about it."""
    sound = [p for p in found if p.vector is not None and len(p.vector) == embedder.dimension]
    if not sound:
        return False, ("the vectors have another size: all texts are embedded again",)
    sample = sound[:: max(1, len(sound) // SAMPLE)][:SAMPLE]
    made = embedder.embed([passage.text for passage in sample])
    alike = median(
        fsum(a * b for a, b in zip(p.vector or (), own, strict=True))
        for p, own in zip(sample, made, strict=True)
    )
    if alike < SAME_MODEL:
        said = f"the vectors were made by another model (similarity {alike:.2f} in a sample of {len(sample)})"
        return False, (f"{said}: all texts are embedded again",)
    lacking = len(found) - len(sound)
    return True, (f"{lacking} points have no usable vector: they are embedded again",) if lacking else ()


def _build_pages(found: Sequence[CollectionPoint], title: str) -> list[_Page]:
    """Group the passages by web address, in their order, then as they were found."""
    by_address: dict[tuple[str, str], list[CollectionPoint]] = {}
    for passage in sorted(found, key=lambda p: p.order if p.order is not None else -1):
        by_address.setdefault((passage.source_title, passage.url), []).append(passage)
    addresses = Counter(name for name, _ in by_address)
    made = [
        _build_page(_choose_headings(name, url, title, alone=addresses[name] == 1), url, those)
        for (name, url), those in by_address.items()
    ]
    return [page for page in made if page.section.text]


def _choose_headings(source_title: str, url: str, book_title: str, *, alone: bool) -> tuple[str, ...]:
    name, page = collapse(clean(source_title)), _name_page(url)
    if name and alone:
        return (name,)
    return (page,) if not name or name == book_title else (name, page)


def _name_page(url: str) -> str:
    """Make a name for a page from its address."""
    try:
        place = urlsplit(url)
    except ValueError:
        return "Untitled"
    path = PurePosixPath(unquote(place.path))
    last = path.parent.name if path.stem == "index" else path.stem
    name = collapse(clean(last.replace("-", " ").replace("_", " ")))
    return name[:1].upper() + name[1:] or place.netloc or "Untitled"


def _build_page(headings: tuple[str, ...], url: str, those: Sequence[CollectionPoint]) -> _Page:
    said = [(words, passage) for passage in those if (words := clean(passage.text).strip())]
    text, start = BETWEEN.join(words for words, _ in said), 0
    stretches: list[_Stretch] = []
    for words, passage in said:
        spans = [*split_long(text, start, start + len(words), most=CHUNK_MOST, unbroken=CHUNK_MOST)]
        start += len(words) + len(BETWEEN)
        fit = [(a, b) for a, b in spans if b - a >= CHUNK_LEAST]
        stretches += [_Stretch(a, b, passage, len(spans) == 1) for a, b in fit]
    section = ParsedSection(
        title=headings[-1], heading_path=headings, text=text, source_file=url or headings[-1], url=url
    )
    return _Page(section, tuple(stretches))


def _build_parsed(title: str, pages: Sequence[_Page]) -> ParsedBook:
    return ParsedBook(
        title=title,
        authors=(),
        language="",
        format=BookFormat.HTML,
        sections=tuple(page.section for page in pages),
    )


def _build_book(
    id: str, title: str, label: str, found: Sequence[CollectionPoint], fingerprint: str, base_url: str | None
) -> Book:
    """Build the catalogue entry. Its hash covers everything that was read."""
    read = hashlib.sha256(f"{title}\x1f{base_url}".encode())
    for p in found:
        said: tuple[object, ...] = (p.point_id, p.chunk_id, p.url, p.source_title, p.text)
        said += () if p.order == p.chunk_id else (p.order,)
        read.update("\x1f".join(map(str, said)).encode("utf-8", "replace"))
        read.update(b"" if p.vector is None else p.vector.tobytes())
    now = datetime.now(UTC)
    return Book(
        id=id,
        title=title,
        language=read_languages(fingerprint)[0],
        format=BookFormat.HTML,
        source_file=label,
        base_url=base_url,
        content_hash=read.hexdigest(),
        index_fingerprint=fingerprint,
        added_at=now,
        updated_at=now,
    )


def _build_edition(
    book: Book, parsed: ParsedBook, pages: Sequence[_Page], embedder: Embedder, own: bool
) -> tuple[Edition, Mapping[str, Sequence[float]]]:
    """Build the edition, and return it with the vectors that came with the collection, by their keys."""
    sections = build_sections(parsed, book_id=book.id, base_url=book.base_url)
    written = [section for section in sections if section.text]
    spoken = identify_sections(
        [section.text for section in written], languages=read_languages(book.index_fingerprint)
    )
    by_page = zip(written, pages, spoken, strict=True)
    made = [
        pair for section, page, language in by_page for pair in _build_chunks(book, section, page, language)
    ]
    if not made:
        raise BadBook("no_text", f"{book.source_file} has no passage long enough to be found")
    chunks = [replace(chunk, document_position=n) for n, (chunk, _) in enumerate(made)]
    texts = {chunk.id: make_embedded_text(chunk) for chunk in chunks}
    keys = {id: hash_text(f"{embedder.fingerprint}\x1f{text}") for id, text in texts.items()}
    vectors: dict[str, Sequence[float]] = {}
    for chunk, stretch in made:
        vector = stretch.passage.vector
        if own and stretch.whole and vector is not None and len(vector) == embedder.dimension:
            keys[chunk.id] = hash_text(f"{embedder.fingerprint}\x1fattached\x1f{vector.tobytes().hex()}")
            vectors[keys[chunk.id]] = vector
    counted = replace(book, section_count=len(sections), chunk_count=len(chunks))
    new = Edition(
        book=counted,
        words_hash=hash_words(parsed),
        sections=sections,
        chunks=tuple(chunks),
        texts=texts,
        vector_keys=keys,
    )
    return new, vectors


def _build_chunks(
    book: Book, section: Section, page: _Page, language: str
) -> Iterator[tuple[Chunk, _Stretch]]:
    # English chunks are as they always were.
    spoken = {"language": language} if language else {}
    seen: Counter[str] = Counter()
    for index, stretch in enumerate(page.stretches):
        content, passage = section.text[stretch.start : stretch.end], stretch.passage
        digest = hash_text(content)
        name = "\x1f".join((book.id, section.id, str(seen[digest]), digest))
        seen[digest] += 1
        identity = uuid5(NAMESPACE, name)
        chunk = Chunk(
            id=str(identity),
            chunk_id=passage.chunk_id or identity.int % LARGEST_EXACT_INTEGER + 1,
            content=content,
            book_id=book.id,
            section_id=section.id,
            chapter=section.heading_path[0],
            section=section.title,
            document_position=0,
            chunk_index=index,
            url=section.url,
            source_file=section.source_file,
            source_location=" › ".join(dict.fromkeys((book.title, *section.heading_path))),
            source_title=collapse(clean(passage.source_title)) or book.title,
            start=stretch.start,
            end=stretch.end,
            created_at=book.updated_at,
            heading_path=section.heading_path,
            ancestors=section.ancestors,
            metadata={"point_id": passage.point_id, "chunk_id": passage.chunk_id, **spoken},
        )
        yield chunk, stretch
