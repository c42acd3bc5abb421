"""No name and no wrapping leads into a private network."""

from __future__ import annotations

import asyncio
import socket
import threading

import pytest

from octavo.concurrency import run_blocking
from octavo.errors import BadBook
from octavo.ingest.site.connection import is_public, request
from octavo.limits import SiteLimits
from tests.support.web_sites import Page, serve_site


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.215.14", True),
        ("2606:2800:21f:cb07::1", True),
        ("10.0.0.1", False),
        ("127.0.0.1", False),
        ("0.0.0.0", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::5db8:d70e", True),
        ("2002:7f00:1::", False),
        ("64:ff9b:1::7f00:1", False),
        ("fec0::1", False),
        ("::127.0.0.1", False),
        ("::ffff:0:7f00:1", False),
    ],
)
def test_an_address_is_public_or_not(address: str, public: bool) -> None:
    assert is_public(address) is public


async def test_the_connection_goes_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server that gives a public address first and a private one later gains nothing."""
    from octavo.ingest.site import connection

    resolved: list[str] = []

    def resolve(
        host: str, port: int, *_: object, **__: object
    ) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        resolved.append(host)
        return [(2, 1, 6, "", ("127.0.0.1", port))]

    def pretend(address: str) -> bool:
        return address == "127.0.0.1"

    with serve_site({"/": Page("hello")}) as site:
        port = int(site.url.rpartition(":")[2])
        monkeypatch.setattr("socket.getaddrinfo", resolve)
        with pytest.raises(BadBook, match=r"rebound\.example is at 127\.0\.0\.1"):
            await request(f"http://rebound.example:{port}/", {}, limits=SiteLimits(), private=False)
        monkeypatch.setattr(connection, "is_public", pretend)
        reply = await request(f"http://rebound.example:{port}/", {}, limits=SiteLimits(), private=False)
    assert reply.body == b"hello"
    # Once for the name in each request, and then only for the number that was checked.
    assert [name for name in resolved if name == "rebound.example"] == ["rebound.example"] * 2


async def test_a_request_that_is_stopped_hangs_up_in_the_middle_of_a_handshake() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"https://127.0.0.1:{server.getsockname()[1]}/"
        asking = asyncio.create_task(request(address, {}, limits=SiteLimits(), private=True))
        line, _ = await asyncio.to_thread(server.accept)
        with line:
            line.settimeout(10)
            assert await asyncio.to_thread(line.recv, 1 << 16)
            asking.cancel()
            assert await asyncio.to_thread(line.recv, 1 << 16) == b""


async def test_a_request_needs_none_of_the_shared_threads() -> None:
    done = threading.Event()
    others = [asyncio.create_task(run_blocking(done.wait, 60)) for _ in range(2)]
    await asyncio.sleep(0)
    try:
        with serve_site({"/": Page("hello")}) as site:
            reply = await request(site.url, {}, limits=SiteLimits(page_seconds=10), private=True)
    finally:
        done.set()
        await asyncio.gather(*others)
    assert reply.body == b"hello"
