"""Make the store match the records: after a kill, after damage, after a change of embedder.

The records are the source of truth, but the store may hold the last copy of a text whose records were lost.
What the records once knew and no longer need is in their list of removals, and only that is ever deleted.
Points that they have never heard of are kept: the library does not open until `rebuild` has read them back
into the records, or the owner has dropped them. `recover` runs whenever a library is opened: it drops what an
unfinished edition left behind, and finishes what was published or removed. If there is a sign that store and
records may differ, it compares them point by point and repairs every difference, without a model. `reindex`
builds every book again from its recorded text, for another embedder or another chunker.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from octavo.concurrency import run_blocking
from octavo.errors import EmbedderMismatch, OctavoError, RecordsError, StorageLow
from octavo.ingest.attach import is_attached
from octavo.ingest.context import BOOKS, LibraryContext
from octavo.ingest.edition import build_edition, join_edition, make_fingerprint
from octavo.ingest.install import STORE_AT_ONCE, install, split_batches
from octavo.ingest.notes import read_recorded_notes
from octavo.protocols import list_versions
from octavo.records.queries import Queries
from octavo.records.rows import hash_text
from octavo.store import Store, locate_store, open_store, read_store_state
from octavo.store.base import UNREAD
from octavo.types.books import read_languages

if TYPE_CHECKING:
    from octavo.events import IngestEvent
    from octavo.protocols import ChunkStore, Embedder
    from octavo.records.catalogue import Records
    from octavo.records.database import Database
    from octavo.settings import Settings
    from octavo.types import Book

EMBEDDER, STORE_STATE = "embedder", "store seal"
LAGGING = "lagging copies"
"""The note about copies of the store that missed a change, as a JSON list."""
log = logging.getLogger(__name__)
# How long to wait for another instance that is opening the library.
OPENING_SECONDS = 120.0
OnStep = Callable[[int, int], None]
REBUILD = (
    "If the records were lost, `octavo doctor --rebuild` reads the books back from the store. "
    "If you do not need these passages, `octavo doctor --drop-unknown` deletes them."
)


class UnknownPoints(RecordsError):
    """The store holds points that the records have never heard of; they may be the last copy of a text."""

    def __init__(self, count: int, *, store: str = "the store", records: str = "the records") -> None:
        super().__init__(
            f"{store} holds {count:,} passages that {records} have never heard of; nothing was deleted",
            hint=REBUILD,
        )
        self.count = count

    def name_places(self, store: str, records: str) -> UnknownPoints:
        return UnknownPoints(self.count, store=f"the store at {store}", records=f"the records at {records}")


@dataclass(frozen=True, slots=True)
class Difference:
    """How the store differs from the records, as ids of chunks.

    `strange` are points that the records no longer need, `unknown` those that they have never heard of.
    """

    missing: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    strange: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missing or self.damaged or self.strange or self.unknown)

    def __str__(self) -> str:
        said = f"{len(self.missing)} missing, {len(self.damaged)} damaged, {len(self.strange)} too many"
        return f"{said}, {len(self.unknown)} unknown" if self.unknown else said


async def find_difference(context: LibraryContext, *, touched: Collection[str] | None = None) -> Difference:
    """Compare every point of the store with every chunk of the records, or as far as they were touched."""
    return await compare_store(context.records, context.store, touched=touched)


async def compare_store(
    records: Records, store: ChunkStore, *, touched: Collection[str] | None = None
) -> Difference:
    """Compare a store with the records point by point.

    With `touched`, which has all points that can be damaged, only the books that have any of these are read.
    Of the points of others it is found out whether they are there.
    """
    expected = await records.read_digests()
    removals = await records.list_removals()
    known = {id for ids in removals.values() for id in ids}
    suspect = None if touched is None else known | await _list_points_of(records, touched, removals)
    stored = await store.read_digests(suspect)
    others = stored.keys() - expected.keys()
    shared = expected.keys() & stored.keys()
    return Difference(
        missing=tuple(sorted(expected.keys() - stored.keys())),
        damaged=tuple(sorted(i for i in shared if stored[i] not in (expected[i], UNREAD))),
        strange=tuple(sorted(others & known)),
        unknown=tuple(sorted(others - known)),
    )


async def _list_points_of(records: Records, touched: Collection[str], removals: Collection[str]) -> set[str]:
    """Return these points, and all that are now in the books that have any of them or had removals."""
    books = {*await records.list_books_of(touched), *removals}
    return {*touched}.union(*[await records.read_manifest(book_id) for book_id in books])


async def repair_store(context: LibraryContext, *, touched: Collection[str] | None = None) -> Difference:
    """Make every point match the records; return what did not match."""
    return await fill_store(context.records, context.store, touched=touched)


async def fill_store(
    records: Records,
    store: ChunkStore,
    *,
    touched: Collection[str] | None = None,
    on_step: OnStep | None = None,
) -> Difference:
    """Make any store match the records. `on_step` gets the number of points written, and of all."""
    found = await compare_store(records, store, touched=touched)
    if found.unknown:
        raise UnknownPoints(len(found.unknown))
    if found:
        await store.delete((*found.damaged, *found.strange))
        wanting = [*found.missing, *found.damaged]
        editions, done = await records.list_editions(), 0
        notes: dict[str, dict[str, str]] = {}
        for batch in split_batches(wanting, STORE_AT_ONCE):
            chunks = await records.find_embedded_chunks(batch)
            for book_id in sorted({chunk.book_id for chunk in chunks}):
                if book_id not in notes:
                    notes[book_id] = await read_recorded_notes(records, book_id)
                of_book = [chunk for chunk in chunks if chunk.book_id == book_id]
                await store.upsert(of_book, edition=editions[book_id], notes=notes[book_id])
            done += len(batch)
            if on_step:
                on_step(done, len(wanting))
        await store.commit()
    return found


async def find_stale_notes(records: Records, store: ChunkStore) -> dict[str, tuple[str, ...]]:
    """Return by book the chunks whose notes in the store do not say what the records say."""
    wanted: dict[str, str] = {}
    of_book: dict[str, str] = {}
    for book in await records.list_books():
        notes = await read_recorded_notes(records, book.id)
        wanted |= {id: hash_text(note) for id, note in notes.items()}
        of_book |= dict.fromkeys(notes, book.id)
    stale: dict[str, list[str]] = {}
    async for point in store.read_points():
        if point.id in wanted and hash_text(point.note) != wanted[point.id]:
            stale.setdefault(of_book[point.id], []).append(point.id)
    return {book_id: tuple(ids) for book_id, ids in stale.items()}


async def renew_notes(records: Records, store: ChunkStore, stale: Mapping[str, Sequence[str]]) -> None:
    """Write chunks to the store again with the notes that the records give them."""
    editions = await records.list_editions()
    for book_id, ids in stale.items():
        notes = await read_recorded_notes(records, book_id)
        for batch in split_batches(ids, STORE_AT_ONCE):
            chunks = await records.find_embedded_chunks(batch)
            await store.upsert(chunks, edition=editions[book_id], notes=notes)
    if stale:
        await store.commit()


async def recover(context: LibraryContext, *, state: str | None = None) -> Difference:
    """Finish what an earlier process, or an earlier change, could not.

    `state` is what the store had before this process opened it; None if that has been looked at. A change
    that was killed has left its note, and if that is valid, the points that it lists are compared.
    """
    records = context.records
    for book_id, number in await records.list_pending():
        await records.abandon(book_id, number)
    unsettled, removals = await records.list_unsettled(), await records.list_removals()
    noted = await records.get_meta(STORE_STATE)
    settled = not unsettled and not removals and state in (None, noted)
    # After a kill the engine has replayed its log, and the number of points shows whether it lost any.
    if settled and (not state or await context.store.count() == await records.count_chunks()):
        return Difference()
    touched = await context.store.find_touched(noted or "")
    try:
        if touched is None:
            # A state that was saved does not hold while points are written.
            await records.set_meta(STORE_STATE, "")
        mended = await repair_store(context, touched=touched)
        if unsettled:
            # The notes of chunks that an edition kept may not have been written any more.
            manifests = {book_id: await records.read_manifest(book_id) for book_id in unsettled}
            await renew_notes(records, context.store, {id: tuple(those) for id, those in manifests.items()})
    except StorageLow:
        mended = await find_difference(context, touched=touched)
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
                try:
                    mended = await recover(context, state=found) if alone else Difference()
                    if alone:
                        await records.count_missing_words()
                except UnknownPoints as error:
                    raise error.name_places(store.place, database.place) from None
            # Opening has written to the files, and what follows may write to them again.
            await expect_writes(context)
        return store, mended
    except BaseException:
        if store is not None:
            await store.close()
        raise


async def begin_change(context: LibraryContext) -> None:
    """Finish a change that was cancelled too late to be undone, and note that the next one begins.

    The name of the store's note takes the place of its state in the records.
    """
    await recover(context)
    await context.records.set_meta(STORE_STATE, await context.store.begin_change())


async def expect_writes(context: LibraryContext) -> None:
    """Note that the files of the store are about to change, if it makes notes and nobody is changing books.

    If that fails, everything is compared after a kill.
    """
    with suppress(OctavoError):
        async with context.records.database.try_lock(BOOKS) as alone:
            if alone and (change := await context.store.begin_change()):
                await context.records.set_meta(STORE_STATE, change)


async def close_noted(store: Store, context: LibraryContext | None) -> None:
    """Close a store, in any case; before that, note that its files are about to change."""
    try:
        if context is not None:
            # The note would wait until the store is copied to be rewritten.
            await store.stop_rewriting()
            await expect_writes(context)
    finally:
        await store.close()


async def save_store_state(settings: Settings, records: Records) -> None:
    """Notes how the store is left, if it is left in order: the next opening can tell if anyone touched it."""
    if not await records.list_unsettled():
        await records.set_meta(
            STORE_STATE, await read_store_state(settings, library=await records.ensure_library_id())
        )


async def save_store_state_if_alone(settings: Settings, records: Records) -> None:
    """Do that unless another instance is changing the store."""
    async with records.database.try_lock(BOOKS) as alone:
        if alone:
            await save_store_state(settings, records)


async def note_order(context: LibraryContext) -> None:
    """Make the store durable and save its state, while nothing is being changed and it stays open.

    The change before it is done, whatever fails here. A store without a saved state is compared with the
    records at the next opening.
    """
    try:
        await context.store.commit()
        await note_lagging_copies(context.records, context.store)
        await save_store_state(context.settings, context.records)
    except (OctavoError, OSError) as error:
        # A full disk is nothing that the log must repeat after every change.
        level = logging.INFO if isinstance(error, StorageLow) else logging.WARNING
        log.log(level, "The state of the store could not be noted; the next opening compares it: %s", error)
        with suppress(OctavoError, OSError):
            await context.records.set_meta(STORE_STATE, "")


async def note_order_if_alone(context: LibraryContext) -> None:
    """Do that after an opening, which writes to the files, unless another instance is changing the store."""
    async with context.records.database.try_lock(BOOKS) as alone:
        if alone:
            await note_order(context)


async def note_lagging_copies(records: Records, store: ChunkStore) -> None:
    """Note the copies of the store that may have missed a change, until `octavo doctor` has compared them."""
    lagging = await store.find_lagging_copies()
    if lagging:
        noted = json.loads(await records.get_meta(LAGGING) or "[]")
        await records.set_meta(LAGGING, json.dumps(sorted({*noted, *lagging})))
        log.warning("These copies of the collection may have missed a change: %s", ", ".join(lagging))


async def require_embedder(records: Records, embedder: Embedder) -> None:
    """Record the embedder of a new library; raise `EmbedderMismatch` if an old one has another.

    An earlier version of the same one is no other: what it embedded is found until it is embedded again.
    """
    known = await records.get_meta(EMBEDDER)
    if known in list_versions(embedder):
        return
    if known is None or not await records.list_books():
        await records.set_meta(EMBEDDER, embedder.fingerprint)
    else:
        raise EmbedderMismatch(
            f"this library was embedded by {known}, and the settings ask for {embedder.fingerprint}",
            hint="Set OCTAVO_EMBEDDER back, or run `octavo doctor --repair` to embed every book again.",
        )


async def describe_lost_records(settings: Settings, database: Database) -> str:
    """Return what to do if the records seem to be lost: they have no books, and never knew the store here."""
    records = Queries(database)
    if settings.store_url or await records.list_books() or await records.get_meta(STORE_STATE):
        return ""
    path = locate_store(settings.data)
    if not await run_blocking(path.exists):
        return ""
    return f"There is a store at {path} that the records do not know. {REBUILD}"


def _choose_again(book: Book, context: LibraryContext) -> Embedder:
    """Choose who embeds a book that is in the library: who did it before, if that one is still in use."""
    before = context.find_embedder(book.index_fingerprint)
    if book.index_fingerprint.endswith(f" {before.fingerprint}"):
        return before
    return context.choose_embedder(read_languages(book.index_fingerprint)[0])


async def reindex(context: LibraryContext) -> AsyncGenerator[IngestEvent, None]:
    """Rebuild, from its recorded text, each book that another embedder or chunker indexed.

    The passages of an attached collection stay as they are.
    """
    for book in await context.records.list_books():
        languages, embedder = read_languages(book.index_fingerprint), _choose_again(book, context)
        fingerprint = make_fingerprint(context.settings, embedder, languages=languages)
        if book.index_fingerprint == fingerprint:
            continue
        sections = await context.records.list_sections(book.id)
        words = await context.records.find_words_hash(book.id) or ""
        renewed = replace(book, index_fingerprint=fingerprint)
        chunks = await context.records.list_chunks(book.id)
        if is_attached(chunks):
            edition = join_edition(renewed, sections, chunks, words_hash=words, embedder=embedder)
        else:
            edition = await run_blocking(
                build_edition,
                renewed,
                sections,
                words_hash=words,
                embedder=embedder,
                settings=context.settings,
            )
        async with aclosing(install(edition, context)) as steps:
            async for event in steps:
                yield event
