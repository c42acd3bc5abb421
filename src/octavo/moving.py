"""Moves a library from its folder to servers and back: its chunks, and if asked its records.

The records are the truth, vectors included, so the chunks are written to the other store from them, with no
model. What is there already is not written again, so a move that was cut off goes on where it stopped. At
the end both are compared point by point, by digests, and table by table, by counts and hashes. The place
that the library comes from is left as it was.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from octavo.errors import InvalidValue, RecordsError, StoreError
from octavo.records import Records
from octavo.records_database.moving import copy_records
from octavo.repair import differing, fill
from octavo.settings import Settings
from octavo.shelf import BOOKS
from octavo.store import Store, open_store
from octavo.store.guard import LibraryLock
from octavo.types import COLLECTION, EMBEDDING_SIZE

EMBEDDED = "embedded"
OnStep = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Moved:
    """What is at the other place now, and the settings with which the library is found there.

    `written` of the chunks were not there before; `source_differs` says how the store that the library
    comes from differs from the records, and "" when it does not.
    """

    chunks: int
    written: int
    tables: Mapping[str, int]
    store: str
    records: str
    settings: Mapping[str, str]
    source_differs: str = ""


async def move(
    settings: Settings,
    *,
    to: str,
    records: str | None = None,
    collection: str | None = None,
    on_step: OnStep | None = None,
) -> Moved:
    """Copies the library that `settings` name to the store `to`, a Qdrant server's address or "embedded".

    With `records`, a database's address or "embedded", its records too. Nobody may change it meanwhile.
    """
    goal = _goal(settings, to=to, records=records, collection=collection)
    step = on_step or (lambda *_: None)
    source = await Records.open(_place(settings), connections=settings.records_pool)
    try:
        async with source.database.holding(BOOKS), _locked(settings, goal) as lock:
            if await source.pending() or await source.unsettled() or await source.removals():
                raise RecordsError(
                    f"the library at {source.database.place} has a change that is not finished",
                    hint="`octavo doctor --repair` finishes it.",
                )
            tables: Mapping[str, int] = {}
            if _place(goal) != _place(settings):
                tables = await _moved_records(source, goal, step)
            return await _moved_chunks(source, settings, goal, tables, lock, step)
    finally:
        await source.close()


def _goal(settings: Settings, *, to: str, records: str | None, collection: str | None) -> Settings:
    """The settings of the library at its new place; a wrong address is refused at once."""
    changed: dict[str, object] = {"store_url": "" if to == EMBEDDED else to.rstrip("/")}
    if to != EMBEDDED and not to.startswith(("http://", "https://")):
        raise InvalidValue("--to", "must be the address of a Qdrant server, or 'embedded'", to)
    if records is not None:
        changed["records_url"] = "" if records == EMBEDDED else records
    if collection is not None:
        changed["collection"] = collection
    return settings.model_copy(update=changed)


def _place(settings: Settings) -> str:
    return settings.records_url or str(settings.data / "records.sqlite")


@asynccontextmanager
async def _locked(settings: Settings, goal: Settings) -> AsyncIterator[LibraryLock | None]:
    """The folder is ours when anything in it is read from or written to."""
    if settings.store_url and goal.store_url and settings.records_url and goal.records_url:
        yield None
        return
    lock = LibraryLock(settings.data)
    try:
        yield lock
    finally:
        lock.release()


async def _moved_records(source: Records, goal: Settings, step: OnStep) -> Mapping[str, int]:
    await source.library_id()  # the same at both places, or the points would be a stranger's
    target = await Records.open(_place(goal), connections=goal.records_pool)
    try:
        return await copy_records(
            source.database, target.database, on_table=lambda name, rows: step(name, rows, rows)
        )
    finally:
        await target.close()


async def _moved_chunks(
    source: Records,
    settings: Settings,
    goal: Settings,
    tables: Mapping[str, int],
    lock: LibraryLock | None,
    step: OnStep,
) -> Moved:
    library, dimension = await source.library_id(), await _dimension(source)
    differs = ""
    if (settings.store_url, settings.collection) != (goal.store_url, goal.collection):
        before = await _opened(settings, dimension, library, lock, expected=bool(await source.digests()))
        try:
            found = await differing(source, before)
            differs = str(found) if found else ""
        finally:
            await before.close()
    store = await _opened(goal, dimension, library, lock, expected=False)
    try:
        written = await fill(source, store, on_step=lambda done, total: step("chunks", done, total))
        still = await differing(source, store)
        if still:
            raise StoreError(
                f"{store.place} does not hold what was written to it: {still}",
                hint="Run the same command again; what is there already is not written again.",
            )
        return Moved(
            chunks=await store.count(),
            written=len(written.missing) + len(written.damaged),
            tables=tables,
            store=store.place,
            records=source.database.place if not tables else _shown(goal),
            settings=_to_be_set(goal),
            source_differs=differs,
        )
    finally:
        await store.close()


async def _opened(
    settings: Settings, dimension: int, library: str, lock: LibraryLock | None, *, expected: bool
) -> Store:
    return await open_store(settings, dimension=dimension, expected=expected, lock=lock, library=library)


async def _dimension(records: Records) -> int:
    """How many numbers the vectors have."""
    for id in await records.digests():
        (chunk,) = await records.embedded_chunks([id])
        return len(chunk.embedding or ()) or EMBEDDING_SIZE
    return EMBEDDING_SIZE


def _to_be_set(goal: Settings) -> dict[str, str]:
    """The variables that name the new place; one that is empty is to be taken away."""
    wanted = {
        "OCTAVO_STORE_URL": goal.store_url,
        "OCTAVO_RECORDS_URL": _shown(goal) if goal.records_url else "",
    }
    if goal.store_url and goal.collection != COLLECTION:
        wanted["OCTAVO_COLLECTION"] = goal.collection
    return wanted


def _shown(goal: Settings) -> str:
    """Where the records are, without a password."""
    from octavo.records_database.addresses import address, shown

    return shown(address(_place(goal)))
