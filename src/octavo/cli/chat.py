"""The `chat` command: questions one after the other; a line that starts with a slash is a command.

On a terminal, a line can be edited, and the arrow keys bring back earlier questions of the conversation.
Otherwise waiting for input does not block the event loop. Ctrl-C stops the answer that is being made. While
there is none, it ends the conversation at once, and the conversation is saved.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import sys
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any

import click

from octavo.cli.ask import (
    add_scope_options,
    answer_question,
    choose_books,
    describe_place,
    find_session_id,
    make_scope,
    show_answer,
)
from octavo.cli.common import GroupOptions, add_common_options, run_with_library, show_json
from octavo.types import Question, Scope, ScopeType

if TYPE_CHECKING:
    from octavo.events import Answered
    from octavo.library import Library

HISTORY_MOST = 200
COMMANDS = """/scope SECTION        search only there; also /scope page 12, /scope up to SECTION
/scope                search everywhere again
/sources              show the passages that the last answer quotes
/quit                 end the conversation"""


@click.command(short_help="Ask one question after another; follow-up questions work.")
@add_scope_options
@click.option(
    "--session", "session_id", help="Continue an earlier conversation, by its id; 'last' is the newest."
)
@add_common_options
def chat(
    context: GroupOptions,
    names: tuple[str, ...],
    tags: tuple[str, ...],
    section: str | None,
    page: str | None,
    up_to: str | None,
    session_id: str | None,
    data: str | None,
    as_json: bool,
) -> None:
    """Ask one question after another; follow-up questions refer to what came before.

    Commands: /scope SECTION narrows the search (also /scope page 12, /scope up to SECTION), /scope alone
    widens it, /sources shows the quoted passages, /quit ends the conversation.

    \b
      octavo chat --book moby-dick
      octavo chat --session last
    """
    start = make_scope(section, page, up_to)

    async def work(library: Library) -> None:
        known = await find_session_id(library, session_id) if session_id else None
        book_id, books = await choose_books(library, names, tags)
        session = await library.conversations.start_session(known)
        click.secho(f"Session {session.session_id}. /quit ends it.", dim=True, err=True)
        try:
            talk = Chat(library, session.session_id, book_id, start, books=books, as_json=as_json)
            await talk.resume()
            await talk.run()
        finally:
            await library.conversations.end_session(session.session_id)

    run_with_library(context, data, work)


class Chat:
    """One conversation."""

    def __init__(
        self,
        library: Library,
        session_id: str,
        book_id: str | None,
        scope: Scope | None,
        *,
        as_json: bool,
        books: Sequence[str] | None = None,
    ) -> None:
        self._library, self._session_id, self._book_id, self._scope = library, session_id, book_id, scope
        self._books, self._as_json = books, as_json
        self._lines = EditedLines() if EditedLines.are_possible() else InputLines(sys.stdin)
        self._last: Answered | None = None
        # The book that a scope of the conversation is in, where no book was named.
        self._scope_book: str | None = None

    async def resume(self) -> None:
        """Bring back the questions of the conversation and where it searched, and show where it stopped.

        A book or a part of one that is named now is searched instead of the one before.
        """
        turns = await self._library.conversations.list_turns(self._session_id, most=HISTORY_MOST)
        if isinstance(self._lines, EditedLines):
            self._lines.remember([question for question, _ in turns])
        if self._book_id is None and self._books is None and self._scope is None:
            await self._search_as_before()
        if turns:
            click.secho(f"Last question: {turns[-1][0]}\n{turns[-1][1]}", dim=True, err=True)

    async def _search_as_before(self) -> None:
        """Search in the book and the part of it that the last question was about, if they are still there."""
        from octavo.errors import CallerError

        asked = [
            entry.question for entry in await self._library.conversations.list_exchanges(self._session_id)
        ]
        if not asked:
            return
        book_id, before = asked[-1].book_id, asked[-1].scope
        # What a reader selected is not kept for the next question either.
        scope = None if before.identifier is None or before.type is ScopeType.SELECTION else before
        if book_id is None and scope is None:
            return
        try:
            where = await self._library.describe(scope or Scope(), book_id=book_id)
        except CallerError:
            return
        self._scope, self._scope_book = scope, book_id
        if was_book_named(asked):
            self._book_id = book_id
        click.secho(_say_where(where), dim=True, err=True)

    async def run(self) -> None:
        from octavo.answers.followups import is_small_talk
        from octavo.errors import CallerError

        while (line := await self._read_line()) is not None:
            try:
                if line.startswith("/"):
                    await self._run_command(line)
                elif is_small_talk(line):
                    click.echo("Ask something about the book, or /quit.", err=True)
                elif line:
                    await self._ask_until_stopped(line)
            except CallerError as error:
                click.echo(f"{error.message}\n  {error.hint}", err=True)

    async def _read_line(self) -> str | None:
        line = await self._lines.read()
        return None if line is None or line.strip() in ("/quit", "/exit") else line.strip()

    async def _run_command(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        if name == "/scope":
            wanted = parse_scope(rest)
            quoted = self._book_id or self._find_quoted_book()
            if wanted or self._book_id:
                where = await self._library.describe(wanted or Scope(), book_id=quoted)
            else:
                where = "everything" if self._books is None else "the chosen books"
            self._scope, self._scope_book = wanted, quoted
            click.echo(_say_where(where), err=True)
        elif name == "/sources" and self._last is not None:
            for citation in self._last.answer.citations:
                click.echo(
                    f"[{citation.number}] {describe_place(citation)}\n    “{citation.content_snippet}”"
                )
        else:
            click.echo(COMMANDS, err=True)

    async def _ask_until_stopped(self, question: str) -> None:
        """Ask a question. Ctrl-C stops the answer and not the conversation."""
        asking = asyncio.ensure_future(self._ask(question))
        loop, before = asyncio.get_running_loop(), signal.getsignal(signal.SIGINT)
        stopped = asyncio.Event()

        def stop() -> None:
            stopped.set()
            asking.cancel()

        loop.add_signal_handler(signal.SIGINT, stop)
        try:
            await asking
        except asyncio.CancelledError:
            if not stopped.is_set():
                raise
            click.echo("\nStopped. Ask something else, or /quit.", err=True)
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            signal.signal(signal.SIGINT, before)

    async def _ask(self, question: str) -> None:
        from octavo.schemas import AnsweredJson

        asked = Question(
            content=question,
            book_id=self._book_id or (self._scope_book if self._scope else None),
            scope=self._scope or Scope(),
            session_id=self._session_id,
            user_preferences=self._prefer_book(question),
        )
        self._last = await answer_question(self._library, asked, books=self._books, quiet=self._as_json)
        if self._as_json:
            show_json(AnsweredJson.from_event(self._last))
        else:
            show_answer(self._last)

    def _find_quoted_book(self) -> str | None:
        """Return the book that the conversation is about: the only one that the last answer quotes."""
        quoted = self._last.answer.book_ids if self._last else ()
        return next(iter(quoted)) if len(quoted) == 1 else self._scope_book

    def _prefer_book(self, question: str) -> dict[str, object]:
        """Prefer the books that the last answer quotes, if the question follows up on it."""
        from octavo.answers.followups import interpret
        from octavo.answers.turns import Turn

        if self._last is None or self._book_id is not None or not self._last.answer.book_ids:
            return {}
        before = Turn(self._last.interpreted, self._last.answer.content)
        if interpret(question, [before]) == question:
            return {}
        return {"books": sorted(self._last.answer.book_ids)}


def _say_where(where: str) -> str:
    """Say where it searches. The title of a section may end with a full stop of its own."""
    return f"Searching in {where.removesuffix('.')}."


def was_book_named(asked: Sequence[Question]) -> bool:
    """Whether the book of the last question was named with --book, and not taken from an answer.

    A part of a book can be in the book that the answer before quotes. Then a question before it names no
    book.
    """
    book_id = asked[-1].book_id
    for question in reversed(asked):
        if question.book_id != book_id:
            return question.book_id is not None
        if question.scope.identifier is None:
            break
    return book_id is not None


def parse_scope(words: str) -> Scope | None:
    """Read the words after /scope; return None if there are none."""
    words = words.strip()
    for lead, place in (("page ", 1), ("up to ", 2)):
        if words.casefold().startswith(lead):
            rest = words[len(lead) :].strip()
            return make_scope(None, *((rest, None) if place == 1 else (None, rest)))
    return make_scope(words or None, None, None)


class EditedLines:
    """Reads lines of a terminal, which can be edited there. Arrow keys bring back earlier ones."""

    @staticmethod
    def are_possible() -> bool:
        """Whether somebody types and sees what is typed, and the machine can edit lines."""
        return importlib.util.find_spec("readline") is not None and all(
            stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)
        )

    def remember(self, lines: Sequence[str]) -> None:
        import readline

        for line in lines:
            readline.add_history(line)

    async def read(self) -> str | None:
        """Return the next line without its line end, or None after the last. Ctrl-C ends the conversation."""
        import readline  # noqa: F401 - `input` edits lines once this is loaded

        # The event loop would only take note of a Ctrl-C, and `input` would go on waiting.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return input("\n> ")  # noqa: ASYNC250 - nothing else is to be done meanwhile
        except EOFError:
            return None
        finally:
            signal.signal(signal.SIGINT, before)


class InputLines:
    """Reads lines of a pipe, a file or a plain terminal without blocking the event loop."""

    def __init__(self, source: IO[Any]) -> None:
        self._source, self._waiting, self._ended = source, b"", False

    async def read(self) -> str | None:
        """Ask for the next line and return it without its line end, or None after the last."""
        click.echo("\n> ", nl=False, err=True)
        while b"\n" not in self._waiting and not self._ended:
            data = await self._read()
            self._waiting += data
            self._ended = not data
        if not self._waiting:
            return None
        line, _, self._waiting = self._waiting.partition(b"\n")
        return line.decode("utf-8", "replace")

    async def _read(self) -> bytes:
        try:
            file = self._source.fileno()
        except OSError:
            # A text in memory.
            return str(self._source.read()).encode()
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        try:
            loop.add_reader(file, _set_ready, ready)
        except PermissionError:
            # A plain file is always ready and cannot be waited for.
            return os.read(file, 65_536)
        try:
            await ready
        finally:
            loop.remove_reader(file)
        return os.read(file, 65_536)


def _set_ready(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
