"""Install an edition: embed what has no vector yet, store the new chunks, mark new texts, publish, clean up.

Publishing is one transaction of the records. Before it, a failure abandons the new edition. After it, the
edition is out: a cancellation that arrives then waits until the store has followed, and is raised again.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from octavo.concurrency import run_blocking, run_to_completion
from octavo.errors import OctavoError
from octavo.events import Embedding, IngestEvent, Published, Storing
from octavo.ingest.notes import read_recorded_notes, write_notes
from octavo.records import covers, text_marks
from octavo.store.base import digest_chunk, require_space
from octavo.types.books import read_languages

if TYPE_CHECKING:
    from octavo.ingest.context import LibraryContext
    from octavo.ingest.edition import Edition
    from octavo.readers.parsed import Cover
    from octavo.types import Book, Chunk

log = logging.getLogger(__name__)

EMBED_AT_ONCE, STORE_AT_ONCE = 64, 256
# Bytes on the disk, in the records and in the store.
CHUNK_BYTES, VECTOR_BYTES = 16_384, 4_096
# A file is written to the log of the database first.
FILE_FACTOR = 2
T = TypeVar("T")


async def install(new: Edition, context: LibraryContext) -> AsyncGenerator[IngestEvent, None]:
    """Embed and store what the library lacks of `new`, then make it the edition that readers see."""
    records, book_id = context.records, new.book.id
    before = await records.read_manifest(book_id)
    known = await records.find_book(book_id)
    reworded = known is not None and read_languages(known.index_fingerprint) != read_languages(
        new.book.index_fingerprint
    )
    old_notes = await read_recorded_notes(records, book_id)
    notes = await run_blocking(write_notes, _keep_times(new, known))
    added = [chunk for chunk in new.chunks if chunk.id not in before]
    needed = len(added) * CHUNK_BYTES + FILE_FACTOR * len(new.file)
    require_space(context.settings.data, needed, context.settings.free_space_mb)
    number = await records.begin_edition(
        new.book,
        words_hash=new.words_hash,
        sections=new.sections,
        chunks=new.chunks,
        vector_keys=new.vector_keys,
        images=new.images,
        file=new.file,
        scanner=new.scanner,
    )
    try:
        async for embedded in embed_missing(new, context):
            yield embedded
        async for stored in _store_chunks(added, number, new, context, notes):
            yield stored
        await context.store.commit()
        await _mark_texts(new, context)
        _, cancelled = await run_to_completion(records.publish(book_id, number))
    except BaseException:
        # What cannot be undone now is undone when the library is next opened.
        with suppress(OctavoError):
            await records.abandon(book_id, number)
            await delete_removed(book_id, context)
        raise

    book, cancelled_later = await run_to_completion(
        _settle(new, number, context, before, notes=notes, old_notes=old_notes, reworded=reworded)
    )
    yield Published(book)
    if (cancelled := cancelled_later or cancelled) is not None:
        raise cancelled


async def _mark_texts(new: Edition, context: LibraryContext) -> None:
    """Mark new texts for the map. Marks can be made later, so a failure does not keep the book out."""
    try:
        await text_marks.ensure_marks(context.records.database, new.sections)
    except Exception:
        log.exception(
            "The texts of %s could not be marked for its map; they are when it is opened", new.book.id
        )


async def install_with_cover(
    new: Edition, cover: Cover | None, context: LibraryContext
) -> AsyncGenerator[IngestEvent, None]:
    """Do what `install` does, and replace the book's cover before reporting that it is published."""
    cancelled = None
    async with aclosing(install(new, context)) as steps:
        async for event in steps:
            if isinstance(event, Published):
                keeping = covers.save_cover(context.records.database, event.book.id, cover, replacing=True)
                _, cancelled = await run_to_completion(keeping)
            yield event
    if cancelled is not None:
        raise cancelled


def _keep_times(new: Edition, known: Book | None) -> Edition:
    """Return the edition with the times that the records will have when it is published."""
    if known is None:
        return new
    latest = max(known.updated_at, new.book.updated_at)
    return replace(new, book=replace(new.book, added_at=known.added_at, updated_at=latest))


async def _settle(
    new: Edition,
    number: int,
    context: LibraryContext,
    before: Mapping[str, tuple[str, str]],
    *,
    notes: Mapping[str, str],
    old_notes: Mapping[str, str],
    reworded: bool,
) -> Book:
    """Write to the store what moved in a published edition, and delete what is gone.

    If the words follow other rules than before (`reworded`), everything is written.
    """
    after = await context.records.read_manifest(new.book.id)
    kept = [chunk for chunk in new.chunks if chunk.id in before]
    moved = [c for c in kept if reworded or before[c.id] != after[c.id] or notes[c.id] != old_notes.get(c.id)]
    async for _ in _store_chunks(moved, number, new, context, notes):
        pass
    await delete_removed(new.book.id, context, changed=bool(moved))
    await context.records.settle(new.book.id)
    return await context.records.find_book(new.book.id) or new.book


async def delete_removed(book_id: str, context: LibraryContext, *, changed: bool = False) -> None:
    """Delete from the store what the records removed, and commit; with `changed`, commit in any case."""
    removals = (await context.records.list_removals()).get(book_id, ())
    if removals:
        await context.store.delete(removals)
    # Do not make a store wait for the disk when it has nothing to write.
    if removals or changed:
        await context.store.commit()
    if removals:
        await context.records.clear_removals(book_id)


def require_space_for_vectors(new: Edition, context: LibraryContext) -> None:
    """Raise `StorageLow` unless there is room for a vector for each chunk."""
    require_space(context.settings.data, len(new.chunks) * VECTOR_BYTES, context.settings.free_space_mb)


async def embed_missing(new: Edition, context: LibraryContext) -> AsyncIterator[Embedding]:
    """Embed the texts that have no vector yet, the short ones first, and save each batch."""
    embedder = context.find_embedder(new.book.index_fingerprint)
    texts = {key: new.texts[id_] for id_, key in new.vector_keys.items()}
    missing = await context.records.find_missing_vectors(texts)
    done, total = len(texts) - len(missing), len(texts)
    for batch in split_batches(sorted(missing, key=lambda key: len(texts[key])), EMBED_AT_ONCE):
        async with context.embedding:
            # Another book may have brought some of them in the meantime.
            if still_missing := await context.records.find_missing_vectors(batch):
                vectors = await run_blocking(embedder.embed, [texts[key] for key in still_missing])
                await context.records.save_vectors(dict(zip(still_missing, vectors, strict=True)))
        done += len(batch)
        yield Embedding(done, total)


async def _store_chunks(
    chunks: Sequence[Chunk],
    number: int,
    new: Edition,
    context: LibraryContext,
    notes: Mapping[str, str],
) -> AsyncIterator[Storing]:
    done = 0
    for batch in split_batches(chunks, STORE_AT_ONCE):
        vectors = await context.records.find_vectors(new.vector_keys[chunk.id] for chunk in batch)
        whole, digests = await run_blocking(_add_vectors, batch, vectors, new.vector_keys)
        await context.store.upsert(whole, edition=number, notes=notes)
        await context.records.save_digests(new.book.id, number, digests)
        done += len(batch)
        yield Storing(done, len(chunks))


def _add_vectors(
    chunks: Sequence[Chunk], vectors: Mapping[str, tuple[float, ...]], keys: Mapping[str, str]
) -> tuple[list[Chunk], dict[str, str]]:
    """Return the chunks with their vectors, and their digests. Takes CPU time: run it in a thread."""
    whole = [replace(chunk, embedding=vectors[keys[chunk.id]]) for chunk in chunks]
    return whole, {chunk.id: digest_chunk(chunk) for chunk in whole}


def split_batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield the items in order, `size` at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))
