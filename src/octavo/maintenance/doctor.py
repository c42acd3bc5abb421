"""Check a library and repair it: disk, records, models, store, and whether store and records agree.

Each check ends in a `Finding`. A repair changes only what is wrong: damaged points are written again from the
records, a store that cannot be opened is set aside and rebuilt, and books that another embedder indexed are
embedded again from their recorded text. It needs none of the user's files.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.concurrency import run_blocking
from octavo.errors import EmbedderMismatch, OctavoError, StoreError
from octavo.events import IngestEvent
from octavo.ingest.context import LibraryContext
from octavo.limits import MB
from octavo.maintenance.repair import (
    EMBEDDER,
    STORE_STATE,
    find_difference,
    recover,
    reindex,
    require_embedder,
)
from octavo.models.embedding import load_embedder
from octavo.store import open_store, replace_store

if TYPE_CHECKING:
    from octavo.protocols import Embedder
    from octavo.records.catalogue import Records
    from octavo.settings import Settings

REPAIR = "Run `octavo doctor --repair`."
HALF_DONE = "two embedders (a repair was interrupted)"
OnEvent = Callable[[IngestEvent], None]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `hint` says what to do if it is not `sound`."""

    what: str
    said: str
    sound: bool = True
    hint: str = ""


def _report_error(what: str, error: OctavoError) -> Finding:
    return Finding(what, error.message, sound=False, hint=error.hint)


async def examine(
    settings: Settings,
    records: Records,
    *,
    embedder: Embedder | None = None,
    repair: bool = False,
    on_event: OnEvent | None = None,
) -> list[Finding]:
    """Check everything that can be wrong with a library; with `repair`, repair the store first."""
    findings = [_check_disk(settings), await _check_records(records)]
    if settings.model:
        findings.append(await _check_language_model(settings))
    try:
        if embedder is None:
            embedder = await run_blocking(load_embedder, settings)
        await run_blocking(embedder.embed, ["Does the model answer?"])
        findings.append(Finding("model", embedder.fingerprint))
    except OctavoError as error:
        return [*findings, _report_error("model", error)]
    if repair:
        try:
            findings.append(await _repair(settings, records, embedder, on_event))
        except OctavoError as error:
            findings.append(_report_error("repair", error))
    return [*findings, await _check_store(settings, records, embedder)]


def _check_disk(settings: Settings) -> Finding:
    free = shutil.disk_usage(settings.data).free // MB
    said = f"{settings.data} with {free:,} MB free"
    enough = free >= settings.free_space_mb
    return Finding(
        "folder", said, enough, "" if enough else "Free some space; until then nothing can be added."
    )


async def _check_records(records: Records) -> Finding:
    try:
        problems = await records.find_problems()
        books = await records.list_books()
    except OctavoError as error:
        return _report_error("records", error)
    if problems:
        hint = "Restore records.sqlite from a backup, or add the books again in a new folder."
        return Finding("records", "; ".join(problems[:5]), sound=False, hint=hint)
    chunks = sum(book.chunk_count for book in books)
    return Finding("records", f"{len(books)} books, {chunks:,} passages")


async def _check_language_model(settings: Settings) -> Finding:
    """Check that the model in the settings answers, and what it can do."""
    what = "language model"
    try:
        tried = await (await run_blocking(_load_trial))(settings)
    except OctavoError as error:
        hint = error.hint or (
            "Check OCTAVO_MODEL, OCTAVO_MODEL_URL and OCTAVO_MODEL_KEY, and that the endpoint is up. "
            "Until then questions are answered offline."
        )
        return Finding(what, f"{settings.model}: {error.message}", sound=False, hint=hint)
    said = f"{settings.model}: {', '.join(_describe_ability(name, it) for name, it in tried.items())}"
    if not tried["structured output"]:
        hint = "Its answers do not have the requested form, so most will be given offline. Try another model."
        return Finding(what, said, sound=False, hint=hint)
    if not tried["tools"] and settings.model_mode == "agent":
        hint = "Set OCTAVO_MODEL_MODE to auto or single: this model does not use tools."
        return Finding(what, said, sound=False, hint=hint)
    if not tried["tools"]:
        said += "; it answers from the first search (OCTAVO_MODEL_MODE=single skips the attempt to use tools)"
    return Finding(what, said)


def _describe_ability(name: str, works: bool) -> str:
    if name.endswith("s"):
        return f"{name} {'work' if works else 'do not work'}"
    return f"{name} {'works' if works else 'does not work'}"


def _load_trial() -> Callable[[Settings], Awaitable[dict[str, bool]]]:
    from octavo.llm.agent import probe_endpoint

    return probe_endpoint


async def _check_store(settings: Settings, records: Records, embedder: Embedder) -> Finding:
    try:
        await require_embedder(records, embedder)
        async with _open_store(settings, records, embedder) as context:
            found = await find_difference(context)
    except EmbedderMismatch as error:
        return Finding("store", error.message, sound=False, hint=error.hint)
    except OctavoError as error:
        return _report_error("store", error)
    if found:
        return Finding("store", f"differs from the records: {found}", sound=False, hint=REPAIR)
    return Finding("store", "holds exactly what the records say")


async def _repair(
    settings: Settings, records: Records, embedder: Embedder, on_event: OnEvent | None
) -> Finding:
    done = []
    async with _open_store(settings, records, embedder, rebuild=True) as context:
        await records.set_meta(STORE_STATE, "")
        if await records.get_meta(EMBEDDER) != embedder.fingerprint:
            await records.set_meta(EMBEDDER, HALF_DONE)
        anew = 0
        async with aclosing(reindex(context)) as steps:
            async for event in steps:
                anew += event.kind == "published"
                if on_event:
                    on_event(event)
        await records.set_meta(EMBEDDER, embedder.fingerprint)
        if anew:
            done.append(f"embedded {anew} books again")
        mended = await recover(context, state="broken")
        if mended:
            done.append(f"repaired the store ({mended})")
        await records.sweep()
    return Finding("repair", "; ".join(done) or "nothing needed repair")


@asynccontextmanager
async def _open_store(
    settings: Settings, records: Records, embedder: Embedder, *, rebuild: bool = False
) -> AsyncIterator[LibraryContext]:
    """Open the store without recovery, so that nothing is repaired before it is reported."""
    books, library = bool(await records.list_books()), await records.ensure_library_id()
    store = None
    try:
        store = await open_store(settings, dimension=embedder.dimension, expected=books, library=library)
        if rebuild:
            # A store that opens but cannot be read is rebuilt as well.
            await store.read_digests()
    except StoreError:
        if store is not None:
            with suppress(StoreError):
                await store.close()
        if not rebuild:
            raise
        store, _ = await replace_store(settings, dimension=embedder.dimension, library=library)
    try:
        yield LibraryContext(settings, records, store, embedder)
    finally:
        await store.close()
