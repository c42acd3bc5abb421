"""The library for programs that are not asynchronous: the same calls, each waits for its result.

with Library.open() as library:
    library.add("moby-dick.epub")
    print(library.ask("Why is the whale white?").content)

The work runs on an event loop in a thread of its own, so this works inside of a running loop too.
Written by `python -m benchmarks.sync_library`. Do not edit it: change `octavo.library` and write it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from octavo import library as asynchronous
from octavo.answers.audit import Verdict
from octavo.answers.evaluate import QUESTIONS_DEFAULT, Evaluation, OnAnswer
from octavo.answers.gaps import GAPS_DEFAULT, WEEKS_DEFAULT, GapReport
from octavo.answers.retrieve import Context, Retrieval
from octavo.concurrency import LoopThread
from octavo.events import AskEvent, Compared
from octavo.library import (
    MAP_DEFAULT,
    MENTIONS_DEFAULT,
    SEARCH_DEFAULT,
    TOOL_NAME,
    OnEvent,
)
from octavo.library.printed import PAGE_WIDTH
from octavo.maintenance.background_check import StoreCheck
from octavo.records.options import BookOptions
from octavo.settings import Settings
from octavo.types import TOP_K_DEFAULT, Answer, Book, Evidence, PrintedPage, Question, Scope, Section, Session
from octavo.verification.check import Support

if TYPE_CHECKING:
    from octavo.answers.replies import Answerer
    from octavo.llm.search_tool import FunctionTool
    from octavo.maintenance.doctor import Finding
    from octavo.protocols import Embedder
    from octavo.store.qdrant_import import Source
    from octavo.text.bookmap.describe import MapDescriber
    from octavo.text.bookmap.model import BookMap, EntityDetails


class Library:
    """Open it with `with Library.open() as library`."""

    def __init__(self, library: asynchronous.Library, loop: LoopThread) -> None:
        self._library, self._loop = library, loop
        self.settings = library.settings

    @classmethod
    @contextmanager
    def open(
        cls,
        data: str | Path | None = None,
        *,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
        answerer: Answerer | None = None,
    ) -> Iterator[Library]:
        """Open the library in folder `data`. The folder is created if it does not exist."""
        loop = LoopThread()
        opening = asynchronous.Library.open(data, settings=settings, embedder=embedder, answerer=answerer)
        try:
            opened = loop.run(opening.__aenter__())
            try:
                yield cls(opened, loop)
            finally:
                loop.run(opening.__aexit__(None, None, None))
        finally:
            loop.close()

    def add(
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
        return self._loop.run(
            self._library.add(path, title=title, base_url=base_url, book_id=book_id, on_event=on_event)
        )

    def ingest(self, path: str | Path, options: BookOptions, on_event: OnEvent | None = None) -> Book:
        """Does what `add` does, for callers that have the options as one value."""
        return self._loop.run(self._library.ingest(path, options, on_event))

    def attach(
        self, source: Source, *, options: BookOptions | None = None, on_event: OnEvent | None = None
    ) -> Book:
        """Add a book from a Qdrant collection that another program filled, without writing to that."""
        return self._loop.run(self._library.attach(source, options=options, on_event=on_event))

    def preview(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        base_url: str | None = None,
        book_id: str | None = None,
    ) -> Compared:
        """Compare a book with its edition in the library: what `add` would change. Changes nothing."""
        return self._loop.run(self._library.preview(path, title=title, base_url=base_url, book_id=book_id))

    def books(self) -> list[Book]:
        return self._loop.run(self._library.books())

    def book(self, name: str, *, among: Sequence[str] | None = None) -> Book:
        """Find a book by its id, or by its title if exactly one book has it.

        With `among`, the library behaves as if it had only these books.
        """
        return self._loop.run(self._library.book(name, among=among))

    def tags(self) -> dict[str, tuple[str, ...]]:
        """List the tags of each book that has some, by its id."""
        return self._loop.run(self._library.tags())

    def tag(self, name: str, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> tuple[str, ...]:
        """Add tags to a book and take others away. Returns the tags that it has then."""
        return self._loop.run(self._library.tag(name, add=add, remove=remove))

    def tagged(self, tags: Sequence[str], *, among: Sequence[str] | None = None) -> tuple[str, ...]:
        """List the ids of the books that have at least one of these tags, as `books` takes them.

        Raises for a tag that no book has. With `among`, the library behaves as if it had only these books.
        """
        return self._loop.run(self._library.tagged(tags, among=among))

    def contents(self, name: str) -> list[Section]:
        """List the sections of a book in reading order."""
        return self._loop.run(self._library.contents(name))

    def section(self, name: str, section_id: str) -> Section:
        """Find a section of a book, with its text and its markup."""
        return self._loop.run(self._library.section(name, section_id))

    def image(self, name: str, image: str) -> bytes:
        """Return a picture of a book by the name that its markup has for it: PNG, JPEG, GIF, WebP or SVG."""
        return self._loop.run(self._library.image(name, image))

    def page(self, name: str, number: int, *, width: int = PAGE_WIDTH) -> bytes:
        """Draw a page of a PDF as it is printed, as a PNG of this width. `number` counts from 1."""
        return self._loop.run(self._library.page(name, number, width=width))

    def pages(self, name: str, section_id: str, *, start: int = 0, end: int = 0) -> tuple[PrintedPage, ...]:
        """List the pages of a section of a PDF, with boxes around its characters from `start` to `end`."""
        return self._loop.run(self._library.pages(name, section_id, start=start, end=end))

    def map(self, name: str, *, up_to: str | None = None, limit: int = MAP_DEFAULT) -> BookMap:
        """Map a book: its people, places, things and terms, `limit` of each, and a gist of each chapter.

        With `up_to` (a section, or a page like `p. 12`), the map is made from what comes before its end.
        """
        return self._loop.run(self._library.map(name, up_to=up_to, limit=limit))

    def look_up(
        self, name: str, wanted: str, *, up_to: str | None = None, mentions: int = MENTIONS_DEFAULT
    ) -> EntityDetails:
        """Look up a name or a term in the map of a book: where it is introduced, defined and mentioned."""
        return self._loop.run(self._library.look_up(name, wanted, up_to=up_to, mentions=mentions))

    def open_map(self, book: Book, *, up_to: str | None = None) -> MapDescriber:
        """Open the map of a book, to ask it for mentions, definitions and gists."""
        return self._loop.run(self._library.open_map(book, up_to=up_to))

    def build_map(self, name: str) -> int:
        """Prepare the map of a book that an older Octavo added; return how many sections were new to it."""
        return self._loop.run(self._library.build_map(name))

    def gaps(self, name: str, *, weeks: int = WEEKS_DEFAULT, limit: int = GAPS_DEFAULT) -> GapReport:
        """Report what readers asked a book in the last weeks and did not get, the most wanted first."""
        return self._loop.run(self._library.gaps(name, weeks=weeks, limit=limit))

    def evaluate(
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
        return self._loop.run(self._library.evaluate(name, questions, limit=limit, on_answer=on_answer))

    def edit(
        self, name: str, *, title: str | None = None, base_url: str | None = None, cover: bytes | None = None
    ) -> Book:
        """Change the title, the web address or the cover of a book; what is None stays as it is.

        An empty `base_url` or `cover` takes it away. Ids, passages and citations stay the same.
        """
        return self._loop.run(self._library.edit(name, title=title, base_url=base_url, cover=cover))

    def remove(self, name: str) -> Book:
        """Remove a book from the library, with everything that was stored of it."""
        return self._loop.run(self._library.remove(name))

    def search(
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
        return self._loop.run(
            self._library.search(query, book_id=book_id, scope=scope, top_k=top_k, books=books, rerank=rerank)
        )

    def ask(
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
        return self._loop.run(
            self._library.ask(
                question,
                book_id=book_id,
                scope=scope,
                selected_text=selected_text,
                session_id=session_id,
                top_k=top_k,
                books=books,
            )
        )

    def retrieve(
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
        return self._loop.run(
            self._library.retrieve(query, context, top_k=top_k, embeddings=embeddings, books=books)
        )

    def stream(
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
    ) -> Iterator[AskEvent]:
        """Do what `ask` does, step by step. The last event is `Answered`.

        Call `library.conversations.deliver(answer)` when the reader has the answer, to complete its trace.
        With `books`, the library behaves as if it had only these. With `owner`, the question and its session
        are theirs. A `Question` brings all the rest with it, and the other arguments are not looked at.
        """
        return self._loop.iterate(
            self._library.stream(
                question,
                book_id=book_id,
                scope=scope,
                selected_text=selected_text,
                session_id=session_id,
                top_k=top_k,
                books=books,
                owner=owner,
            )
        )

    def as_tool(
        self, *, name: str = TOOL_NAME, books: Sequence[str] | None = None, top_k: int = TOP_K_DEFAULT
    ) -> FunctionTool:
        """Make a function tool for the OpenAI Agents SDK that searches this library while it is open.

        With `books`, the tool finds nothing in others. `top_k` is how many passages it returns.
        """
        return self._library.as_tool(name=name, books=books, top_k=top_k)

    def prune(self, *, days: int | None = None) -> int:
        """Delete the questions and answers that are older than `days`, by default as the settings say.

        Returns how many questions were deleted. What the gap report has kept long enough is deleted too.
        """
        return self._loop.run(self._library.prune(days=days))

    def session(self, session_id: str | None = None) -> Session:
        """Return the conversation with this id and everything in it, or start a new one."""
        return self._loop.run(self._library.session(session_id))

    def verify(self, answer_id: str | None = None) -> list[Verdict]:
        """Compare the citations of one answer, or of all, with the stored text, letter for letter.

        Without `answer_id`, also compare all that readers see of the books with the digests that were saved
        when they were published. A book that was changed has a verdict under its own id.
        """
        return self._loop.run(self._library.verify(answer_id))

    def check(self, claim: str, passages: Sequence[str]) -> Support:
        """Check whether passages, wherever they come from, support a claim."""
        return self._loop.run(self._library.check(claim, passages))

    def prepare(self) -> None:
        """Open everything that the first search would otherwise open."""
        self._loop.run(self._library.prepare())

    def check_health(self) -> None:
        """Raise unless the records and the store respond."""
        self._loop.run(self._library.check_health())

    def check_store(self, *, per_minute: int = 0) -> StoreCheck:
        """Compare every passage of the store with the records, and mend it. `per_minute` 0 is no limit."""
        return self._loop.run(self._library.check_store(per_minute=per_minute))

    def compact(self) -> bool:
        """Rewrite a large store, if it is worth it, so that searching stays cheap. Return whether it was."""
        return self._loop.run(self._library.compact())

    def examine(
        self, *, repair: bool = False, treatment: str = "", on_event: OnEvent | None = None
    ) -> list[Finding]:
        """Examine the whole library, after the treatment `repair`, `rebuild` or `drop-unknown`.

        `rebuild` reads books back into the records that only the store still has. Other calls wait.
        """
        return self._loop.run(self._library.examine(repair=repair, treatment=treatment, on_event=on_event))

    def describe(self, wanted: Scope, *, book_id: str | None = None) -> str:
        """Describe in words what a scope names. Raises if it names nothing."""
        return self._loop.run(self._library.describe(wanted, book_id=book_id))


def retrieve(
    query: str | Question,
    context: Context | None = None,
    *,
    data: str | Path | None = None,
    top_k: int | None = None,
    embeddings: bool = False,
) -> Retrieval:
    """Open the library in folder `data`, and find passages for a query in its context."""
    with Library.open(data) as library:
        return library.retrieve(query, context, top_k=top_k, embeddings=embeddings)
