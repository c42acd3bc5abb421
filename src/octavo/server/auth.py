"""Authentication: who is calling, and what they may do.

On a loopback address the service is open: any user of the machine may do everything. Anywhere else, or when
the settings say so, every route but the health checks needs a key. A route names the scope that it needs and
gets a `Caller`. A restricted key sees its own books and no others. What belongs to another caller looks
exactly like what does not exist.

A service with books for the public lets callers without a key ask and search these books, and nothing else:
only routes that take a `ReadCaller` let them in.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from octavo import validation
from octavo.errors import AccessDenied, MachineError, TooMany
from octavo.library import Library
from octavo.records.idempotency import IdempotentRequests
from octavo.records.keys import SCOPES, Key, Keyring, deny_access
from octavo.records.rate_limits import RateLimiter
from octavo.server.space import DiskSpace
from octavo.settings import Settings
from octavo.types import Book

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
PROXY_HEADERS = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
"""Headers that a proxy adds to the requests that it forwards."""
PUBLIC = "public"
"""The owner of what is asked without a key. No key has this id."""
ALL_BOOKS = "all"
BEARER = HTTPBearer(
    scheme_name="key",
    bearerFormat="octv_<id>_<secret>",
    description="A key made by `octavo keys create`. A service on a loopback address needs none.",
    auto_error=False,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who is calling. `owner` is the id of the key, and "" on a service that needs none."""

    owner: str = ""
    scopes: tuple[str, ...] = SCOPES
    books: tuple[str, ...] | None = None
    public: bool = False
    address: str = ""

    @property
    def limit_id(self) -> str:
        """What limits are counted by: the key, the visitor where a site shares one, else the address."""
        return self.visitor_id or self.address

    @property
    def visitor_id(self) -> str:
        """Like `owner`, but visitors who share a public key are distinguished by their addresses."""
        return f"{self.owner} {self.address}" if self.public else self.owner

    def has_scope(self, scope: str) -> bool:
        return scope in self.scopes or "admin" in self.scopes

    def can_read(self, book: Book) -> bool:
        return self.books is None or book.id in self.books


class AccessControl:
    """The access control of one running service: its keys, its rate limits, its open streams and uploads."""

    def __init__(self, library: Library, *, is_open: bool, public_books: tuple[str, ...] | None = ()) -> None:
        """`public_books` are the ids of the books that need no key; None stands for all."""
        self.settings: Settings = library.settings
        self.keyring = Keyring(library.database)
        self.throttle = RateLimiter(library.database)
        self.idempotency = IdempotentRequests(library.database)
        self.is_open, self._public_books = is_open, public_books
        self._streams: Counter[str] = Counter()
        self._uploads: Counter[str] = Counter()
        self.space = DiskSpace(library.settings.data, floor_mb=library.settings.free_space_mb)

    async def admit(
        self,
        token: str | None,
        *,
        address: str,
        origin: str | None,
        inside: bool,
        relayed: bool = False,
        reads: bool = False,
    ) -> Caller:
        """Find the caller with this key and address, and count the request against its limits.

        `reads` is true for a route that callers without a key may use for the books of the public.

        `inside` is true for a page of the service itself. `relayed` is true for a request that came through a
        proxy: its sender need not be a user of this machine, so a key is needed unless the settings say
        explicitly that none is.
        """
        local = is_loopback(address) and not relayed
        if token is None and self.is_open and (local or self.settings.keys_required is False):
            return Caller(address=address)
        if token is None and reads and self._public_books != ():
            return await self._admit_public(address)
        if token is None:
            raise deny_access()
        key = await self._check_key(token, address)
        if key.public and not inside and origin not in key.origins:
            raise AccessDenied(
                "this key is for the pages of other sites", code="forbidden", hint="Make a key of your own."
            )
        service = self.settings.service
        limit = key.per_minute or service.requests_per_minute
        caller = Caller(owner=key.id, scopes=key.scopes, books=key.books, public=key.public, address=address)
        # The visitor comes first, so that its excess is not counted against all the others.
        if key.public:
            await self.throttle.take("requests", caller.visitor_id, per_minute=service.public_per_minute)
        await self.throttle.take("requests", key.id, per_minute=limit)
        return caller

    async def _admit_public(self, address: str) -> Caller:
        """Admit a caller without a key to the books of the public. Each address has its limit, and all have
        one together.
        """
        service = self.settings.service
        caller = Caller(owner=PUBLIC, scopes=("ask",), books=self._public_books, public=True, address=address)
        await self.throttle.take("requests", caller.visitor_id, per_minute=service.public_per_minute)
        await self.throttle.take("requests", PUBLIC, per_minute=service.requests_per_minute)
        return caller

    async def _check_key(self, token: str, address: str) -> Key:
        """Check the key. A wrong one counts against its address and never delays a right one."""
        try:
            return await self.keyring.check(token)
        except AccessDenied:
            most = self.settings.service.wrong_keys_per_minute
            await self.throttle.take("wrong keys", address, per_minute=most)
            raise

    async def allows_origin(self, origin: str) -> bool:
        """Whether pages of that origin may read the service's responses."""
        return origin in self.settings.origins or origin in await self.keyring.list_origins()

    @contextmanager
    def hold_stream(self, caller: Caller) -> Iterator[None]:
        """Count an open stream of events; raise when the caller has too many."""
        most = self.settings.service.streams
        if self._streams[caller.limit_id] >= most:
            raise TooMany(
                f"{most} streams are open already", retry_after=1.0, hint="Close one, or wait until one ends."
            )
        with _count(self._streams, caller.limit_id):
            yield

    @contextmanager
    def hold_upload(self, caller: Caller) -> Iterator[None]:
        """Count an upload that is arriving; raise when the caller has too many."""
        most = self.settings.service.uploads
        if self._uploads[caller.limit_id] >= most:
            raise TooMany(
                f"{most} uploads are arriving already", retry_after=5.0, hint="Send one after the other."
            )
        with _count(self._uploads, caller.limit_id):
            yield


@contextmanager
def _count(counter: Counter[str], name: str) -> Iterator[None]:
    counter[name] += 1
    try:
        yield
    finally:
        counter[name] -= 1
        if not counter[name]:
            del counter[name]


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


def normalise_address(client: tuple[str, int] | None) -> str:
    """Find what a client is counted by: its address, or for IPv6 the network, which is one household's."""
    if client is None:
        # A Unix socket of this machine.
        return "127.0.0.1"
    try:
        found = ipaddress.ip_address(client[0])
    except ValueError:
        # A proxy may send any text.
        return client[0][:48]
    if isinstance(found, ipaddress.IPv6Address) and not found.is_loopback:
        mapped = found.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)


async def find_public_books(library: Library) -> tuple[str, ...] | None:
    """Find the ids of the books that the settings give to the public; None stands for all."""
    names = library.settings.public_read
    if ALL_BOOKS in names:
        return None
    return tuple([(await library.book(name)).id for name in names])


def is_listed(host: str, names: Iterable[str]) -> bool:
    """Whether a list of addresses and networks, such as `10.0.0.0/8`, or of `*`, has this address."""
    stripped = [name.strip() for name in names]
    if "*" in stripped or host in stripped:
        return True
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return False
    address = getattr(found, "ipv4_mapped", None) or found
    return any(address in network for network in map(_parse_network, stripped) if network is not None)


def _parse_network(name: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(name, strict=False)
    except ValueError:
        # The name of a host, or of a socket.
        return None


def require_started(request: Request) -> None:
    """Raise unless the library is open. An app that mounts this one has to start it."""
    if not hasattr(request.app.state, "access"):
        raise MachineError(
            "the library is not open: an app that mounts this one has to start it",
            hint="In your own lifespan: `async with octavo_app.router.lifespan_context(octavo_app): yield`.",
        )


# Dependencies are async: FastAPI would run a plain function in a thread.
async def get_library(request: Request) -> Library:
    require_started(request)
    library: Library = request.app.state.library
    return library


def get_access(request: Request) -> AccessControl:
    require_started(request)
    access: AccessControl = request.app.state.access
    return access


async def _get_access(request: Request) -> AccessControl:
    return get_access(request)


Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)]


async def authenticate(request: Request, given: Credentials) -> Caller:
    return await _authenticate(request, given, reads=False)


async def authenticate_reader(request: Request, given: Credentials) -> Caller:
    return await _authenticate(request, given, reads=True)


async def _authenticate(request: Request, given: Credentials, *, reads: bool) -> Caller:
    access = get_access(request)
    origin = request.headers.get("origin")
    host = request.headers.get("host", "")
    inside = (
        validation.parse_origin(origin) in (f"http://{host}", f"https://{host}")
        if origin
        else _is_from_inside(request)
    )
    client = (request.client.host, request.client.port) if request.client else None
    token = given.credentials if given else None
    relayed = any(name in request.headers for name in PROXY_HEADERS)
    address = normalise_address(client)
    caller = await access.admit(
        token, address=address, origin=origin, inside=inside, relayed=relayed, reads=reads
    )
    stranger = origin is not None and not inside and origin not in access.settings.origins
    if caller.owner in ("", PUBLIC) and stranger and request.method not in SAFE:
        raise AccessDenied(
            "a page of another site may not use an open service",
            code="forbidden",
            hint="Name the site in OCTAVO_ORIGINS.",
        )
    request.state.caller = caller
    return caller


def _is_from_inside(request: Request) -> bool:
    return request.headers.get("sec-fetch-site") == "same-origin"


def require_scope(
    scope: str, *, by: Callable[..., Awaitable[Caller]] = authenticate
) -> Callable[[Caller], Awaitable[Caller]]:
    """Make a dependency that gives the caller if its key has this scope."""

    # Not Annotated: annotations are texts, and FastAPI does not find `by` in one.
    async def find_caller(caller: Caller = Depends(by)) -> Caller:  # noqa: B008
        if not caller.has_scope(scope):
            raise AccessDenied(
                f"this key lacks the scope `{scope}`",
                code="forbidden",
                hint=f"`octavo keys create --scope {scope}` makes one that may.",
            )
        return caller

    return find_caller


CurrentLibrary = Annotated[Library, Depends(get_library)]
CurrentAccess = Annotated[AccessControl, Depends(_get_access)]
ReadCaller = Annotated[Caller, Depends(require_scope("ask", by=authenticate_reader))]
AskCaller = Annotated[Caller, Depends(require_scope("ask"))]
IngestCaller = Annotated[Caller, Depends(require_scope("ingest"))]
GapsCaller = Annotated[Caller, Depends(require_scope("gaps"))]
AdminCaller = Annotated[Caller, Depends(require_scope("admin"))]
