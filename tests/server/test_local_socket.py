"""Commands of the same user use the library that a service has open: every value arrives as what it was."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from octavo.cli.remote import RemoteLibrary
from octavo.errors import BadBook, LibraryBusy, MachineError, NotFound
from octavo.events import IngestEvent, last
from octavo.library import Library
from octavo.records.options import BookOptions
from octavo.schemas.wire import pack
from octavo.server.local_socket import serve_socket
from octavo.settings import Settings
from octavo.store.service_socket import NAME, is_served, locate_socket
from octavo.testing import TinyEmbedder
from octavo.types import Question
from tests.support.small_books import write_markdown


@asynccontextmanager
async def serve(data: Path) -> AsyncIterator[tuple[Library, RemoteLibrary]]:
    """A library with its socket, and what a command sees of it."""
    settings = Settings(data=data, local_models=False)
    async with (
        Library.open(settings=settings, embedder=TinyEmbedder()) as library,
        serve_socket(library),
        RemoteLibrary.open(settings=settings) as remote,
    ):
        await library.prepare()
        assert isinstance(remote, RemoteLibrary)
        yield library, remote


async def test_what_comes_through_the_socket_is_what_the_library_gives(tmp_path: Path) -> None:
    # Too long for the path of a socket.
    data = tmp_path / ("deep" * 30)
    book, events = write_markdown(tmp_path / "tides.md"), list[IngestEvent]()
    async with serve(data) as (library, remote):
        added = await remote.ingest(book, BookOptions(), events.append)
        assert added == await library.book("the-tides")
        kinds = [event.kind for event in events if event.kind != "preparing"]
        assert kinds[0::3] == ["parsed", "storing"]
        assert await remote.search("northern pier") == await library.search("northern pier")
        answered = await last(remote.stream(Question(content="How far did the beam reach?")))
        recorded = await library.conversations.find_exchange(answered.answer.id)
        assert (answered.answer, answered.question) == (recorded.answer, recorded.question)
        assert (await remote.preview(book)).kept == added.section_count
        # The first examination leaves a note for those after it.
        await library.examine()
        here = {finding.what: finding.sound for finding in await library.examine()}
        assert {finding.what: finding.sound for finding in await remote.examine()} == here
        with pytest.raises(NotFound, match="'tide' here; the nearest are: the-tides") as missing:
            await remote.remove("tide")
        assert missing.value.hint
        with pytest.raises(BadBook) as refused:
            await remote.ingest(tmp_path / "nowhere.md", BookOptions())
        assert refused.value.code == "not_found"
        await remote.prepare()
        assert await remote.compact() is await library.compact()
        with pytest.raises(LibraryBusy, match="open in a running service, which cannot do this"):
            await remote.edit("the-tides", title="Tides")
    assert not is_served(data)


def test_a_socket_that_a_killed_service_left_misleads_nobody(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / NAME))
    assert (tmp_path / NAME).exists()
    assert not is_served(tmp_path)


async def test_who_is_not_understood_or_has_no_right_gets_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(tmp_path) as (_, remote):
        for said in (b"{}\n", b'{"class": "os:path"}\n', b"\n", b"x" * 100 + b"\n"):
            reader, writer = await asyncio.open_unix_connection(locate_socket(tmp_path))
            writer.write(said)
            assert await reader.read() == b""
            writer.close()
        reader, writer = await asyncio.open_unix_connection(locate_socket(tmp_path))
        writer.write(pack({"version": "0.0", "method": "books", "arguments": {}}))
        assert b"Restart the service" in await reader.read()
        writer.close()
        monkeypatch.setattr("octavo.server.local_socket.is_own", lambda _: False)
        with pytest.raises(MachineError, match="went away"):
            await remote.search("pier")
