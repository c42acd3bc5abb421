"""Make the store match the records: after a kill, after damage, after a change of embedder.

The records are the source of truth. `recover` runs whenever a library is opened: it drops what an unfinished
edition left behind, and finishes what was published or removed. If there is a sign that store and records may
differ, it compares them point by point and repairs every difference, without a model. `reindex` builds every
book again from its recorded text, for another embedder or another chunker.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from octavo.concurrency import run_blocking
from octavo.errors import EmbedderMismatch, StorageLow
from octavo.ingest.context import BOOKS, LibraryContext
from octavo.ingest.edition import build_edition, make_fingerprint
from octavo.ingest.install import STORE_AT_ONCE, install, split_batches
from octavo.store import Store, open_store, read_store_state

if TYPE_CHECKING:
    from octavo.events import IngestEvent
    from octavo.protocols import ChunkStore, Embedder
    from octavo.records.catalogue import Records
    from octavo.settings import Settings

EMBEDDER, STORE_STATE = "embedder", "store seal"
# How long to wait for another instance that is opening the library.
OPENING_SECONDS = 120.0
OnStep = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Difference:
    """How the store differs from the records, as ids of chunks."""

    missing: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    strange: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missing or self.damaged or self.strange)

    def __str__(self) -> str:
        return f"{len(self.missing)} missing, {len(self.damaged)} damaged, {len(self.strange)} too many"


async def find_difference(context: LibraryContext) -> Difference:
    """Compare every point of the store with every chunk of the records."""
    return await compare_store(context.records, context.store)


async def compare_store(records: Records, store: ChunkStore) -> Difference:
    expected = await records.read_digests()
    stored = await store.read_digests()
    return Difference(
        missing=tuple(sorted(expected.keys() - stored.keys())),
        damaged=tuple(sorted(i for i in expected.keys() & stored.keys() if expected[i] != stored[i])),
        strange=tuple(sorted(stored.keys() - expected.keys())),
    )


async def repair_store(context: LibraryContext) -> Difference:
    """Make every point match the records; return what did not match."""
    return await fill_store(context.records, context.store)


async def fill_store(records: Records, store: ChunkStore, *, on_step: OnStep | None = None) -> Difference:
    """Make any store match the records. `on_step` gets the number of points written, and of all."""
    found = await compare_store(records, store)
    if found:
        await store.delete((*found.damaged, *found.strange))
        wanting = [*found.missing, *found.damaged]
        editions, done = await records.list_editions(), 0
        for batch in split_batches(wanting, STORE_AT_ONCE):
            chunks = await records.find_embedded_chunks(batch)
            for book_id in sorted({chunk.book_id for chunk in chunks}):
                of_book = [chunk for chunk in chunks if chunk.book_id == book_id]
                await store.upsert(of_book, edition=editions[book_id])
            done += len(batch)
            if on_step:
                on_step(done, len(wanting))
        await store.commit()
    return found


async def recover(context: LibraryContext, *, state: str) -> Difference:
    """Finish what an earlier process could not. `state` is what the store had before it was opened."""
    records = context.records
    for book_id, number in await records.list_pending():
        await records.abandon(book_id, number)
    unsettled, removals = await records.list_unsettled(), await records.list_removals()
    if not unsettled and not removals and await records.get_meta(STORE_STATE) == state:
        return Difference()
    try:
        mended = await repair_store(context)
    except StorageLow:
        mended = await find_difference(context)
        if mended.missing or mended.damaged:
            raise
        # Points that are too many are never shown. They can be deleted when there is space again.
        return mended
    for book_id in removals:
        await records.clear_removals(book_id)
    for book_id in unsettled:
        await records.settle(book_id)
    return mended


async def open_repaired_store(
    settings: Settings, records: Records, embedder: Embedder
) -> tuple[Store, Difference]:
    """Open the store, finish what an earlier process could not, and return both the store and the repairs.

    A change that another instance is working on is left to it.
    """
    database = records.database
    store: Store | None = None
    try:
        async with database.lock("the opening of the library", wait=OPENING_SECONDS):
            await require_embedder(records, embedder)
            expected, library = bool(await records.list_books()), await records.ensure_library_id()
            found = await read_store_state(settings, library=library)
            dimension = embedder.dimension
            store = await open_store(settings, dimension=dimension, expected=expected, library=library)
            async with database.try_lock(BOOKS) as alone:
                context = LibraryContext(settings, records, store, embedder)
                mended = await recover(context, state=found) if alone else Difference()
        return store, mended
    except BaseException:
        if store is not None:
            await store.close()
        raise


async def save_store_state(settings: Settings, records: Records) -> None:
    """Notes how the store is left, if it is left in order: the next opening can tell if anyone touched it."""
    if not await records.list_unsettled():
        await records.set_meta(
            STORE_STATE, await read_store_state(settings, library=await records.ensure_library_id())
        )


async def require_embedder(records: Records, embedder: Embedder) -> None:
    """Record the embedder of a new library; raise `EmbedderMismatch` if an old one has another."""
    known = await records.get_meta(EMBEDDER)
    if known is None or not await records.list_books():
        await records.set_meta(EMBEDDER, embedder.fingerprint)
    elif known != embedder.fingerprint:
        raise EmbedderMismatch(
            f"this library was embedded by {known}, and the settings ask for {embedder.fingerprint}",
            hint="Set OCTAVO_EMBEDDER back, or run `octavo doctor --repair` to embed every book again.",
        )


async def reindex(context: LibraryContext) -> AsyncGenerator[IngestEvent, None]:
    """Rebuild, from its recorded text, each book that another embedder or chunker indexed."""
    fingerprint = make_fingerprint(context.settings, context.embedder)
    for book in await context.records.list_books():
        if book.index_fingerprint == fingerprint:
            continue
        sections = await context.records.list_sections(book.id)
        words = await context.records.find_words_hash(book.id) or ""
        renewed = replace(book, index_fingerprint=fingerprint)
        edition = await run_blocking(
            build_edition,
            renewed,
            sections,
            words_hash=words,
            embedder=context.embedder,
            settings=context.settings,
        )
        async with aclosing(install(edition, context)) as steps:
            async for event in steps:
                yield event
