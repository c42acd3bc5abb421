"""Takes a book in: load → parse → chunk → diff → embed → store → publish.

An edition is prepared beside the one that readers see, and becomes visible whole in a single transaction of
the records. A kill at any moment leaves the old edition or the new one; what was embedded is never embedded
again. Who cancels while an edition is coming out is obeyed when it is out. The same bytes added twice change
nothing. Several books may be on their way at once: they are read, cut and embedded side by side, and
installed one after the other.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from octavo.concurrency import run_blocking, run_to_completion
from octavo.errors import OctavoError
from octavo.events import Embedding, IngestEvent, Parsed, Published, Storing
from octavo.ingest.context import LibraryContext
from octavo.ingest.edition import Draft, Identity, compare, draft, fingerprint_of, identify
from octavo.readers.sandbox import parse
from octavo.records import covers
from octavo.store.base import digest_chunk, require_space

if TYPE_CHECKING:
    from octavo.readers.parsed import ParsedBook
    from octavo.records.options import BookOptions
    from octavo.types import Book, Chunk

EMBED_AT_ONCE, STORE_AT_ONCE = 64, 256
ROOM_A_CHUNK = 16_384  # bytes on the disk, in the records and in the store
ROOM_A_VECTOR = 4_096
T = TypeVar("T")
Changes = Callable[[], AbstractAsyncContextManager[LibraryContext]]


async def ingest(
    path: Path, context: LibraryContext, options: BookOptions, *, changes: Changes
) -> AsyncGenerator[IngestEvent, None]:
    """The whole way of one book, as events. The last one is `Published`. To be closed if left early.

    Until the book enters `changes`, where one is let in at a time, only vectors are written.
    """
    parsed = await parse(path, context.settings.limits)
    yield Parsed(parsed.title, len(parsed.sections), parsed.characters, parsed.page_count, parsed.warnings)

    identity = await _identified(parsed, path, context, options)
    if not identity.unchanged:
        edition = await run_blocking(
            draft, parsed, identity, embedder=context.embedder, settings=context.settings
        )
        yield await compare(edition, context.records)
        require_space(
            context.settings.data, len(edition.chunks) * ROOM_A_VECTOR, context.settings.free_space_mb
        )
        async for done in _embed(edition, context):
            yield done

    async with changes() as context:
        now = await _identified(parsed, path, context, options)  # other books may have come in meanwhile
        if now.known and now.unchanged:
            await covers.save_cover(context.records.database, now.known.id, parsed.cover)
            yield Published(now.known, unchanged=True)
            return
        if now != identity:
            edition = await run_blocking(
                draft, parsed, now, embedder=context.embedder, settings=context.settings
            )
        database, late = context.records.database, None
        async with aclosing(install(edition, context)) as steps:
            async for event in steps:
                if isinstance(event, Published):
                    covered = covers.save_cover(database, event.book.id, parsed.cover, replacing=True)
                    _, late = await run_to_completion(covered)
                yield event
        if late is not None:
            raise late


async def _identified(
    parsed: ParsedBook, path: Path, context: LibraryContext, options: BookOptions
) -> Identity:
    fingerprint = fingerprint_of(context.settings, context.embedder)
    return await identify(
        parsed, path.name, options=options, records=context.records, fingerprint=fingerprint
    )


async def install(new: Draft, context: LibraryContext) -> AsyncGenerator[IngestEvent, None]:
    """Embeds and stores what the library lacks of `new`, then makes it the edition that readers see."""
    records, store, book_id = context.records, context.store, new.book.id
    before = await records.read_manifest(book_id)
    added = [chunk for chunk in new.chunks if chunk.id not in before]
    require_space(context.settings.data, len(added) * ROOM_A_CHUNK, context.settings.free_space_mb)
    number = await records.begin_edition(
        new.book,
        words_hash=new.words_hash,
        sections=new.sections,
        chunks=new.chunks,
        vector_keys=new.vector_keys,
    )
    try:
        async for done in _embed(new, context):
            yield done
        async for stored in _store(added, number, new, context):
            yield stored
        await store.commit()
        _, late = await run_to_completion(records.publish(book_id, number))
    except BaseException:
        with suppress(OctavoError):  # what cannot be undone now is undone when the library is next opened
            await records.abandon(book_id, number)
            await forget_removed(book_id, context)
        raise

    book, later = await run_to_completion(_settle(new, number, context, before))
    yield Published(book)
    if (late := later or late) is not None:
        raise late


async def _settle(
    new: Draft, number: int, context: LibraryContext, before: Mapping[str, tuple[str, str]]
) -> Book:
    """Once an edition is out: the store is told what moved in it, and drops what is gone."""
    after = await context.records.read_manifest(new.book.id)
    moved = [chunk for chunk in new.chunks if before.get(chunk.id, after[chunk.id]) != after[chunk.id]]
    async for _ in _store(moved, number, new, context):
        pass
    await forget_removed(new.book.id, context, changed=bool(moved))
    await context.records.settle(new.book.id)
    return await context.records.find_book(new.book.id) or new.book


async def finished(
    steps: AsyncGenerator[IngestEvent, None], on_event: Callable[[IngestEvent], None] | None
) -> Book:
    """The book that `steps` end with; `on_event` is told of each of them."""
    async with aclosing(steps):
        async for event in steps:
            if on_event:
                on_event(event)
            if isinstance(event, Published):
                book = event.book
    return book


async def forget_removed(book_id: str, context: LibraryContext, *, changed: bool = False) -> None:
    """Takes out of the store what the records have no use for any more, durably; with it, what `changed`."""
    doomed = (await context.records.list_removals()).get(book_id, ())
    if doomed:
        await context.store.delete(doomed)
    if doomed or changed:  # a store that has nothing to write is not made to wait for the disk
        await context.store.commit()
    if doomed:
        await context.records.clear_removals(book_id)


async def _embed(new: Draft, context: LibraryContext) -> AsyncIterator[Embedding]:
    """Makes the vectors that are not there yet, the short texts first, and keeps each batch."""
    texts = {key: new.texts[id_] for id_, key in new.vector_keys.items()}
    missing = await context.records.find_missing_vectors(texts)
    done, total = len(texts) - len(missing), len(texts)
    for batch in batches(sorted(missing, key=lambda key: len(texts[key])), EMBED_AT_ONCE):
        async with context.embedding:
            if lacking := await context.records.find_missing_vectors(
                batch
            ):  # another book may have brought some
                vectors = await run_blocking(context.embedder.embed, [texts[key] for key in lacking])
                await context.records.save_vectors(dict(zip(lacking, vectors, strict=True)))
        done += len(batch)
        yield Embedding(done, total)


async def _store(
    chunks: Sequence[Chunk], number: int, new: Draft, context: LibraryContext
) -> AsyncIterator[Storing]:
    done = 0
    for batch in batches(chunks, STORE_AT_ONCE):
        vectors = await context.records.find_vectors(new.vector_keys[chunk.id] for chunk in batch)
        whole, digests = await run_blocking(_completed, batch, vectors, new.vector_keys)
        await context.store.upsert(whole, edition=number)
        await context.records.save_digests(new.book.id, number, digests)
        done += len(batch)
        yield Storing(done, len(chunks))


def _completed(
    chunks: Sequence[Chunk], vectors: Mapping[str, tuple[float, ...]], keys: Mapping[str, str]
) -> tuple[list[Chunk], dict[str, str]]:
    """The chunks with their vectors, and their digests. Too long a work to do between two questions."""
    whole = [replace(chunk, embedding=vectors[keys[chunk.id]]) for chunk in chunks]
    return whole, {chunk.id: digest_chunk(chunk) for chunk in whole}


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The items in order, `size` at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))
