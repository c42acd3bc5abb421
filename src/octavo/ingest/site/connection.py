"""One request to a web site, sent to an address that was checked.

The name of the host is resolved here, every address is checked, and the connection goes to a checked one. So
no answer of a name server and no redirect leads to this machine or into its network, unless private sites
are allowed. Redirects are returned, not followed.
"""

from __future__ import annotations

import asyncio
import http.client
import ipaddress
import socket
import ssl
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from octavo.errors import BadBook
from octavo.ingest.site.robots import AGENT
from octavo.limits import MB, SiteLimits

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# Everything outside is reserved, or wraps an IPv4 address in a way that is out of use.
_PUBLIC_IPV6 = ipaddress.ip_network("2000::/3")
_PIECE = 1 << 16
_HEADERS = {
    "User-Agent": AGENT,
    "Accept": "text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.1",
    # Nothing is sent packed, so nothing unpacks to more than it is.
    "Accept-Encoding": "identity",
    "Connection": "close",
}


class RequestFailed(Exception):
    """No usable reply. `wait` is the least time in seconds until the next try makes sense; None for never."""

    def __init__(self, message: str, *, wait: float | None = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


@dataclass(frozen=True, slots=True)
class Reply:
    """What a site answered. The names of `headers` are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def get(self, name: str) -> str:
        return self.headers.get(name, "")


def is_public(text: str) -> bool:
    """Whether an IP address is one of the public internet, also when it is wrapped in another."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64:
            return is_public(str(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)))
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo and address.teredo[1])
        if inner:
            return is_public(str(inner))
        if address not in _PUBLIC_IPV6:
            return False
    return address.is_global and not address.is_multicast


async def request(address: str, headers: Mapping[str, str], *, limits: SiteLimits, private: bool) -> Reply:
    """Send a GET request, and return the reply or raise `RequestFailed`."""
    call = _Call(address, headers, limits, private)
    # A thread of its own: the shared ones are for work on this machine, and a slow site would hold them up.
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="octavo-site")
    try:
        async with asyncio.timeout(limits.page_seconds):
            return await asyncio.get_running_loop().run_in_executor(thread, call.run)
    except TimeoutError:
        raise RequestFailed(f"no answer within {limits.page_seconds:g} s") from None
    finally:
        call.stop()
        thread.shutdown(wait=False)


class _Call:
    """A request that runs in a thread and can be stopped from another."""

    def __init__(self, address: str, headers: Mapping[str, str], limits: SiteLimits, private: bool) -> None:
        self._parts = urlsplit(address)
        self._headers, self._limits, self._private = {**_HEADERS, **headers}, limits, private
        self._socket: socket.socket | None = None
        self._stopped = False
        self._until = time.monotonic() + limits.page_seconds

    def stop(self) -> None:
        self._stopped = True
        if self._socket is not None:
            with suppress(OSError):
                # The method of a TLS socket would also take the encryption away from the thread that reads.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def run(self) -> Reply:
        parts = self._parts
        secure = parts.scheme == "https"
        host, port = parts.hostname or "", parts.port or (443 if secure else 80)
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(host, port, timeout=self._limits.page_seconds)
        try:
            connection.sock = self._connect(host, port, secure=secure)
            target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
            connection.request("GET", target, headers=self._headers)
            return self._read(connection.getresponse())
        except (OSError, http.client.HTTPException) as failed:
            raise RequestFailed(str(failed) or type(failed).__name__) from None
        finally:
            connection.close()

    def _connect(self, host: str, port: int, *, secure: bool) -> socket.socket:
        failed: OSError | None = None
        for place in self._find_places(host, port):
            try:
                opened = socket.create_connection((place, port), timeout=self._find_time_left())
            except OSError as error:
                failed = error
                continue
            try:
                return self._prepare(opened, host if secure else None)
            except BaseException:
                opened.close()
                raise
        raise RequestFailed(f"cannot connect: {failed}")

    def _prepare(self, opened: socket.socket, secure_host: str | None) -> socket.socket:
        """Make a connection one that can be stopped, and encrypt it for the host."""
        if secure_host is None:
            self._socket = opened
            self._find_time_left()
            return opened
        context = ssl.create_default_context()
        # This takes the connection away from `opened`. So `stop` must know the new one before it waits.
        wrapped = context.wrap_socket(opened, server_hostname=secure_host, do_handshake_on_connect=False)
        self._socket = wrapped
        try:
            self._find_time_left()
            wrapped.do_handshake()
        except BaseException:
            wrapped.close()
            raise
        return wrapped

    def _find_time_left(self) -> float:
        left = self._until - time.monotonic()
        if self._stopped or left <= 0:
            raise RequestFailed(f"no answer within {self._limits.page_seconds:g} s")
        return left

    def _find_places(self, host: str, port: int) -> list[str]:
        """Resolve a host, and return the addresses that may be used."""
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise RequestFailed(f"the name {host} cannot be resolved ({error})") from None
        places = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        allowed = places if self._private else [place for place in places if is_public(place)]
        if not allowed:
            raise BadBook(
                "private_address",
                f"{host} is at {', '.join(places[:3])}, an address of this machine or of a private network",
            )
        return allowed

    def _read(self, response: http.client.HTTPResponse) -> Reply:
        headers = {name.lower(): value for name, value in response.getheaders()}
        most, pieces, size = self._limits.page_mb * MB, [], 0
        # `read1` returns what has arrived; `read` would wait until a whole piece is there.
        while piece := response.read1(_PIECE):
            self._find_time_left()
            size += len(piece)
            if size > most:
                raise RequestFailed(f"it is larger than {self._limits.page_mb} MB", wait=None)
            pieces.append(piece)
        return Reply(response.status, headers, b"".join(pieces))
