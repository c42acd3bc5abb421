"""The conversation at the terminal: questions follow each other, a slash begins a command.

Waiting for the next line never blocks: Ctrl-C ends the conversation at once, and what was said is kept.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import IO, TYPE_CHECKING, Any

import click

from octavo.cli.ask import answer_question, scope_of, scoped, show_answer
from octavo.cli.common import Context, common, show_json, with_library
from octavo.types import Question, Scope

if TYPE_CHECKING:
    from octavo.events import Answered
    from octavo.library import Library

COMMANDS = """/scope SECTION        look only there; also /scope page 12, /scope up to SECTION
/scope                look everywhere again
/sources              the passages that the last answer quotes
/quit                 end the conversation"""


@click.command(short_help="Talk with your books: follow-up questions are understood.")
@scoped
@click.option("--session", "session_id", help="Go on with an earlier conversation.")
@common
def chat(
    context: Context,
    book_id: str | None,
    section: str | None,
    page: str | None,
    up_to: str | None,
    session_id: str | None,
    data: str | None,
    as_json: bool,
) -> None:
    """Talk with your books: follow-up questions are understood from what came before.

    In the conversation: /scope SECTION narrows (also /scope page 12, /scope up to SECTION), /scope alone
    widens, /sources shows the quoted passages, /quit ends.
    """
    start = scope_of(section, page, up_to)

    async def work(library: Library) -> None:
        session = await library.conversations.start_session(session_id)
        click.secho(f"Session {session.session_id}. /quit ends it.", dim=True, err=True)
        try:
            await Chat(library, session.session_id, book_id, start, as_json=as_json).run()
        finally:
            await library.conversations.end_session(session.session_id)

    with_library(context, data, work)


class Chat:
    """One conversation."""

    def __init__(
        self, library: Library, session_id: str, book_id: str | None, scope: Scope | None, *, as_json: bool
    ) -> None:
        self._library, self._session_id, self._book_id, self._scope = library, session_id, book_id, scope
        self._as_json = as_json
        self._lines = Lines(sys.stdin)
        self._last: Answered | None = None

    async def run(self) -> None:
        from octavo.errors import CallerError

        while (line := await self._line()) is not None:
            try:
                if line.startswith("/"):
                    await self._command(line)
                elif line:
                    await self._ask(line)
            except CallerError as error:
                click.echo(f"{error.message}\n  {error.hint}", err=True)

    async def _line(self) -> str | None:
        click.echo("\n> ", nl=False, err=True)
        line = await self._lines.next()
        return None if line is None or line.strip() in ("/quit", "/exit") else line.strip()

    async def _command(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        if name == "/scope":
            wanted = named(rest)
            where = await self._library.describe(wanted, book_id=self._book_id) if wanted else "everything"
            self._scope = wanted
            click.echo(f"Looking in {where}.", err=True)
        elif name == "/sources" and self._last is not None:
            for citation in self._last.answer.citations:
                click.echo(
                    f"[{citation.number}] {citation.source_location}\n    “{citation.content_snippet}”"
                )
        else:
            click.echo(COMMANDS, err=True)

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


def named(words: str) -> Scope | None:
    """The scope that somebody typed after /scope; None for none."""
    words = words.strip()
    for lead, place in (("page ", 1), ("up to ", 2)):
        if words.casefold().startswith(lead):
            rest = words[len(lead) :].strip()
            return scope_of(None, *((rest, None) if place == 1 else (None, rest)))
    return scope_of(words or None, None, None)


class Lines:
    """Lines of a terminal, a pipe or a file, without holding up the event loop."""

    def __init__(self, source: IO[Any]) -> None:
        self._source, self._waiting, self._ended = source, b"", False

    async def next(self) -> str | None:
        """The next line without its end; None after the last."""
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
        except OSError:  # a text in memory
            return str(self._source.read()).encode()
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        try:
            loop.add_reader(file, _set, ready)
        except PermissionError:  # a plain file is always ready, and cannot be waited for
            return os.read(file, 65_536)
        try:
            await ready
        finally:
            loop.remove_reader(file)
        return os.read(file, 65_536)


def _set(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
