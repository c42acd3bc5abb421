"""Check a library and repair it: disk, records, answers, models, store, and whether store and records agree.

Each check ends in a `Finding`. A repair changes only what is wrong: damaged points are written again from the
records, a store that cannot be opened is set aside and rebuilt, and books that another embedder indexed are
embedded again from their recorded text. It needs none of the user's files.
"""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.answers.audit import verify_all
from octavo.concurrency import run_blocking
from octavo.errors import OctavoError, StoreError
from octavo.events import IngestEvent
from octavo.ingest.context import LibraryContext, make_context
from octavo.limits import MB
from octavo.maintenance.background_check import read_last_check, save_check
from octavo.maintenance.rebuild import Rebuilt, adopt_collection, drop_unknown, rebuild_records
from octavo.maintenance.repair import (
    EMBEDDER,
    LAGGING,
    REBUILD,
    STORE_STATE,
    Difference,
    find_difference,
    find_stale_notes,
    note_lagging_copies,
    recover,
    reindex,
    renew_notes,
    require_embedder,
    save_store_state,
)
from octavo.models.cross_encoders import HeadedText, LocalModels
from octavo.models.loading import load_embedder
from octavo.protocols import list_versions
from octavo.records.conversations import Conversations
from octavo.store import open_store, replace_store

if TYPE_CHECKING:
    from octavo.protocols import ChunkStore, Embedder
    from octavo.records.catalogue import Records
    from octavo.settings import Settings
    from octavo.types import Book

REPAIR = "Run `octavo doctor --repair`."
LOOKS_HINT = "Add the same file again: the store does not have the links, the pictures and the printed pages."
REST_HINT = (
    "`octavo doctor --rebuild` reads books back from the store, but not their links, pictures and printed "
    "pages: these come back when the same file is added again. Or restore a backup with `octavo restore`."
)
HALF_DONE = "two embedders (a repair was interrupted)"
OnEvent = Callable[[IngestEvent], None]


class Treatment(StrEnum):
    """What to do about what is wrong with a library."""

    EXAMINE = "examine"
    REPAIR = "repair"
    REBUILD = "rebuild"
    DROP_UNKNOWN = "drop-unknown"


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
    treatment: Treatment = Treatment.EXAMINE,
    on_event: OnEvent | None = None,
) -> list[Finding]:
    """Check everything that can be wrong with a library, after the treatment that was asked for."""
    if treatment is Treatment.REPAIR:
        _shut_out_others(settings.data)
    findings = [_check_folder(settings), *await _check_written(records)]
    if settings.model:
        findings.append(await _check_language_model(settings))
    if settings.local_models:
        findings.append(await _check_local_models(settings))
    try:
        if embedder is None:
            embedder = await run_blocking(load_embedder, settings)
        await run_blocking(embedder.embed, ["Does the model answer?"])
        findings.append(Finding("model", embedder.fingerprint))
    except OctavoError as error:
        return [*findings, _report_error("model", error)]
    if treatment is not Treatment.EXAMINE:
        try:
            findings.append(await _treat(treatment, settings, records, embedder, on_event))
        except OctavoError as error:
            findings.append(_report_error(treatment, error))
        findings[1:3] = await _check_written(records)
    return [*findings, *await _check_store(settings, records, embedder)]


async def _treat(
    treatment: Treatment,
    settings: Settings,
    records: Records,
    embedder: Embedder,
    on_event: OnEvent | None,
) -> Finding:
    if treatment is Treatment.REPAIR:
        return await _repair(settings, records, embedder, on_event)
    await records.set_meta(STORE_STATE, "")
    if treatment is Treatment.REBUILD:
        await records.mend_entries()
        await adopt_collection(settings, records)
    async with _open_store(settings, records, embedder) as context:
        if treatment is Treatment.DROP_UNKNOWN:
            return Finding(treatment, f"deleted {await drop_unknown(context):,} passages")
        await require_embedder(records, embedder)
        return _describe_rebuilt(await rebuild_records(context))


def _describe_rebuilt(done: Rebuilt) -> Finding:
    said = f"{len(done.books)} books are in the records again"
    if not done.left:
        return Finding(Treatment.REBUILD, said)
    names = ", ".join(f"{book_id} ({count:,} passages)" for book_id, count in sorted(done.left.items()))
    hint = (
        "What the store has of these books is not whole. It was kept. Add the books again, and then run "
        "`octavo doctor --drop-unknown`."
    )
    return Finding(Treatment.REBUILD, f"{said}; not rebuilt: {names}", sound=False, hint=hint)


def _check_folder(settings: Settings) -> Finding:
    free = shutil.disk_usage(settings.data).free // MB
    said, hints = f"{settings.data} with {free:,} MB free", list[str]()
    if free < settings.free_space_mb:
        hints.append("Free some space; until then nothing can be added.")
    if _is_open_to_others(settings.data):
        said += "; other users of this machine may open it"
        hints.append(
            f"{REPAIR} If that changes nothing, the owner of the folder has to `chmod o-rwx` it; a volume "
            "without rights of its own, such as exFAT, gets them when it is mounted."
        )
    return Finding("folder", said, not hints, " ".join(hints))


def _is_open_to_others(folder: Path) -> bool:
    return bool(folder.stat().st_mode & stat.S_IRWXO)


def _shut_out_others(folder: Path) -> None:
    """Take the rights of everyone else away, and leave those of the owner and of the group."""
    # A mounted volume may refuse; the check reports it then.
    with suppress(OSError):
        if _is_open_to_others(folder):
            folder.chmod(stat.S_IMODE(folder.stat().st_mode) & ~stat.S_IRWXO)


async def _check_written(records: Records) -> list[Finding]:
    return [await _check_records(records), await _check_answers(records)]


async def _check_answers(records: Records) -> Finding:
    """Check every stored answer, as `octavo verify` does."""
    what, count = "answers", 0
    wrong: dict[str, str] = {}
    try:
        async for verdicts in verify_all(Conversations(records.database), records):
            count += sum(verdict.number > 0 for verdict in verdicts)
            wrong |= {each.answer_id: each.note for each in verdicts if each.checked and not each.true}
    except OctavoError as error:
        return _report_error(what, error)
    if not wrong:
        return Finding(what, f"{count:,} citations, as they were stored")
    first = "; ".join(f"{note} ({answer_id})" for answer_id, note in list(wrong.items())[:5])
    hint = "`octavo verify` shows them all. `octavo restore` restores a backup."
    return Finding(what, f"{len(wrong):,} answers are damaged: {first}", sound=False, hint=hint)


async def _check_records(records: Records) -> Finding:
    try:
        problems = await records.find_problems()
        books = await records.list_books()
    except OctavoError as error:
        return _report_error("records", error)
    if problems:
        changed = await records.find_changed_editions()
        looks = {str(each) for each in changed if each.looks_only}
        hint = LOOKS_HINT if looks.issuperset(problems) else REST_HINT
        return Finding("records", "; ".join(problems[:5]), sound=False, hint=hint)
    chunks = sum(book.chunk_count for book in books)
    said = f"{len(books)} books, {chunks:,} passages"
    without = await records.count_undigested_editions()
    if without:
        return Finding("records", f"{said}; {without} books have no digest yet", sound=False, hint=REPAIR)
    uncounted = await records.count_uncounted_books()
    if uncounted:
        said = f"{said}; the words of {uncounted} books are not counted yet"
        return Finding("records", said, sound=False, hint=REPAIR)
    if await records.count_wrong_words():
        return Finding("records", f"{said}; words are counted wrong", sound=False, hint=REPAIR)
    return Finding("records", said)


async def _check_local_models(settings: Settings) -> Finding:
    """Check that the models that read and verify are there and answer."""
    what = "local models"
    try:
        return Finding(what, ", ".join(await run_blocking(_try_local_models, settings)))
    except OctavoError as error:
        return _report_error(what, error)


def _try_local_models(settings: Settings) -> list[str]:
    """Ask each model that the settings use something, and return their names."""
    models = LocalModels(settings)
    readers = [models.reader, models.large] if settings.reader == "large" else [models.reader]
    if settings.embedder != "english":
        readers.append(models.multilingual)
    for reader in readers:
        reader.read("Does the model answer?", [HeadedText("It does.")])
    # What a language model writes is judged by a verifier of its own.
    verifiers = [models.verifier, *([models.gate] if settings.model else [])]
    if settings.model and settings.reader == "large":
        verifiers.append(models.gate_large)
    for verifier in verifiers:
        verifier.score_support("The model answers.", ["It does."])
    return [*(reader.name for reader in readers), *(verifier.name for verifier in verifiers)]


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


async def _check_store(settings: Settings, records: Records, embedder: Embedder) -> list[Finding]:
    try:
        await require_embedder(records, embedder)
        async with _open_store(settings, records, embedder) as context:
            found = await find_difference(context)
            stale = {} if found else await find_stale_notes(records, context.store)
            copies = await _check_copies(records, context.store, compared=not found)
            last = await read_last_check(records.database)
            books = await records.list_books()
            if not found:
                changed = len(await records.find_changed_editions())
                passages = len(await records.read_digests())
                await save_check(records, passages=passages, repaired=0, changed=changed)
        if not found:
            # The store is closed now, and the next opening need not compare it again.
            await save_store_state(settings, records)
    except OctavoError as error:
        return [_report_error("store", error)]
    checked = Finding("check before this one", str(last) if last else "no full pass yet")
    return [*_describe_store(found, stale), *copies, *_describe_earlier(context, books), checked]


def _describe_earlier(context: LibraryContext, books: Sequence[Book]) -> list[Finding]:
    """Name the books that an earlier version of their embedder embedded."""
    named = []
    for book in books:
        _, *earlier = list_versions(context.find_embedder(book.index_fingerprint))
        if any(book.index_fingerprint.endswith(f" {one}") for one in earlier):
            named.append(book.title)
    if not named:
        return []
    said = f"of an earlier version, and found less well: {', '.join(named[:5])}"
    more = f" and {len(named) - 5} more" if len(named) > 5 else ""
    return [Finding("vectors", said + more, sound=False, hint=REPAIR)]


async def _check_copies(records: Records, store: ChunkStore, *, compared: bool) -> list[Finding]:
    """Say which copies of the store are behind, or that those which were are like the others again."""
    lagging = await store.find_lagging_copies()
    if lagging:
        await note_lagging_copies(records, store)
        hint = (
            "Bring their servers back, wait until the cluster has brought them up to date, and check again."
        )
        return [Finding("copies", f"not up to date: {', '.join(lagging)}", sound=False, hint=hint)]
    noted = json.loads(await records.get_meta(LAGGING) or "[]")
    if not noted or not compared:
        return []
    await records.set_meta(LAGGING, "[]")
    return [Finding("copies", f"compared and alike, {', '.join(noted)} included")]


def _describe_store(found: Difference, stale: Mapping[str, Sequence[str]]) -> list[Finding]:
    if found:
        hint = REBUILD if found.unknown else REPAIR
        return [Finding("store", f"differs from the records: {found}", sound=False, hint=hint)]
    sound = Finding("store", "holds exactly what the records say")
    if stale:
        said = f"the records of {len(stale)} books could not be rebuilt from the store if they were lost"
        return [sound, Finding("second copy", said, sound=False, hint=REPAIR)]
    return [sound, Finding("second copy", "the records can be rebuilt from the store")]


async def _repair(
    settings: Settings, records: Records, embedder: Embedder, on_event: OnEvent | None
) -> Finding:
    done = []
    async with _open_store(settings, records, embedder, rebuild=True) as context:
        await records.set_meta(STORE_STATE, "")
        if await records.get_meta(EMBEDDER) not in list_versions(embedder):
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
        if without := await records.save_missing_digests():
            done.append(f"saved the digests of {without} books")
        if await records.count_uncounted_books() or await records.count_wrong_words():
            await records.recount_words()
            done.append("counted the words of all books again")
        stale = await find_stale_notes(records, context.store)
        await renew_notes(records, context.store, stale)
        if stale:
            done.append(f"wrote the second copy of the records of {len(stale)} books")
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
        yield make_context(settings, records, store, embedder)
    finally:
        await store.close()
