"""Who is asking, and what they may do.

On a loopback address the service is open: whoever sits at the machine may do everything. Anywhere else,
or when the settings say so, every route but the health checks needs a key. A route names the scope it
needs and gets a `Caller`; the books of a restricted key are all the books there are for it. What belongs
to another caller looks exactly like what does not exist.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from octavo.errors import AccessDenied, TooMany
from octavo.library import Library
from octavo.records.idempotency import IdempotentRequests
from octavo.records.keys import SCOPES, Key, Keyring, deny_access, parse_origin
from octavo.records.rate_limits import RateLimiter
from octavo.settings import Settings
from octavo.types import Book

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
RELAYED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
"""What a proxy adds to the requests that it passes on."""
BEARER = HTTPBearer(
    scheme_name="key",
    bearerFormat="octv_<id>_<secret>",
    description="A key made by `octavo keys create`. A service on a loopback address needs none.",
    auto_error=False,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks. `owner` is the id of the key, and "" for whoever uses an open service."""

    owner: str = ""
    scopes: tuple[str, ...] = SCOPES
    books: tuple[str, ...] | None = None
    public: bool = False
    address: str = ""

    @property
    def who(self) -> str:
        """Whose limits count: a key's, each visitor's where a site shares one, else an address's."""
        return self.alone or self.address

    @property
    def alone(self) -> str:
        """Like `owner`, but visitors who share a public key are told apart by their addresses."""
        return f"{self.owner} {self.address}" if self.public else self.owner

    def may(self, scope: str) -> bool:
        return scope in self.scopes or "admin" in self.scopes

    def reads(self, book: Book) -> bool:
        return self.books is None or book.id in self.books


class Gate:
    """The door of one running service: its keys, its rates, and the streams that are open."""

    def __init__(self, library: Library, *, open_here: bool) -> None:
        self.settings: Settings = library.settings
        self.keyring = Keyring(library.database)
        self.throttle = RateLimiter(library.database)
        self.repeats = IdempotentRequests(library.database)
        self.open_here = open_here
        self._streams: Counter[str] = Counter()

    async def admit(
        self, token: str | None, *, address: str, origin: str | None, inside: bool, relayed: bool = False
    ) -> Caller:
        """The caller with this key from this address.

        `inside` is true for a page of the service itself, `relayed` for what came through a proxy: whoever
        speaks through one does not sit at this machine. Only who says outright that no keys are required
        leaves it to the proxy to ask.
        """
        local = is_loopback(address) and not relayed
        if token is None and self.open_here and (local or self.settings.keys_required is False):
            return Caller(address=address)
        if token is None:
            raise deny_access()
        key = await self._checked(token, address)
        if key.public and not inside and origin not in key.origins:
            raise AccessDenied(
                "this key is for the pages of other sites", code="forbidden", hint="Make a key of your own."
            )
        service = self.settings.service
        limit = key.per_minute or service.requests_per_minute
        caller = Caller(owner=key.id, scopes=key.scopes, books=key.books, public=key.public, address=address)
        if key.public:  # first, so that one visitor's excess is not counted against all the others
            await self.throttle.take("requests", caller.alone, per_minute=service.public_per_minute)
        await self.throttle.take("requests", key.id, per_minute=limit)
        return caller

    async def _checked(self, token: str, address: str) -> Key:
        """A wrong key counts against its address; a right one is never held up by wrong ones."""
        try:
            return await self.keyring.check(token)
        except AccessDenied:
            most = self.settings.service.wrong_keys_per_minute
            await self.throttle.take("wrong keys", address, per_minute=most)
            raise

    async def knows_origin(self, origin: str) -> bool:
        """Whether pages of that origin may read what the service says."""
        return origin in self.settings.origins or origin in await self.keyring.list_origins()

    @contextmanager
    def stream(self, caller: Caller) -> Iterator[None]:
        """Around a stream of events; raises when the caller has its share of them already."""
        most = self.settings.service.streams
        if self._streams[caller.who] >= most:
            raise TooMany(
                f"{most} streams are open already", retry_after=1.0, hint="Close one, or wait for its end."
            )
        self._streams[caller.who] += 1
        try:
            yield
        finally:
            self._streams[caller.who] -= 1
            if not self._streams[caller.who]:
                del self._streams[caller.who]


def is_loopback(host: str) -> bool:
    """Whether an address, or the name of one, is this machine's own."""
    if host == "localhost":
        return True
    try:
        found = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return bool((mapped or found).is_loopback)


def address_of(client: tuple[str, int] | None) -> str:
    """What one client is counted under: its address, or its network where that is a single home's."""
    if client is None:
        return "127.0.0.1"  # a socket of this machine
    try:
        found = ipaddress.ip_address(client[0])
    except ValueError:
        return client[0][:48]  # a proxy may call it what it likes
    if isinstance(found, ipaddress.IPv6Address) and not found.is_loopback:
        mapped = found.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)


async def library_of(request: Request) -> Library:  # async: a plain function would be run in a thread
    library: Library = request.app.state.library
    return library


def gate_of(request: Request) -> Gate:
    gate: Gate = request.app.state.gate
    return gate


async def _the_gate(request: Request) -> Gate:
    return gate_of(request)


async def caller_of(
    request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)]
) -> Caller:
    gate = gate_of(request)
    origin = request.headers.get("origin")
    host = request.headers.get("host", "")
    inside = (
        parse_origin(origin) in (f"http://{host}", f"https://{host}") if origin else _from_inside(request)
    )
    client = (request.client.host, request.client.port) if request.client else None
    token = given.credentials if given else None
    relayed = any(name in request.headers for name in RELAYED)
    address = address_of(client)
    caller = await gate.admit(token, address=address, origin=origin, inside=inside, relayed=relayed)
    stranger = origin is not None and not inside and origin not in gate.settings.origins
    if not caller.owner and stranger and request.method not in SAFE:
        raise AccessDenied(
            "a page of another site may not use an open service",
            code="forbidden",
            hint="Name the site in OCTAVO_ORIGINS.",
        )
    request.state.caller = caller
    return caller


def _from_inside(request: Request) -> bool:
    return request.headers.get("sec-fetch-site") == "same-origin"


def may(scope: str) -> Callable[[Caller], Awaitable[Caller]]:
    """A dependency: the caller, if its key has this scope."""

    async def allowed(caller: Annotated[Caller, Depends(caller_of)]) -> Caller:
        if not caller.may(scope):
            raise AccessDenied(
                f"this key may not do this: it lacks the scope `{scope}`",
                code="forbidden",
                hint=f"`octavo keys create --scope {scope}` makes one that may.",
            )
        return caller

    return allowed


TheLibrary = Annotated[Library, Depends(library_of)]
TheGate = Annotated[Gate, Depends(_the_gate)]
Anyone = Annotated[Caller, Depends(caller_of)]
Asking = Annotated[Caller, Depends(may("ask"))]
Ingesting = Annotated[Caller, Depends(may("ingest"))]
Admin = Annotated[Caller, Depends(may("admin"))]
