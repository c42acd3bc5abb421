"""A library that another process serves: what needs its store is done there, the rest here.

The catalogue, the conversations and the keys are in the records, which several processes can open. Searching,
asking, adding and removing need the store, which the service has open, so they are sent to its socket.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from octavo import __version__
from octavo.errors import InvalidValue, LibraryBusy, MachineError
from octavo.ingest.site import is_web_address
from octavo.library import SEARCH_DEFAULT, Library, OnEvent
from octavo.schemas.wire import pack, unpack
from octavo.store.service_socket import MESSAGE_MOST, locate_socket
from octavo.types import TOP_K_DEFAULT, Question

if TYPE_CHECKING:
    from octavo.events import AskEvent, Compared
    from octavo.ingest.context import LibraryContext
    from octavo.maintenance.doctor import Finding
    from octavo.records.options import BookOptions
    from octavo.store.qdrant_import import Source
    from octavo.types import Book, Evidence, Scope


class RemoteLibrary(Library):
    """Does what a library does, through the service that has it open."""

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
        arguments = {"query": query, "book_id": book_id, "scope": scope, "top_k": top_k, "rerank": rerank}
        found: list[Evidence] = await self._call("search", {**arguments, "books": _as_list(books)})
        return found

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
        arguments = {
            "question": question,
            "book_id": book_id,
            "scope": scope,
            "selected_text": selected_text,
            "session_id": session_id,
            "top_k": top_k,
            "books": _as_list(books),
            "owner": owner,
        }
        async with self._send("stream", arguments) as replies:
            async for kind, value in replies:
                if kind == "event":
                    yield value

    async def ingest(self, path: str | Path, options: BookOptions, on_event: OnEvent | None = None) -> Book:
        arguments = {"path": _locate(path), "options": options}
        book: Book = await self._call("ingest", arguments, on_event)
        return book

    async def attach(
        self, source: Source, *, options: BookOptions | None = None, on_event: OnEvent | None = None
    ) -> Book:
        book: Book = await self._call("attach", {"source": source, "options": options}, on_event)
        return book

    async def preview(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        base_url: str | None = None,
        book_id: str | None = None,
    ) -> Compared:
        arguments = {"path": _locate(path), "title": title, "base_url": base_url, "book_id": book_id}
        change: Compared = await self._call("preview", arguments)
        return change

    async def remove(self, name: str) -> Book:
        book: Book = await self._call("remove", {"name": name})
        return book

    async def examine(
        self, *, repair: bool = False, treatment: str = "", on_event: OnEvent | None = None
    ) -> list[Finding]:
        arguments = {"repair": repair, "treatment": treatment}
        findings: list[Finding] = await self._call("examine", arguments, on_event)
        return findings

    async def prepare(self) -> None:
        await self._call("prepare", {})

    async def compact(self) -> bool:
        compacted: bool = await self._call("compact", {})
        return compacted

    async def _context(self) -> LibraryContext:
        """Refuse what is not done through the service: only one process can open the store."""
        raise LibraryBusy(
            f"the library at {self.settings.data} is open in a running service, which cannot do this",
            hint="Stop the service first, or use its API.",
        )

    async def _call(self, method: str, arguments: dict[str, Any], on_event: OnEvent | None = None) -> Any:
        result = None
        async with self._send(method, arguments) as replies:
            async for kind, value in replies:
                if kind == "result":
                    result = value
                elif on_event:
                    on_event(value)
        return result

    @asynccontextmanager
    async def _send(
        self, method: str, arguments: dict[str, Any]
    ) -> AsyncIterator[AsyncGenerator[tuple[str, Any], None]]:
        """Send a call, and yield its events and its result. Closing it early cancels the call."""
        place = str(locate_socket(self.settings.data))
        try:
            reader, writer = await asyncio.open_unix_connection(place, limit=MESSAGE_MOST)
        except OSError as failed:
            raise _describe_loss(failed) from failed
        try:
            writer.write(pack({"version": __version__, "method": method, "arguments": arguments}))
            async with aclosing(_read_replies(reader)) as replies:
                yield replies
        finally:
            writer.close()


async def _read_replies(reader: asyncio.StreamReader) -> AsyncGenerator[tuple[str, Any], None]:
    while True:
        try:
            line = await reader.readline()
            ((kind, value),) = unpack(line).items()
        except (OSError, ValueError) as lost:
            raise _describe_loss(lost) from lost
        if kind == "error":
            raise value
        yield kind, value
        if kind == "result":
            return


def _describe_loss(error: Exception) -> MachineError:
    return MachineError(
        f"the running service went away in the middle of a call: {error}", hint="Run the command again."
    )


def _locate(path: str | Path) -> str:
    """Return a path as the service can find it, whose current folder is another one."""
    if isinstance(path, str) and is_web_address(path):
        return path
    if "\0" in str(path):
        raise InvalidValue("path", "must not contain a zero byte", str(path))
    return os.path.abspath(path)


def _as_list(books: Sequence[str] | None) -> list[str] | None:
    return None if books is None else list(books)
