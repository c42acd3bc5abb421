"""The library: the one object that programs, the command line and the service open.

`Library.open()` opens the records at once. The store and the embedder are opened when they are first needed,
so that reading the catalogue is quick and needs no lock. Without a shared store, one process at a time can
add and search. This module puts the parts together, and chooses who answers questions.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from octavo import tracing, validation
from octavo.answers.ask import ask
from octavo.answers.audit import Verdict, verify
from octavo.answers.offline import Answerer, OfflineAnswerer
from octavo.answers.steps import AskSteps, Rewrite
from octavo.concurrency import run_blocking
from octavo.errors import NotFound
from octavo.events import AskEvent, Compared, IngestEvent, last
from octavo.ingest import ingest, preview, run_steps
from octavo.ingest.attach import attach
from octavo.ingest.context import BOOKS, LibraryContext, join_instances
from octavo.ingest.install import delete_removed
from octavo.maintenance.repair import (
    STORE_STATE,
    Difference,
    open_repaired_store,
    recover,
    require_embedder,
    save_store_state,
)
from octavo.models.cross_encoders import LocalModels
from octavo.models.embedding import load_embedder
from octavo.records import covers
from octavo.records.catalogue import Records
from octavo.records.conversations import Conversations
from octavo.records.errors import translate_errors
from octavo.records.options import BookOptions
from octavo.search.cache import LRUCache
from octavo.search.rerank import Reranker
from octavo.search.retrieval import Retriever
from octavo.search.scope import ScopeResolver
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
    from octavo.maintenance.doctor import Finding
    from octavo.protocols import Embedder
    from octavo.store import Store
    from octavo.store.qdrant_import import Source

SEARCH_DEFAULT, SEARCH_MOST = 5, 100
# How long a change waits for a change by another instance.
LOCK_SECONDS = 120.0
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
        self._embedder, self._answerers = embedder, AnswererFactory(settings, answerer)
        self._closing = closing
        closing.push_async_callback(self._answerers.close)
        self._opened: LibraryContext | None = None
        self._joined = False
        self._store: Store | None = None
        self._opening, self._changing = asyncio.Lock(), asyncio.Lock()
        self._retriever: Retriever | None = None
        self._scope = ScopeResolver(records)
        self._found: LRUCache[tuple[Evidence, ...]] = LRUCache(most=1_000)
        self.models = LocalModels(settings)
        self.database = records.database
        """Holds the records, the conversations and the tables of the service."""
        self.conversations = Conversations(records.database)
        """Sessions, questions and answers."""
        self.repaired = Difference()
        """What had to be repaired in the store when it was opened."""

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
        """Open the library in folder `data`. The folder is created if it does not exist."""
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
        """Add a book, or a new edition of one. Returns it as soon as readers can find it."""
        options = BookOptions(title=title, base_url=base_url, book_id=book_id)
        return await self.ingest(path, options, on_event)

    async def ingest(self, path: str | Path, options: BookOptions, on_event: OnEvent | None = None) -> Book:
        """Does what `add` does, for callers that have the options as one value."""
        steps = ingest(_absolute(path), await self._context(), options, changes=self._changes)
        return await run_steps(steps, on_event)

    async def attach(
        self, source: Source, *, options: BookOptions | None = None, on_event: OnEvent | None = None
    ) -> Book:
        """Add a book from a Qdrant collection that another program filled, without writing to that."""
        return await run_steps(attach(source, options or BookOptions(), changes=self._changes), on_event)

    async def preview(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        base_url: str | None = None,
        book_id: str | None = None,
    ) -> Compared:
        """Compare a book with its edition in the library: what `add` would change. Changes nothing."""
        options = BookOptions(title=title, base_url=base_url, book_id=book_id)
        return await preview(_absolute(path), await self._context(), options)

    async def books(self) -> list[Book]:
        return await self._records.list_books()

    async def book(self, name: str, *, among: Sequence[str] | None = None) -> Book:
        """Find a book by its id, or by its title if exactly one book has it.

        With `among`, the library behaves as if it had only these books.
        """
        return await self._scope_of(among).find_book(name)

    async def contents(self, name: str) -> list[Section]:
        """List the sections of a book in reading order."""
        return await self._records.list_sections((await self.book(name)).id)

    async def section(self, name: str, section_id: str) -> Section:
        """Find a section of a book, with its text."""
        found = await self._records.find_section((await self.book(name)).id, section_id)
        if found is None:
            raise NotFound("section", section_id, hint="`octavo contents BOOK` shows the sections.")
        return found

    async def remove(self, name: str) -> Book:
        """Remove a book from the library, with everything that was stored of it."""
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
        """Find the passages that fit `query` best, best first, within a book and a scope of it.

        With `books`, the library behaves as if it had only these. With `rerank`, the local reader decides
        which of the first passages come first.
        """
        validation.check_text("query", query, most=1000)
        validation.check_integer("top_k", top_k, least=1, most=SEARCH_MOST)
        named = None if books is None else sorted(books)
        key = repr((self._records.generation, query, book_id, scope, top_k, named, rerank))
        cacheable = not self.database.is_shared and not self._changing.locked()
        known = self._found.get(key) if cacheable else None
        if known is None:
            bounds = await self._scope_of(books).resolve(scope or Scope(), book_id=book_id)
            retriever = self._get_retriever(await self._context())
            known = tuple(await retriever.search(query, bounds=bounds, top_k=top_k, rerank=rerank))
            # A change of a book that began meanwhile may change what is found.
            if cacheable and not self._changing.locked():
                self._found.put(key, known)
        return list(known)

    async def ask(
        self,
        question: str | Question,
        *,
        book_id: str | None = None,
        scope: Scope | None = None,
        selected_text: str | None = None,
        session_id: str | None = None,
        top_k: int = TOP_K_DEFAULT,
    ) -> Answer:
        """Answer a question with citations, or refuse and say why. Both are recorded."""
        events = self.stream(
            question,
            book_id=book_id,
            scope=scope,
            selected_text=selected_text,
            session_id=session_id,
            top_k=top_k,
        )
        return (await last(events)).answer

    async def stream(
        self,
        question: str | Question,
        *,
        book_id: str | None = None,
        scope: Scope | None = None,
        selected_text: str | None = None,
        session_id: str | None = None,
        top_k: int = TOP_K_DEFAULT,
        books: Sequence[str] | None = None,
        owner: str = "",
    ) -> AsyncGenerator[AskEvent, None]:
        """Do what `ask` does, step by step. The last event is `Answered`.

        With `books`, the library behaves as if it had only these. With `owner`, the question and its session
        are theirs. A `Question` brings all the rest with it, and the other arguments are not looked at.
        """
        if isinstance(question, str):
            question = Question(
                content=question,
                scope=scope or Scope(),
                book_id=book_id,
                selected_text=selected_text,
                session_id=session_id,
                user_id=owner or None,
                top_k=top_k,
            )
        if question.book_id is not None:
            book = await self.book(question.book_id, among=books)
            question = replace(question, book_id=book.id)
        context = await self._context()
        if question.session_id is not None:
            await self.conversations.start_session(question.session_id, owner=question.user_id or "")
        if self.settings.tracing:
            tracing.check_installed()
        retriever = self._get_retriever(context)
        chosen = await self._answerers.choose(retriever, context.embedder)
        steps = AskSteps(
            self.settings,
            self._records,
            self.conversations,
            retriever,
            self._scope_of(books),
            answerer=chosen.answerer,
            offline=chosen.offline,
            rewrite=chosen.rewrite,
        )
        async with aclosing(ask(question, steps)) as events:
            async for event in events:
                yield event

    async def session(self, session_id: str | None = None) -> Session:
        """Return the conversation with this id and everything in it, or start a new one."""
        return await self.conversations.find_session(
            (await self.conversations.start_session(session_id)).session_id
        )

    async def verify(self, answer_id: str | None = None) -> list[Verdict]:
        """Compare the citations of one answer, or of all, with the stored text, letter for letter."""
        return await verify(self.conversations, self._records, answer_id)

    async def check(self, claim: str, passages: Sequence[str]) -> Support:
        """Check whether passages, wherever they come from, support a claim."""
        opinion = self.models.verifier.score_support if self.settings.local_models else None
        return await run_blocking(check, claim, passages, opinion=opinion)

    def _get_retriever(self, context: LibraryContext) -> Retriever:
        if self._retriever is None:
            reranker = (
                Reranker(self.models.reader, opinion=self.models.verifier.score_support)
                if self.settings.local_models
                else None
            )
            self._retriever = Retriever(context.store, self._records, context.embedder, reranker=reranker)
        return self._retriever

    def _scope_of(self, books: Sequence[str] | None) -> ScopeResolver:
        return self._scope if books is None else replace(self._scope, books=books)

    async def prepare(self) -> None:
        """Open everything that the first search would otherwise open."""
        await self._context()

    async def check_health(self) -> None:
        """Raise unless the records and the store respond."""
        await self._records.list_books()
        await self._context()
        if self._store is not None:
            await self._store.count()

    async def examine(self, *, repair: bool = False, on_event: OnEvent | None = None) -> list[Finding]:
        """Examine the whole library. With `repair`, repair what can be repaired. Other calls wait."""
        from octavo.maintenance.doctor import examine

        async with self._changing, self._opening:
            if self._store is not None:
                await self._close(self._store)
                self._opened = self._retriever = None
            async with self.database.lock(BOOKS, wait=LOCK_SECONDS):
                return await examine(
                    self.settings, self._records, embedder=self._embedder, repair=repair, on_event=on_event
                )

    async def describe(self, wanted: Scope, *, book_id: str | None = None) -> str:
        """Describe in words what a scope names. Raises if it names nothing."""
        return (await self._scope.resolve(wanted, book_id=book_id)).description

    async def _context(self) -> LibraryContext:
        """Open the store and the embedder, and finish what an earlier process left unfinished."""
        async with self._opening:
            if self._opened is None:
                embedder = self._embedder
                if embedder is None:
                    embedder = await run_blocking(load_embedder, self.settings)
                if not self._joined:
                    place = join_instances(self.database, alone=not self.settings.store_url)
                    await self._closing.enter_async_context(place)
                    self._joined = True
                store, self.repaired = await open_repaired_store(self.settings, self._records, embedder)
                self._closing.push_async_callback(self._close, store)
                self._opened = LibraryContext(self.settings, self._records, store, embedder)
                self._store = store
                await self.conversations.fail_abandoned()
            return self._opened

    async def _close(self, store: Store) -> None:
        """Close the store and save its state, so that the next opening can tell whether it was changed."""
        await store.close()
        if self._store is store:
            self._store = None
            async with self.database.try_lock(BOOKS) as alone:
                if alone:
                    await save_store_state(self.settings, self._records)

    @asynccontextmanager
    async def _changes(self) -> AsyncIterator[LibraryContext]:
        """Hold the lock that allows one change at a time, in this instance and in all others.

        The saved state of the store is cleared first, and saved again after the change.
        """
        async with self._changing:
            context = await self._context()
            async with self.database.lock(BOOKS, wait=LOCK_SECONDS):
                if self.database.is_shared:
                    # Another instance may have set the embedder in the meantime.
                    await require_embedder(self._records, context.embedder)
                await self._records.set_meta(STORE_STATE, "")
                # Finish a change that was cancelled too late to be undone.
                await recover(context, state="")
                yield context
                if self.settings.store_url:
                    await save_store_state(self.settings, self._records)


def _absolute(path: str | Path) -> Path:
    """Make a path absolute, so that a book in `.` is named after the folder."""
    return Path(os.path.abspath(path))


class Answerers(NamedTuple):
    """Who answers; and for a language model, who looks beyond the scope and who completes questions."""

    answerer: Answerer
    offline: Answerer | None = None
    rewrite: Rewrite | None = None


class AnswererFactory:
    """Chooses who answers: who was given, the language model that the settings name, or the offline answerer.

    All questions share the connection to the language model.
    """

    def __init__(self, settings: Settings, given: Answerer | None) -> None:
        self._settings, self._given = settings, given
        self._endpoint: ModelEndpoint | None = None

    async def choose(self, retriever: Retriever, embedder: Embedder) -> Answerers:
        offline = OfflineAnswerer(embedder, embed_query=retriever.embed_query, reranker=retriever.reranker)
        if self._given is not None or not self._settings.model:
            return Answerers(self._given or offline)
        model_answerer, endpoint = await run_blocking(_load_language_model, self._settings.model)
        self._endpoint = self._endpoint or endpoint(self._settings)
        model = model_answerer(self._settings, self._endpoint, offline)
        return Answerers(model, offline=offline, rewrite=model.rewrite)

    async def close(self) -> None:
        if self._endpoint is not None:
            await self._endpoint.close()


def _load_language_model(name: str) -> tuple[type[ModelAnswerer], type[ModelEndpoint]]:
    """Import what asks a language model. It is heavy, and only loaded where a model is set."""
    from octavo.llm.agent import ModelAnswerer
    from octavo.llm.client import LITELLM, ModelEndpoint, load_litellm

    if name.startswith(LITELLM):
        load_litellm()
    return ModelAnswerer, ModelEndpoint
