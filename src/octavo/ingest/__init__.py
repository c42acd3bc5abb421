"""Add a book: load → parse → chunk → diff → embed → store → publish.

An edition is prepared beside the one that readers see, and one database transaction makes it visible as a
whole. A kill at any moment leaves the old edition or the new one, and no text is embedded twice. Adding the
same bytes again changes nothing. Several books can be added at once: they are parsed, chunked and embedded
in parallel, and installed one after the other.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.concurrency import run_blocking
from octavo.events import Compared, IngestEvent, Parsed, Published
from octavo.ingest.edition import (
    Edition,
    Identity,
    apply_options,
    build_sections,
    compare,
    drop_credentials,
    identify,
    make_fingerprint,
    prepare_edition,
)
from octavo.ingest.heartbeat import Heartbeat
from octavo.ingest.install import embed_missing, install_with_cover, require_space_for_vectors
from octavo.ingest.source import read_source_file
from octavo.records import covers
from octavo.records.files import save_file
from octavo.records.markup import save_markup
from octavo.text.languages import identify_languages

if TYPE_CHECKING:
    from octavo.ingest.context import Changes, LibraryContext
    from octavo.readers.parsed import ParsedBook
    from octavo.records.options import BookOptions
    from octavo.types import Book


async def ingest(
    path: Path, context: LibraryContext, options: BookOptions, *, changes: Changes
) -> AsyncGenerator[IngestEvent, None]:
    """Add one book and yield its progress. The last event is `Published`. Close the generator to leave early.

    `changes` lets in one change at a time. Before the book enters it, only vectors are written.
    """
    reading: Heartbeat[ParsedBook] = Heartbeat("reading")
    async with aclosing(reading.run(_parse(path, context, options, on_page=reading.count))) as beats:
        async for beat in beats:
            yield beat
    parsed = reading.get_result()
    yield Parsed(parsed.title, len(parsed.sections), parsed.characters, parsed.page_count, parsed.warnings)

    identity = await _identify(parsed, path, context, options)
    if not identity.unchanged:
        cutting: Heartbeat[Edition] = Heartbeat("cutting")
        async with aclosing(cutting.run(_prepare(parsed, identity, context))) as beats:
            async for beat in beats:
                yield beat
        edition = cutting.get_result()
        yield await compare(edition, context.records)
        require_space_for_vectors(edition, context)
        async for progress in embed_missing(edition, context):
            yield progress

    async with changes() as context:
        # Other books may have been added in the meantime.
        current = await _identify(parsed, path, context, options)
        file = await run_blocking(read_source_file, path, parsed.file_hash, context.settings.limits)
        if current.known and current.unchanged:
            await _save_looks(parsed, current, context, file)
            yield Published(current.known, unchanged=True)
            return
        if current != identity:
            edition = await _prepare(parsed, current, context)
            yield await compare(edition, context.records)
        async with aclosing(install_with_cover(replace(edition, file=file), parsed.cover, context)) as steps:
            async for event in steps:
                yield event


async def preview(path: Path, context: LibraryContext, options: BookOptions) -> Compared:
    """Tell what `ingest` would change, and change nothing."""
    parsed = await _parse(path, context, options)
    identity = await _identify(parsed, path, context, options)
    if identity.known and identity.unchanged:
        return Compared.unchanged(identity.known)
    return await compare(await _prepare(parsed, identity, context), context.records)


async def run_steps(
    steps: AsyncGenerator[IngestEvent, None], on_event: Callable[[IngestEvent], None] | None
) -> Book:
    """Run an ingest to its end, pass each event to `on_event`, and return the published book."""
    async with aclosing(steps):
        async for event in steps:
            if on_event:
                on_event(event)
            if isinstance(event, Published):
                book = event.book
    return book


async def _parse(
    path: Path,
    context: LibraryContext,
    options: BookOptions,
    *,
    on_page: Callable[[int, int], None] | None = None,
) -> ParsedBook:
    from octavo.ingest.scans import read_book

    parsed = await read_book(path, context, language=options.language, on_page=on_page)
    return apply_options(drop_credentials(parsed), options)


async def _identify(
    parsed: ParsedBook, path: Path, context: LibraryContext, options: BookOptions
) -> Identity:
    texts = [section.text for section in parsed.sections]
    languages = await run_blocking(identify_languages, texts, declared=parsed.language)
    embedder = context.choose_embedder(languages[0])
    fingerprint = make_fingerprint(context.settings, embedder, languages=languages)
    return await identify(
        parsed, path.name, options=options, records=context.records, fingerprint=fingerprint
    )


async def _save_looks(parsed: ParsedBook, identity: Identity, context: LibraryContext, file: bytes) -> None:
    """Save the cover, the markup, the pictures and the file of a book that is otherwise unchanged."""
    database = context.records.database
    await covers.save_cover(database, identity.book_id, parsed.cover)
    # Another format of the same words has other sections.
    if identity.known is not None and identity.known.content_hash == identity.content_hash:
        sections = await run_blocking(
            build_sections, parsed, book_id=identity.book_id, base_url=identity.base_url
        )
        await save_markup(database, identity.book_id, sections, parsed.images)
        if file:
            await save_file(database, identity.book_id, file, engine=parsed.scanner)


async def _prepare(parsed: ParsedBook, identity: Identity, context: LibraryContext) -> Edition:
    embedder = context.find_embedder(identity.fingerprint)
    return await run_blocking(prepare_edition, parsed, identity, embedder=embedder, settings=context.settings)
