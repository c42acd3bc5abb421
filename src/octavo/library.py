"""A library: the one object that programs, the command line and the service open.

`Library.open()` gives books in (`add`), out (`remove`), looked up (`books`, `contents`) and searched
(`search`). The records are open from the start; the store and the embedder are opened when first needed, so
that looking at the catalogue is quick and needs no lock. One process at a time can add and search.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from octavo import tracing, validation
from octavo.answers.ask import ask
from octavo.answers.audit import Verdict, verify
from octavo.answers.offline import Answerer, OfflineAnswerer
from octavo.answers.steps import AskSteps
from octavo.concurrency import run_blocking
from octavo.errors import InvalidValue, NotFound
from octavo.events import Answered, AskEvent, Compared, IngestEvent
from octavo.ingest import ingest, preview, run_steps
from octavo.ingest.attach import attach
from octavo.ingest.context import BOOKS, LibraryContext, join_instances
from octavo.ingest.install import delete_removed
from octavo.maintenance.doctor import Finding, examine
from octavo.maintenance.repair import STORE_STATE, Difference, adopt, opened, recover, save_store_state
from octavo.models.cross_encoders import LocalModels
from octavo.models.embedding import load_embedder
from octavo.records import covers
from octavo.records.catalogue import Records
from octavo.records.conversations import Conversations
from octavo.records.errors import translate_errors
from octavo.records.options import BookOptions
from octavo.search import scope
from octavo.search.cache import LRUCache
from octavo.search.rerank import Reranker
from octavo.search.retrieval import Retriever
from octavo.settings import Settings
from octavo.types import (
    TOP_K_DEFAULT,
    Answer,
    Book,
    Evidence,
    Question,
    Scope,
    Section,
    Session,
)
from octavo.verification.check import Support, check

if TYPE_CHECKING:
    from octavo.llm.agent import ModelAnswerer
    from octavo.llm.client import ModelEndpoint
    from octavo.protocols import Embedder
    from octavo.store import Store
    from octavo.store.qdrant_import import Source

SEARCH_DEFAULT, SEARCH_MOST = 5, 100
TURN_SECONDS = 120.0  # for which a change waits for that of another instance
OnEvent = Callable[[IngestEvent], None]


class Library:
    """Open it with `async with Library.open() as library`."""

    def __init__(
        self,
        settings: Settings,
        records: Records,
        embedder: Embedder | None,
        answerer: Answerer | None,
        closing: AsyncExitStack,
    ):
        self.settings = settings
        self._records = records
        self._embedder, self._seats = embedder, Seats(settings, answerer)
        self._closing = closing
        closing.push_async_callback(self._seats.close)
        self._opened: LibraryContext | None = None
        self._joined = False
        self._store: Store | None = None
        self._opening, self._changing = asyncio.Lock(), asyncio.Lock()
        self._retriever: Retriever | None = None
        self._found: LRUCache[tuple[Evidence, ...]] = LRUCache(most=1_000)
        self.models = LocalModels(settings)
        self.database = records.database
        """Where the records, the conversations and the tables of the service lie."""
        self.conversations = Conversations(records.database)
        """Sessions, questions and answers."""
        self.mended = Difference()
        """What had to be mended in the store when it was opened."""

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        data: str | Path | None = None,
        *,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
        answerer: Answerer | None = None,
    ) -> AsyncIterator[Library]:
        """Opens the library in folder `data`, making it when it is not there."""
        chosen = settings or (Settings() if data is None else Settings(data=Path(data)))
        if settings is not None and data is not None:
            chosen = settings.model_copy(update={"data": Path(data)})
        async with AsyncExitStack() as closing:
            with translate_errors(str(chosen.data)):
                chosen.data.mkdir(parents=True, exist_ok=True)
            where = chosen.records_url or chosen.data / "records.sqlite"
            records = await Records.open(where, connections=chosen.records_pool)
            closing.push_async_callback(records.close)
            yield cls(chosen, records, embedder, answerer, closing)

    async def add(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        base_url: str | None = None,
        book_id: str | None = None,
        on_event: OnEvent | None = None,
    ) -> Book:
        """Takes a book in, or a new edition of one; returns it when readers can find it."""
        options = BookOptions(title=title, base_url=base_url, book_id=book_id)
        return await self.ingest(path, options, on_event)

    async def ingest(self, path: str | Path, options: BookOptions, on_event: OnEvent | None = None) -> Book:
        """Does what `add` does, for callers that have the options as one value."""
        steps = ingest(_named(path), await self._context(), options, changes=self._changes)
        return await run_steps(steps, on_event)

    async def attach(
        self, source: Source, *, options: BookOptions | None = None, on_event: OnEvent | None = None
    ) -> Book:
        """Makes a book of a Qdrant collection that somebody else filled, without writing to it."""
        return await run_steps(attach(source, options or BookOptions(), changes=self._changes), on_event)

    async def preview(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        base_url: str | None = None,
        book_id: str | None = None,
    ) -> Compared:
        """What `add` would change, without changing anything."""
        options = BookOptions(title=title, base_url=base_url, book_id=book_id)
        return await preview(_named(path), await self._context(), options)

    async def books(self) -> list[Book]:
        return await self._records.list_books()

    async def book(self, name: str, *, among: Sequence[str] | None = None) -> Book:
        """By id, or by title when that names exactly one; with `among`, other books are not there."""
        books = [b for b in await self._records.list_books() if among is None or b.id in among]
        matching = [b for b in books if b.id == name] or [
            b for b in books if b.title.casefold() == name.casefold()
        ]
        if len(matching) == 1:
            return matching[0]
        near = get_close_matches(name, [b.id for b in books], n=5, cutoff=0.3) or [b.id for b in books[:5]]
        raise NotFound("book", name, nearest=tuple(near), hint="`octavo list` shows the books.")

    async def contents(self, name: str) -> list[Section]:
        """The sections of a book in reading order."""
        return await self._records.list_sections((await self.book(name)).id)

    async def section(self, name: str, section_id: str) -> Section:
        """One section of a book, with its text."""
        found = await self._records.find_section((await self.book(name)).id, section_id)
        if found is None:
            raise NotFound("section", section_id, hint="`octavo contents BOOK` shows the sections.")
        return found

    async def remove(self, name: str) -> Book:
        """Takes a book out of the library, with everything that was stored of it."""
        book = await self.book(name)
        async with self._changes() as context:
            await self._records.remove(book.id)
            await covers.delete_cover(self.database, book.id)
            await delete_removed(book.id, context)
            await self._records.sweep()
        return book

    async def search(
        self,
        query: str,
        *,
        book_id: str | None = None,
        scope: Scope | None = None,
        top_k: int = SEARCH_DEFAULT,
        books: Sequence[str] | None = None,
        rerank: bool = True,
    ) -> list[Evidence]:
        """The passages that fit `query` best, best first, within a book and a scope of it.

        With `books`, as if the library had no others; with `rerank`, the local reader has the last word.
        """
        validation.text("query", query, most=1000)
        validation.whole("top_k", top_k, least=1, most=SEARCH_MOST)
        named = None if books is None else sorted(books)
        key = repr((self._records.generation, query, book_id, scope, top_k, named, rerank))
        lasting = not self.database.is_shared and not self._changing.locked()
        known = self._found.get(key) if lasting else None
        if known is None:
            bounds = await self._bounds(book_id, scope or Scope(), books)
            context = await self._context()
            retriever = self._retriever_of(context)
            known = tuple(await retriever.search(query, bounds=bounds, top_k=top_k, rerank=rerank))
            if lasting and not self._changing.locked():  # while a book changes, so may what is found
                self._found.put(key, known)
        return list(known)

    async def ask(
        self,
        question: str,
        *,
        book_id: str | None = None,
        scope: Scope | None = None,
        selected_text: str | None = None,
        session_id: str | None = None,
        top_k: int = TOP_K_DEFAULT,
    ) -> Answer:
        """The answer with its citations, or a refusal that says why; recorded either way."""
        events = self.stream(
            question,
            book_id=book_id,
            scope=scope,
            selected_text=selected_text,
            session_id=session_id,
            top_k=top_k,
        )
        return (await answered(events)).answer

    async def stream(
        self,
        question: str,
        *,
        book_id: str | None = None,
        scope: Scope | None = None,
        selected_text: str | None = None,
        session_id: str | None = None,
        top_k: int = TOP_K_DEFAULT,
        books: Sequence[str] | None = None,
        owner: str = "",
    ) -> AsyncGenerator[AskEvent, None]:
        """The same as `ask`, step by step. The last event is `Answered`.

        With `books`, as if the library had no others; with `owner`, the question and its session are theirs.
        """
        asked = Question(
            id=str(uuid4()),
            content=question,
            timestamp=datetime.now(UTC),
            scope=scope or Scope(),
            book_id=(await self.book(book_id, among=books)).id if book_id is not None else None,
            selected_text=selected_text,
            session_id=session_id,
            user_id=owner or None,
            top_k=top_k,
        )
        context = await self._context()
        if session_id is not None:
            await self.conversations.start_session(session_id, owner=owner)
        retriever = self._retriever_of(context)
        desk = await self._seats.desk(
            self._records, self.conversations, retriever, context.embedder, among=books
        )
        async with aclosing(ask(asked, desk)) as events:
            async for event in events:
                yield event

    async def session(self, session_id: str | None = None) -> Session:
        """A conversation with all that was said in it: the one with this id, or a new one."""
        return await self.conversations.find_session(
            (await self.conversations.start_session(session_id)).session_id
        )

    async def verify(self, answer_id: str | None = None) -> list[Verdict]:
        """Checks the citations of one answer, or of all, against the stored text, to the letter."""
        return await verify(self.conversations, self._records, answer_id)

    async def check(self, claim: str, passages: Sequence[str]) -> Support:
        """Whether a claim is borne out by passages, wherever they come from."""
        opinion = self.models.verifier.score_support if self.settings.local_models else None
        return await run_blocking(check, claim, passages, opinion=opinion)

    def _retriever_of(self, context: LibraryContext) -> Retriever:
        if self._retriever is None:
            reranker = (
                Reranker(self.models.reader, opinion=self.models.verifier.score_support)
                if self.settings.local_models
                else None
            )
            self._retriever = Retriever(context.store, self._records, context.embedder, reranker=reranker)
        return self._retriever

    async def ready(self) -> None:
        """Opens everything now that would otherwise be opened by the first search."""
        await self._context()

    async def respond(self) -> None:
        """Raises unless the records and the store answer at this moment."""
        await self._records.list_books()
        await self._context()
        if self._store is not None:
            await self._store.count()

    async def examine(self, *, repair: bool = False, on_event: OnEvent | None = None) -> list[Finding]:
        """Looks the whole library over; with `repair`, mends what can be mended. Other calls wait."""
        async with self._changing, self._opening:
            if self._store is not None:
                await self._close(self._store)
                self._opened = self._retriever = None
            async with self.database.lock(BOOKS, wait=TURN_SECONDS):
                return await examine(
                    self.settings, self._records, embedder=self._embedder, repair=repair, on_event=on_event
                )

    async def describe(self, wanted: Scope, *, book_id: str | None = None) -> str:
        """What a scope names, in words; raises when it names nothing."""
        return (await self._bounds(book_id, wanted)).description

    async def _bounds(
        self, name: str | None, wanted: Scope, among: Sequence[str] | None = None
    ) -> scope.Bounds:
        if name is None and wanted.identifier is None:
            return scope.bound_by_books(among)
        if name is None:
            books = [b for b in await self._records.list_books() if among is None or b.id in among]
            if len(books) != 1:
                raise InvalidValue("book_id", "must say which book the scope is in", name)
            name = books[0].id
        book = await self.book(name, among=among)
        if wanted.identifier is None:
            return scope.bound_by_scope(wanted, book=book, sections=(), ends={})
        sections = await self._records.list_outline(book.id)
        return scope.bound_by_scope(
            wanted, book=book, sections=sections, ends=await self._records.find_section_ends(book.id)
        )

    async def _context(self) -> LibraryContext:
        """Opens the store and the embedder, and finishes what an earlier process could not."""
        async with self._opening:
            if self._opened is None:
                embedder = self._embedder
                if embedder is None:
                    embedder = await run_blocking(load_embedder, self.settings)
                if not self._joined:
                    place = join_instances(self.database, alone=not self.settings.store_url)
                    await self._closing.enter_async_context(place)
                    self._joined = True
                store, self.mended = await opened(self.settings, self._records, embedder)
                self._closing.push_async_callback(self._close, store)
                self._opened = LibraryContext(self.settings, self._records, store, embedder)
                self._store = store
                await self.conversations.fail_abandoned()
            return self._opened

    async def _close(self, store: Store) -> None:
        """Closes the store and notes how it was left: the next opening can tell that nobody touched it."""
        await store.close()
        if self._store is store:
            self._store = None
            async with self.database.try_lock(BOOKS) as alone:
                if alone:
                    await save_store_state(self.settings, self._records)

    @asynccontextmanager
    async def _changes(self) -> AsyncIterator[LibraryContext]:
        """One change at a time, in this instance and in all others.

        Clears the saved state of the store first, and saves it again when nobody can be changing it any more.
        """
        async with self._changing:
            context = await self._context()
            async with self.database.lock(BOOKS, wait=TURN_SECONDS):
                if self.database.is_shared:
                    await adopt(self._records, context.embedder)  # another instance may have come first
                await self._records.set_meta(STORE_STATE, "")
                await recover(context, state="")  # finishes a change that was cancelled too late to be undone
                yield context
                if self.settings.store_url:
                    await save_store_state(self.settings, self._records)


async def answered(events: AsyncGenerator[AskEvent, None]) -> Answered:
    """What a stream of events ends with."""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Answered):
                return event
    raise RuntimeError("the flow ended without an answer")


def _named(path: str | Path) -> Path:
    """The path with its last part spelled out: a book in `.` is named after the folder."""
    return Path(os.path.abspath(path))


class Seats:
    """Who sits at the desk: whoever was given, the model that the settings name, or the book's own words."""

    def __init__(self, settings: Settings, given: Answerer | None) -> None:
        self._settings, self._given = settings, given
        self._endpoint: ModelEndpoint | None = None

    async def desk(
        self,
        records: Records,
        conversations: Conversations,
        retriever: Retriever,
        embedder: Embedder,
        *,
        among: Sequence[str] | None = None,
    ) -> AskSteps:
        """The desk for one question."""
        if self._settings.tracing:
            tracing.ready()
        parts = self._settings, records, conversations, retriever
        offline = OfflineAnswerer(embedder, vector=retriever.vector, reranker=retriever.reranker)
        if self._given is not None or not self._settings.model:
            return AskSteps(*parts, self._given or offline, among=among)
        model_answerer, endpoint = await run_blocking(_language_model, self._settings.model)
        self._endpoint = self._endpoint or endpoint(self._settings)
        model = model_answerer(self._settings, self._endpoint, offline)
        return AskSteps(*parts, model, among=among, offline=offline, rewrite=model.rewrite)

    async def close(self) -> None:
        if self._endpoint is not None:
            await self._endpoint.close()


def _language_model(name: str) -> tuple[type[ModelAnswerer], type[ModelEndpoint]]:
    """What it takes to ask one; loaded only where there is one, because it is heavy."""
    from octavo.llm.agent import ModelAnswerer
    from octavo.llm.client import LITELLM, ModelEndpoint, load_litellm

    if name.startswith(LITELLM):
        load_litellm()
    return ModelAnswerer, ModelEndpoint
