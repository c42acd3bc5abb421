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
from uuid import uuid4

from octavo import rules, scope
from octavo.ask import ask
from octavo.auditing import Verdict, verify
from octavo.concurrency import blocking
from octavo.conversation import TOP_K_DEFAULT, Answer, Question, Session
from octavo.desk import Desk
from octavo.doctor import Finding, examine
from octavo.drafting import Wishes, compare, draft, fingerprint_of, identify
from octavo.embedding import load
from octavo.errors import InvalidValue, NotFound
from octavo.events import Answered, AskEvent, Compared, IngestEvent, Published
from octavo.ingest import forget_removed, ingest
from octavo.journal import Journal
from octavo.parsing import parse
from octavo.protocols import Embedder
from octavo.reading import Answerer, OfflineAnswerer
from octavo.records import Records
from octavo.repair import SEAL, Difference, adopt, recover
from octavo.retrieval import Retriever
from octavo.settings import Settings
from octavo.shelf import Shelf
from octavo.store import open_store
from octavo.store.edge import EdgeStore
from octavo.store.seal import store_seal
from octavo.types import Book, Evidence, Scope, Section
from octavo.verification import Support, check

SEARCH_DEFAULT, SEARCH_MOST = 5, 100
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
        self._embedder, self._answerer = embedder, answerer
        self._closing = closing
        self._opened: Shelf | None = None
        self._store: EdgeStore | None = None
        self._opening, self._changing = asyncio.Lock(), asyncio.Lock()
        self._retriever: Retriever | None = None
        self.journal = Journal(records.database)
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
            records = await Records.open(chosen.data / "records.sqlite")
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
        wishes = Wishes(title=title, base_url=base_url, book_id=book_id)
        async with self._changes() as shelf, aclosing(ingest(_named(path), shelf, wishes)) as steps:
            async for event in steps:
                if on_event:
                    on_event(event)
                if isinstance(event, Published):
                    book = event.book
        return book

    async def preview(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        base_url: str | None = None,
        book_id: str | None = None,
    ) -> Compared:
        """What `add` would change, without changing anything."""
        shelf = await self._shelf()
        fingerprint = fingerprint_of(self.settings, shelf.embedder)
        wishes = Wishes(title=title, base_url=base_url, book_id=book_id)
        parsed = await parse(_named(path), self.settings.limits)
        identity = await identify(
            parsed, _named(path).name, wishes=wishes, records=self._records, fingerprint=fingerprint
        )
        if identity.known and identity.unchanged:
            return Compared.unchanged(identity.known)
        edition = await blocking(draft, parsed, identity, embedder=shelf.embedder, settings=self.settings)
        return await compare(edition, self._records)

    async def books(self) -> list[Book]:
        return await self._records.books()

    async def book(self, name: str) -> Book:
        """By id, or by title when that names exactly one."""
        books = await self._records.books()
        matching = [b for b in books if b.id == name] or [
            b for b in books if b.title.casefold() == name.casefold()
        ]
        if len(matching) == 1:
            return matching[0]
        near = get_close_matches(name, [b.id for b in books], n=5, cutoff=0.3) or [b.id for b in books[:5]]
        raise NotFound("book", name, nearest=tuple(near), hint="`octavo list` shows the books.")

    async def contents(self, name: str) -> list[Section]:
        """The sections of a book in reading order."""
        return await self._records.sections((await self.book(name)).id)

    async def remove(self, name: str) -> Book:
        """Takes a book out of the library, with everything that was stored of it."""
        book = await self.book(name)
        async with self._changes() as shelf:
            await self._records.remove(book.id)
            await forget_removed(book.id, shelf)
            await self._records.sweep()
        return book

    async def search(
        self,
        query: str,
        *,
        book_id: str | None = None,
        scope: Scope | None = None,
        top_k: int = SEARCH_DEFAULT,
    ) -> list[Evidence]:
        """The passages that fit `query` best, best first, within a book and a scope of it."""
        rules.text("query", query, most=1000)
        rules.whole("top_k", top_k, least=1, most=SEARCH_MOST)
        bounds = await self._bounds(book_id, scope or Scope())
        shelf = await self._shelf()
        return await self._retriever_of(shelf).search(query, bounds=bounds, top_k=top_k)

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
    ) -> AsyncGenerator[AskEvent, None]:
        """The same as `ask`, step by step. The last event is `Answered`."""
        asked = Question(
            id=str(uuid4()),
            content=question,
            timestamp=datetime.now(UTC),
            scope=scope or Scope(),
            book_id=(await self.book(book_id)).id if book_id is not None else None,
            selected_text=selected_text,
            session_id=session_id,
            top_k=top_k,
        )
        shelf = await self._shelf()
        if session_id is not None:
            await self.journal.start_session(session_id)
        retriever = self._retriever_of(shelf)
        answerer = self._answerer or OfflineAnswerer(shelf.embedder, vector=retriever.vector)
        desk = Desk(self.settings, self._records, self.journal, retriever, answerer)
        async with aclosing(ask(asked, desk)) as events:
            async for event in events:
                yield event

    async def session(self, session_id: str | None = None) -> Session:
        """A conversation with all that was said in it: the one with this id, or a new one."""
        return await self.journal.session((await self.journal.start_session(session_id)).session_id)

    async def verify(self, answer_id: str | None = None) -> list[Verdict]:
        """Checks the citations of one answer, or of all, against the stored text, to the letter."""
        return await verify(self.journal, self._records, answer_id)

    async def check(self, claim: str, passages: Sequence[str]) -> Support:
        """Whether a claim is borne out by passages, wherever they come from."""
        return await blocking(check, claim, passages)

    def _retriever_of(self, shelf: Shelf) -> Retriever:
        self._retriever = self._retriever or Retriever(shelf.store, self._records, shelf.embedder)
        return self._retriever

    async def ready(self) -> None:
        """Opens everything now that would otherwise be opened by the first search."""
        await self._shelf()

    async def examine(self, *, repair: bool = False, on_event: OnEvent | None = None) -> list[Finding]:
        """Looks the whole library over; with `repair`, mends what can be mended. Other calls wait."""
        async with self._changing, self._opening:
            if self._store is not None:
                await self._close(self._store)
                self._opened = self._retriever = None
            return await examine(
                self.settings, self._records, embedder=self._embedder, repair=repair, on_event=on_event
            )

    async def _bounds(self, name: str | None, wanted: Scope) -> scope.Bounds:
        if name is None and wanted.identifier is None:
            return scope.everywhere()
        if name is None:
            books = await self._records.books()
            if len(books) != 1:
                raise InvalidValue("book_id", "must say which book the scope is in", name)
            name = books[0].id
        book = await self.book(name)
        if wanted.identifier is None:
            return scope.resolve(wanted, book=book, sections=(), ends={})
        sections = await self._records.outline(book.id)
        return scope.resolve(wanted, book=book, sections=sections, ends=await self._records.ends(book.id))

    async def _shelf(self) -> Shelf:
        """Opens the store and the embedder, and finishes what an earlier process could not."""
        async with self._opening:
            if self._opened is None:
                embedder = self._embedder
                if embedder is None:
                    embedder = await blocking(load, self.settings)
                await adopt(self._records, embedder)
                expected = bool(await self._records.books())
                seal = await blocking(store_seal, self.settings.data)
                store = await open_store(self.settings, dimension=embedder.dimension, expected=expected)
                shelf = Shelf(self.settings, self._records, store, embedder)
                try:
                    self.mended = await recover(shelf, seal=seal)
                    await self.journal.abandon()
                except BaseException:
                    await store.close()
                    raise
                self._closing.push_async_callback(self._close, store)
                self._opened, self._store = shelf, store
            return self._opened

    async def _close(self, store: EdgeStore) -> None:
        """Closes the store and notes how it was left: the next opening can tell that nobody touched it."""
        await store.close()
        if self._store is store and not await self._records.unsettled():
            self._store = None
            await self._records.set_meta(SEAL, await blocking(store_seal, self.settings.data))

    @asynccontextmanager
    async def _changes(self) -> AsyncIterator[Shelf]:
        """One change at a time. The store's seal is broken first, and made anew when it is closed."""
        async with self._changing:
            shelf = await self._shelf()
            await self._records.set_meta(SEAL, "")
            await recover(shelf, seal="")  # finishes a change that was cancelled too late to be undone
            yield shelf


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
