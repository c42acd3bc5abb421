"""The library: the one object that programs, the command line and the service open.

`Library.open()` opens the records at once. The store and the embedder are opened when they are first needed,
so that reading the catalogue is quick and needs no lock. Without a shared store, one process at a time can
add and search. This module puts the parts together; `answerers` chooses who answers questions.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from octavo import tracing, validation
from octavo.answers import retrieve as retrieving
from octavo.answers.ask import ask
from octavo.answers.audit import Verdict, verify
from octavo.answers.evaluate import QUESTIONS_DEFAULT, Evaluation, OnAnswer, choose_questions, evaluate
from octavo.answers.gaps import GAPS_DEFAULT, GAPS_MOST, WEEKS_DEFAULT, WEEKS_MOST, GapReport, report_gaps
from octavo.answers.retrieve import Context, Retrieval, build_question
from octavo.answers.steps import AskSteps
from octavo.concurrency import run_blocking
from octavo.errors import NotFound, StorageLow
from octavo.events import AskEvent, Compared, IngestEvent, last
from octavo.ingest import ingest, preview, run_steps
from octavo.ingest.attach import attach
from octavo.ingest.context import BOOKS, LibraryContext, join_instances, make_context
from octavo.ingest.source import locate_book
from octavo.library.answerers import AnswererFactory, make_reranker
from octavo.library.printed import PAGE_WIDTH, PrintedPages
from octavo.library.shelf import edit, remove
from octavo.maintenance.background_check import StoreCheck, check_store
from octavo.maintenance.repair import (
    Difference,
    begin_change,
    close_noted,
    note_order,
    note_order_if_alone,
    open_repaired_store,
    require_embedder,
    save_store_state_if_alone,
)
from octavo.models.cross_encoders import LocalModels
from octavo.models.loading import load_embedder
from octavo.records import markup
from octavo.records.catalogue import Records
from octavo.records.conversations import Conversations
from octavo.records.conversations_unrecorded import TolerantConversations
from octavo.records.errors import translate_errors
from octavo.records.gaps import delete_old_gaps
from octavo.records.options import BookOptions
from octavo.records.tags import change_tags, list_tags
from octavo.search.cache import LRUCache
from octavo.search.maps import MapReader, describe_map, look_up
from octavo.search.retrieval import Retriever
from octavo.search.scope import ScopeResolver
from octavo.settings import LONGEST_KEPT_DAYS, Settings
from octavo.types import TOP_K_DEFAULT, Answer, Book, Evidence, PrintedPage, Question, Scope, Section, Session
from octavo.verification.check import Support, check

if TYPE_CHECKING:
    from octavo.answers.replies import Answerer
    from octavo.llm.search_tool import FunctionTool
    from octavo.maintenance.doctor import Finding
    from octavo.protocols import Embedder
    from octavo.search.ranking import ReaderSize
    from octavo.store import Store
    from octavo.store.qdrant_import import Source
    from octavo.text.bookmap.describe import MapDescriber
    from octavo.text.bookmap.model import BookMap, EntityDetails

SEARCH_DEFAULT, SEARCH_MOST = 5, 100
TOOL_NAME = "search_books"
# How many entities of each kind a map lists, and how many mentions a look-up.
MAP_DEFAULT, MAP_MOST = 20, 500
MENTIONS_DEFAULT, MENTIONS_MOST = 50, 10_000
NAME_MOST = 500
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
        self._maps = MapReader(records)
        self._found: LRUCache[tuple[Evidence, ...]] = LRUCache(most=1_000)
        self.models = LocalModels(settings)
        self._printed = PrintedPages(records.database, settings.limits)
        self.database = records.database
        """Holds the records, the conversations and the tables of the service."""
        recording = TolerantConversations if settings.answer_unrecorded else Conversations
        self.conversations = recording(records.database, log_gaps=settings.log_questions)
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
            chosen = settings.model_copy(update={"data": Path(data).absolute()})
        async with AsyncExitStack() as closing:
            with translate_errors(str(chosen.data)):
                chosen.data.mkdir(parents=True, exist_ok=True, mode=0o700)
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
        """Add a book, or a new edition of one. Returns it as soon as readers can find it.

        `path` is a file, a folder, or a zip archive of a folder, or a web address (https://…).
        """
        options = BookOptions(title=title, base_url=base_url, book_id=book_id)
        return await self.ingest(path, options, on_event)

    async def ingest(self, path: str | Path, options: BookOptions, on_event: OnEvent | None = None) -> Book:
        """Does what `add` does, for callers that have the options as one value."""
        context = await self._context()
        async with locate_book(path, self.settings, on_event) as place:
            return await run_steps(ingest(place, context, options, changes=self._changes), on_event)

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
        context = await self._context()
        async with locate_book(path, self.settings) as place:
            return await preview(place, context, options)

    async def books(self) -> list[Book]:
        return await self._records.list_books()

    async def book(self, name: str, *, among: Sequence[str] | None = None) -> Book:
        """Find a book by its id, or by its title if exactly one book has it.

        With `among`, the library behaves as if it had only these books.
        """
        return await self._scope_of(among).find_book(name)

    async def tags(self) -> dict[str, tuple[str, ...]]:
        """List the tags of each book that has some, by its id."""
        return await list_tags(self.database)

    async def tag(self, name: str, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> tuple[str, ...]:
        """Add tags to a book and take others away. Returns the tags that it has then."""
        return await change_tags(self.database, (await self.book(name)).id, add=add, remove=remove)

    async def tagged(self, tags: Sequence[str], *, among: Sequence[str] | None = None) -> tuple[str, ...]:
        """List the ids of the books that have at least one of these tags, as `books` takes them.

        Raises for a tag that no book has. With `among`, the library behaves as if it had only these books.
        """
        return await self._scope_of(among).find_tagged(await self.tags(), tags)

    async def contents(self, name: str) -> list[Section]:
        """List the sections of a book in reading order."""
        return await self._records.list_sections((await self.book(name)).id)

    async def section(self, name: str, section_id: str) -> Section:
        """Find a section of a book, with its text and its markup."""
        found = await self._records.find_section((await self.book(name)).id, section_id)
        if found is None:
            raise NotFound("section", section_id, hint="`octavo contents BOOK` shows the sections.")
        return replace(found, markup=await markup.find_markup(self.database, found))

    async def image(self, name: str, image: str) -> bytes:
        """Return a picture of a book by the name that its markup has for it: PNG, JPEG, GIF, WebP or SVG."""
        return await markup.read_image(self.database, (await self.book(name)).id, image)

    async def page(self, name: str, number: int, *, width: int = PAGE_WIDTH) -> bytes:
        """Draw a page of a PDF as it is printed, as a PNG of this width. `number` counts from 1."""
        return await self._printed.draw(await self.book(name), number, width=width)

    async def pages(
        self, name: str, section_id: str, *, start: int = 0, end: int = 0
    ) -> tuple[PrintedPage, ...]:
        """List the pages of a section of a PDF, with boxes around its characters from `start` to `end`."""
        return await self._printed.locate(await self.section(name, section_id), start, end)

    async def map(self, name: str, *, up_to: str | None = None, limit: int = MAP_DEFAULT) -> BookMap:
        """Map a book: its people, places, things and terms, `limit` of each, and a gist of each chapter.

        With `up_to` (a section, or a page like `p. 12`), the map is made from what comes before its end.
        """
        validation.check_integer("limit", limit, least=1, most=MAP_MOST)
        book = await self.book(name)
        opened = await self.open_map(book, up_to=up_to)
        return await run_blocking(describe_map, book, opened, up_to=up_to, limit=limit)

    async def look_up(
        self, name: str, wanted: str, *, up_to: str | None = None, mentions: int = MENTIONS_DEFAULT
    ) -> EntityDetails:
        """Look up a name or a term in the map of a book: where it is introduced, defined and mentioned."""
        validation.check_text("wanted", wanted, most=NAME_MOST)
        validation.check_integer("mentions", mentions, least=1, most=MENTIONS_MOST)
        opened = await self.open_map(await self.book(name), up_to=up_to)
        return await run_blocking(look_up, opened, wanted, mentions=mentions)

    async def open_map(self, book: Book, *, up_to: str | None = None) -> MapDescriber:
        """Open the map of a book, to ask it for mentions, definitions and gists."""
        if up_to is not None:
            validation.check_text("up_to", up_to, most=NAME_MOST)
        return await self._maps.open(book, up_to=up_to)

    async def build_map(self, name: str) -> int:
        """Prepare the map of a book that an older Octavo added; return how many sections were new to it."""
        return await self._maps.build(await self.book(name))

    async def gaps(self, name: str, *, weeks: int = WEEKS_DEFAULT, limit: int = GAPS_DEFAULT) -> GapReport:
        """Report what readers asked a book in the last weeks and did not get, the most wanted first."""
        validation.check_integer("weeks", weeks, least=1, most=WEEKS_MOST)
        validation.check_integer("limit", limit, least=1, most=GAPS_MOST)
        book, embedder = await self.book(name), await self._load_embedder()
        return await report_gaps(book, self._records, embedder, weeks=weeks, limit=limit)

    async def evaluate(
        self,
        name: str,
        questions: str | Path | None = None,
        *,
        limit: int = QUESTIONS_DEFAULT,
        on_answer: OnAnswer | None = None,
    ) -> Evaluation:
        """Test how well a book is answered, with the questions in a file or `limit` made from the book.

        What is asked for it is deleted again.
        """
        book = await self.book(name)

        async def ask_once(question: str) -> Answer:
            answer = (await last(self.stream(question, book_id=book.id))).answer
            await self.conversations.delete_question(answer.question_id)
            return answer

        known = await self.contents(book.id), await self.open_map(book)
        asked = await choose_questions(questions, *known, self._answerers.write_question, limit=limit)
        return await evaluate(book, asked, ask_once, settings=self.settings, on_answer=on_answer)

    async def edit(
        self,
        name: str,
        *,
        title: str | None = None,
        base_url: str | None = None,
        cover: bytes | None = None,
    ) -> Book:
        """Change the title, the web address or the cover of a book; what is None stays as it is.

        An empty `base_url` or `cover` takes it away. Ids, passages and citations stay the same.
        """
        async with self._changes() as context:
            return await edit(await self.book(name), context, title=title, base_url=base_url, cover=cover)

    async def remove(self, name: str) -> Book:
        """Remove a book from the library, with everything that was stored of it."""
        book = await self.book(name)
        async with self._changes() as context:
            await remove(book, context)
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
            reader: ReaderSize = "small" if rerank else "off"
            known = tuple(await retriever.search(query, bounds=bounds, top_k=top_k, reader=reader))
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
        books: Sequence[str] | None = None,
    ) -> Answer:
        """Answer a question with citations, or refuse and say why. Both are recorded.

        With `books`, the library behaves as if it had only these.
        """
        events = self.stream(
            question,
            book_id=book_id,
            scope=scope,
            selected_text=selected_text,
            session_id=session_id,
            top_k=top_k,
            books=books,
        )
        return await self.conversations.deliver((await last(events)).answer)

    async def retrieve(
        self,
        query: str | Question,
        context: Context | None = None,
        *,
        top_k: int | None = None,
        embeddings: bool = False,
        books: Sequence[str] | None = None,
    ) -> Retrieval:
        """Find passages for a query in its context: selected text, earlier messages, preferences, filters.

        The context is a `QueryContext` or a plain object with its fields. With `embeddings`, each passage has
        its vector. With `books`, the library behaves as if it had only these. Nothing is recorded.
        """
        question = build_question(query, context, top_k=top_k)
        return await retrieving.retrieve(question, await self._make_steps(books), embeddings=embeddings)

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

        Call `library.conversations.deliver(answer)` when the reader has the answer, to complete its trace.
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
        steps = await self._make_steps(books)
        if question.session_id is not None:
            await self.conversations.start_session(question.session_id, owner=question.user_id or "")
        if self.settings.tracing:
            tracing.check_installed()
        async with aclosing(ask(question, steps)) as events:
            async for event in events:
                yield event

    async def _make_steps(self, books: Sequence[str] | None) -> AskSteps:
        context = await self._context()
        retriever = self._get_retriever(context)
        chosen = await self._answerers.choose(retriever, context.embedder)
        return AskSteps(
            self.settings,
            self._records,
            self.conversations,
            retriever,
            self._scope_of(books),
            maps=self._maps,
            answerer=chosen.answerer,
            offline=chosen.offline,
            rewrite=chosen.rewrite,
        )

    def as_tool(
        self, *, name: str = TOOL_NAME, books: Sequence[str] | None = None, top_k: int = TOP_K_DEFAULT
    ) -> FunctionTool:
        """Make a function tool for the OpenAI Agents SDK that searches this library while it is open.

        With `books`, the tool finds nothing in others. `top_k` is how many passages it returns.
        """
        from octavo.llm.search_tool import make_search_tool

        chosen = None if books is None else tuple(books)

        async def find(question: Question) -> Sequence[Evidence]:
            return await self.retrieve(question, books=chosen)

        return make_search_tool(find, name=name, top_k=top_k)

    async def prune(self, *, days: int | None = None) -> int:
        """Delete the questions and answers that are older than `days`, by default as the settings say.

        Returns how many questions were deleted. What the gap report has kept long enough is deleted too.
        """
        listed = datetime.now(UTC) - timedelta(days=self.settings.gap_days)
        # Opening a library needs no space on the disk.
        with suppress(StorageLow):
            await delete_old_gaps(self.database, before=listed)
        days = self.settings.keep_days if days is None else days
        validation.check_integer("days", days, least=0, most=LONGEST_KEPT_DAYS)
        if days == 0:
            return 0
        return await self.conversations.prune(before=datetime.now(UTC) - timedelta(days=days))

    async def session(self, session_id: str | None = None) -> Session:
        """Return the conversation with this id and everything in it, or start a new one."""
        return await self.conversations.find_session(
            (await self.conversations.start_session(session_id)).session_id
        )

    async def verify(self, answer_id: str | None = None) -> list[Verdict]:
        """Compare the citations of one answer, or of all, with the stored text, letter for letter.

        Without `answer_id`, also compare all that readers see of the books with the digests that were saved
        when they were published. A book that was changed has a verdict under its own id.
        """
        found = await verify(self.conversations, self._records, answer_id)
        if answer_id is None:
            for each in await self._records.find_changed_editions():
                found.append(Verdict(each.book_id, 0, False, str(each), "", ""))
        return found

    async def check(self, claim: str, passages: Sequence[str]) -> Support:
        """Check whether passages, wherever they come from, support a claim."""
        opinion = self.models.verifier.score_support if self.settings.local_models else None
        return await run_blocking(check, claim, passages, opinion=opinion)

    def _get_retriever(self, context: LibraryContext) -> Retriever:
        if self._retriever is None:
            reranker = make_reranker(self.settings, self.models)
            self._retriever = Retriever(context.store, self._records, *context.embedders, reranker=reranker)
        return self._retriever

    def _scope_of(self, books: Sequence[str] | None) -> ScopeResolver:
        return self._scope if books is None else replace(self._scope, books=books)

    async def prepare(self) -> None:
        """Open everything that the first search would otherwise open."""
        await note_order_if_alone(await self._context())

    async def check_health(self) -> None:
        """Raise unless the records and the store respond."""
        await self._records.list_books()
        await self._context()
        if self._store is not None:
            await self._store.count()

    async def check_store(self, *, per_minute: int = 0) -> StoreCheck:
        """Compare every passage of the store with the records, and mend it. `per_minute` 0 is no limit."""
        validation.check_integer("per_minute", per_minute, least=0)
        return await check_store(await self._context(), self._changes, per_minute=per_minute)

    async def compact(self) -> bool:
        """Rewrite a large store, if it is worth it, so that searching stays cheap. Return whether it was."""
        return await (await self._context()).store.compact()

    async def examine(
        self, *, repair: bool = False, treatment: str = "", on_event: OnEvent | None = None
    ) -> list[Finding]:
        """Examine the whole library, after the treatment `repair`, `rebuild` or `drop-unknown`.

        `rebuild` reads books back into the records that only the store still has. Other calls wait.
        """
        from octavo.maintenance.doctor import Treatment, examine

        chosen = Treatment(treatment or ("repair" if repair else "examine"))
        async with self._changing, self._opening:
            if self._store is not None:
                try:
                    await self._close(self._store)
                finally:
                    self._opened = self._retriever = None
            async with self.database.lock(BOOKS, wait=LOCK_SECONDS):
                return await examine(
                    self.settings, self._records, embedder=self._embedder, treatment=chosen, on_event=on_event
                )

    async def describe(self, wanted: Scope, *, book_id: str | None = None) -> str:
        """Describe in words what a scope names. Raises if it names nothing."""
        return (await self._scope.resolve(wanted, book_id=book_id)).description

    async def _context(self) -> LibraryContext:
        """Open the store and the embedder, and finish what an earlier process left unfinished."""
        async with self._opening:
            if self._opened is None:
                embedder = await self._load_embedder()
                if not self._joined:
                    place = join_instances(self.database, alone=not self.settings.store_url)
                    await self._closing.enter_async_context(place)
                    self._joined = True
                store, self.repaired = await open_repaired_store(self.settings, self._records, embedder)
                self._closing.push_async_callback(self._close, store)
                self._opened = make_context(self.settings, self._records, store, embedder)
                self._store = store
                await self.conversations.fail_abandoned()
                await self.prune()
            return self._opened

    async def _load_embedder(self) -> Embedder:
        known = self._opened.embedder if self._opened else self._embedder
        return known if known is not None else await run_blocking(load_embedder, self.settings)

    async def _close(self, store: Store) -> None:
        """Close the store and save its state, so that the next opening can tell whether it was changed."""
        current = self._store is store
        try:
            await close_noted(store, self._opened if current else None)
        finally:
            self._store = None if current else self._store
        if current:
            await save_store_state_if_alone(self.settings, self._records)

    @asynccontextmanager
    async def _changes(self) -> AsyncIterator[LibraryContext]:
        """Hold the lock that allows one change at a time, in this instance and in all others.

        Instead of the state of the store, the name of its note about the change is saved, until that is done.
        """
        async with self._changing:
            context = await self._context()
            async with self.database.lock(BOOKS, wait=LOCK_SECONDS):
                if self.database.is_shared:
                    # Another instance may have set the embedder in the meantime.
                    await require_embedder(self._records, context.embedder)
                await begin_change(context)
                yield context
                if self._store is not None:
                    await note_order(context)
