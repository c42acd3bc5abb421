"""The `chat` command: questions one after the other; a line that starts with a slash is a command.

Waiting for input does not block the event loop. Ctrl-C stops the answer that is being made. While there is
none, it ends the conversation at once, and the conversation is saved.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import IO, TYPE_CHECKING, Any

import click

from octavo.cli.ask import (
    add_scope_options,
    answer_question,
    describe_place,
    find_session_id,
    make_scope,
    show_answer,
)
from octavo.cli.common import GroupOptions, add_common_options, run_with_library, show_json
from octavo.types import Question, Scope

if TYPE_CHECKING:
    from octavo.events import Answered
    from octavo.library import Library

COMMANDS = """/scope SECTION        search only there; also /scope page 12, /scope up to SECTION
/scope                search everywhere again
/sources              show the passages that the last answer quotes
/quit                 end the conversation"""


@click.command(short_help="Ask one question after another; follow-up questions work.")
@add_scope_options
@click.option("--session", "session_id", help="Continue an earlier conversation.")
@add_common_options
def chat(
    context: GroupOptions,
    book_id: str | None,
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
    """
    start = make_scope(section, page, up_to)

    async def work(library: Library) -> None:
        known = await find_session_id(library, session_id) if session_id else None
        session = await library.conversations.start_session(known)
        click.secho(f"Session {session.session_id}. /quit ends it.", dim=True, err=True)
        try:
            await Chat(library, session.session_id, book_id, start, as_json=as_json).run()
        finally:
            await library.conversations.end_session(session.session_id)

    run_with_library(context, data, work)


class Chat:
    """One conversation."""

    def __init__(
        self, library: Library, session_id: str, book_id: str | None, scope: Scope | None, *, as_json: bool
    ) -> None:
        self._library, self._session_id, self._book_id, self._scope = library, session_id, book_id, scope
        self._as_json = as_json
        self._lines = InputLines(sys.stdin)
        self._last: Answered | None = None

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
        click.echo("\n> ", nl=False, err=True)
        line = await self._lines.read()
        return None if line is None or line.strip() in ("/quit", "/exit") else line.strip()

    async def _run_command(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        if name == "/scope":
            wanted = parse_scope(rest)
            where = await self._library.describe(wanted, book_id=self._book_id) if wanted else "everything"
            self._scope = wanted
            click.echo(f"Searching in {where}.", err=True)
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
            book_id=self._book_id,
            scope=self._scope or Scope(),
            session_id=self._session_id,
        )
        self._last = await answer_question(self._library, asked, quiet=self._as_json)
        if self._as_json:
            show_json(AnsweredJson.from_event(self._last))
        else:
            show_answer(self._last)


def parse_scope(words: str) -> Scope | None:
    """Read the words after /scope; return None if there are none."""
    words = words.strip()
    for lead, place in (("page ", 1), ("up to ", 2)):
        if words.casefold().startswith(lead):
            rest = words[len(lead) :].strip()
            return make_scope(None, *((rest, None) if place == 1 else (None, rest)))
    return make_scope(words or None, None, None)


class InputLines:
    """Reads lines of a terminal, a pipe or a file without blocking the event loop."""

    def __init__(self, source: IO[Any]) -> None:
        self._source, self._waiting, self._ended = source, b"", False

    async def read(self) -> str | None:
        """Return the next line without its line end, or None after the last."""
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
