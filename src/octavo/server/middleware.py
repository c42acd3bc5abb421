"""What every request and every response passes through, whatever the route.

`HeadersMiddleware` gives each request an id, which its response repeats. It refuses a Host that is not ours,
a path with control characters, and a key in an address, because addresses end up in logs. It adds the
security headers that browsers obey, and lets pages of other origins read a response only when their exact
origin is allowed. A route that needs other rules sets its own headers.

`LimitsMiddleware` limits what a request may cost before a route sees it: its size, its shape and its time.
Bodies are counted while they arrive, whatever their Content-Length says. A body that is too large is refused
at once; a little more of it is read and discarded, so that an ordinary client gets to read the response, and
then the connection is closed. JSON is read strictly: no duplicate names, no NaN, no number that a double
cannot hold, no deep nesting. When the service is busy, a request is told when to try again. Bodies that
arrive slowly have places of their own, in all and for each address, so they keep out only other bodies.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
from collections.abc import Iterable
from contextlib import suppress
from uuid import uuid4

from starlette.datastructures import Headers, State
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from octavo.errors import InvalidValue, OctavoError, Overloaded, TooMany
from octavo.limits import MB, ServiceLimits
from octavo.server.auth import AccessControl, is_loopback, normalise_address
from octavo.server.errors import get_request_id, handle_unexpected, make_error_response, make_problem
from octavo.server.load import Load

log = logging.getLogger("octavo.server")
RANGES_LONGEST = 200
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HOST = re.compile(r"(?i)([a-z0-9]([a-z0-9._-]{0,252})|\[[0-9a-f:.]{2,45}\])(:\d{1,5})?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_HEADERS = (
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
    ("cache-control", "no-store"),
)
_PREFLIGHT = {
    "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    "access-control-allow-headers": "authorization, content-type, idempotency-key, x-request-id, accept, "
    "last-event-id, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name",
    "access-control-max-age": "600",
}
DEEPEST = 32
LARGEST = 2**53
# It matches a string without an end too, and never backtracks.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+\\?(?:"|\Z)', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")
_UNLIMITED = frozenset({"/healthz", "/readyz", "/metrics"})
_CLOSE = {"connection": "close"}
BODY_SECONDS = 30.0
# Twice the largest cover in base64 fits, and a busy machine needs seconds to take that much.
DISCARDED_MOST, DISCARDED_SECONDS = 8 * MB, 5.0
ARRIVING = 4
"""How many bodies may be arriving for each request that may be worked on."""


class TooLarge(Exception):
    """The body has more bytes than allowed."""


class TooSlow(Exception):
    """The body took too long to arrive."""


class LimitsMiddleware:
    """The layer before the routes.

    `upload_bytes` is the limit for the body of `POST /v1/books`, `cover_bytes` for that of `PATCH` of a book.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        limits: ServiceLimits,
        upload_bytes: int,
        load: Load,
        cover_bytes: int = 0,
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        self._app, self._limits, self._upload_bytes, self._load = app, limits, upload_bytes, load
        self._body_seconds, self._cover_bytes = body_seconds, cover_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _UNLIMITED:
            await self._app(scope, receive, send)
            return
        busy = self._find_overload()
        if busy is not None:
            response = make_error_response(busy, request_id=get_request_id(scope))
            response.headers.update(_CLOSE if self._load.draining else {})
            await response(scope, receive, send)
            return
        await self._limit_time(scope, receive, send)

    def _find_overload(self) -> Overloaded | None:
        if self._load.draining:
            return Overloaded("the service is stopping", retry_after=5, hint="Try another instance.")
        if self._load.working >= self._limits.working:
            return Overloaded("the service is busy", retry_after=1, hint="Try again in a second.")
        return None

    def _find_body_excess(self, address: str) -> Overloaded | TooMany | None:
        """Find why a body from this address may not begin to arrive."""
        if self._load.arriving >= self._limits.working * ARRIVING:
            return Overloaded("too many requests are arriving", retry_after=1, hint="Try again in a second.")
        most = self._limits.bodies
        if not is_loopback(address) and self._load.arriving_by_address[address] >= most:
            said = f"bodies from this address hold {most} places already"
            return TooMany(said, retry_after=1, hint="Send one after the other.")
        return None

    async def _limit_time(self, scope: Scope, receive: Receive, send: Send) -> None:
        upload = scope["method"] == "POST" and scope["path"] == "/v1/books"
        watched = _ResponseWatcher(send, self._limits)
        seconds = self._limits.stream_seconds if upload else self._limits.request_seconds
        try:
            async with asyncio.timeout(seconds) as watched.timeout:
                most = self._upload_bytes if upload else self._find_most_bytes(scope)
                await self._limit_body(scope, receive, watched, most=most, upload=upload)
        except TimeoutError:
            if not watched.timeout.expired():
                raise
            if watched.started:
                # The server closes a response that has no end.
                return
            said = f"the request took longer than {seconds:g} seconds"
            failed = make_problem(
                503, "timeout", said, request_id=get_request_id(scope), headers={"retry-after": "5"}
            )
            await failed(scope, receive, send)

    def _find_most_bytes(self, scope: Scope) -> int:
        """Return how large the body of a request may be that is not an upload."""
        is_change = scope["method"] == "PATCH" and scope["path"].startswith("/v1/books/")
        return max(self._limits.max_body_kb * 1024, self._cover_bytes if is_change else 0)

    async def _limit_body(
        self, scope: Scope, receive: Receive, send: _ResponseWatcher, *, most: int, upload: bool
    ) -> None:
        counted, headers = _BodyCounter(receive, most=most), Headers(scope=scope)
        try:
            _check_length(headers, most)
            if upload:
                await self._pass_upload(scope, counted, send)
                return
            if scope["method"] in ("GET", "HEAD", "OPTIONS"):
                await self._pass_to_route(scope, counted, send)
                return
            address = normalise_address(scope.get("client"))
            excess = self._find_body_excess(address) if _announces_body(headers) else None
            if excess is not None:
                refusal = make_error_response(excess, request_id=get_request_id(scope))
                refusal.headers.update(_CLOSE)
                await _send_and_discard(refusal, scope, receive, send)
                return
            body = await self._receive_body(counted, most, address=address)
            if body is None:
                # The client left before the request was complete.
                return
            _check_json(body)
            await self._pass_to_route(scope, _BodyReplay(body, receive), send)
        except InvalidValue as wrong:
            if send.started:
                raise
            await make_error_response(wrong, request_id=get_request_id(scope))(scope, receive, send)
        except TooLarge:
            if send.started:
                raise
            said = f"the body of a request may have {_describe_size(most)} at most"
            failed = make_problem(413, "too_large", said, request_id=get_request_id(scope), headers=_CLOSE)
            await _send_and_discard(failed, scope, receive, send)
        except TooSlow:
            said = f"the body of this request took longer than {self._body_seconds:g} seconds to arrive"
            failed = make_problem(408, "timeout", said, request_id=get_request_id(scope), headers=_CLOSE)
            await failed(scope, receive, send)

    async def _receive_body(self, receive: Receive, most: int, *, address: str) -> bytes | None:
        # A body that may be larger than usual counts as several: all together have a limit.
        places = -(-most // (self._limits.max_body_kb * 1024))
        within = self._body_seconds if self._body_seconds < self._limits.request_seconds else None
        try:
            with self._load.hold_body(address, places=places):
                async with asyncio.timeout(within) as limit:
                    return await _read_body(receive)
        except TimeoutError:
            if limit.expired():
                raise TooSlow from None
            raise

    async def _pass_upload(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a route read an upload without a place among the requests that are worked on."""
        if self._load.uploading >= self._limits.working:
            busy = Overloaded("too many uploads are arriving", retry_after=5, hint="Try again in a moment.")
            response = make_error_response(busy, request_id=get_request_id(scope))
            response.headers.update(_CLOSE)
            await _send_and_discard(response, scope, receive, send)
            return
        self._load.uploading += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._load.uploading -= 1

    async def _pass_to_route(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Others may have come while the body arrived.
        busy = self._find_overload()
        if busy is not None:
            await make_error_response(busy, request_id=get_request_id(scope))(scope, receive, send)
            return
        self._load.working += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._load.working -= 1


class _ResponseWatcher:
    """Notices that the response has begun, and gives a stream its own time limit."""

    timeout: asyncio.Timeout

    def __init__(self, send: Send, limits: ServiceLimits) -> None:
        self._send, self._limits, self.started = send, limits, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            if (
                b"text/event-stream"
                in Headers(raw=message.get("headers", [])).get("content-type", "").encode()
            ):
                end = asyncio.get_running_loop().time() + self._limits.stream_seconds
                self.timeout.reschedule(end + self._limits.send_seconds)
        await self._send(message)


class _BodyCounter:
    """Counts a body while it arrives; raises when it is too large."""

    def __init__(self, receive: Receive, *, most: int) -> None:
        self._receive, self._left = receive, most

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise TooLarge
        return message


class _BodyReplay:
    """Gives the body to the route, and after it whatever the connection sends."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


async def _read_body(receive: Receive) -> bytes | None:
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


async def _send_and_discard(response: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Respond to a request whose body is still arriving, and discard some of that body.

    A connection that is closed with unread data is reset, and the client would lose the response.
    """

    async def send_without_end(message: Message) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "more_body": True}
        await send(message)

    await response(scope, receive, send_without_end)
    with suppress(TimeoutError):
        async with asyncio.timeout(DISCARDED_SECONDS):
            left = DISCARDED_MOST
            while left > 0 and (message := await receive()).get("more_body", False):
                left -= len(message["body"])
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _check_length(headers: Headers, most: int) -> None:
    said = headers.get("content-length", "0")
    if said.isdecimal() and int(said[:20]) > most:
        raise TooLarge


def _announces_body(headers: Headers) -> bool:
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


def _describe_size(count: int) -> str:
    return f"{count // MB} MB" if count >= MB else f"{count // 1024} kB"


def _check_json(body: bytes) -> None:
    """Raise for JSON that no request needs. What is not JSON at all is left to the route."""
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub(b"", body)):
        depth += 1 if bracket in b"[{" else -1
        if depth > DEEPEST:
            raise InvalidValue("body", f"must not be nested deeper than {DEEPEST}", "more")
    try:
        json.loads(
            body,
            object_pairs_hook=_read_pairs,
            parse_int=_read_int,
            parse_float=_read_float,
            parse_constant=_read_constant,
        )
    except InvalidValue:
        raise
    except (ValueError, RecursionError):
        return


def _read_pairs(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    made: dict[str, object] = {}
    for name, value in pairs:
        if name in made:
            raise InvalidValue("body", "must have each name once", name)
        made[name] = value
    return made


def _read_int(digits: str) -> int:
    if len(digits) > 17 or abs(int(digits)) > LARGEST:
        raise InvalidValue("body", "must have no integers beyond ±2^53", digits)
    return int(digits)


def _read_float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise InvalidValue("body", "must have only finite numbers", digits)
    return value


def _read_constant(name: str) -> float:
    raise InvalidValue("body", "must have only finite numbers", name)


class HeadersMiddleware:
    """The layer inside the log. `hosts` are the service's names; None allows every valid one."""

    def __init__(self, app: ASGIApp, *, state: State, hosts: frozenset[str] | None) -> None:
        self._app, self._state, self._hosts = app, state, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        _drop_long_range(scope, headers)
        refused = self._refuse(scope, headers, request_id)
        origin = headers.get("origin")
        known = origin is not None and refused is None and await self._allows(origin)
        sender = _HeaderSender(send, request_id, origin if known else None)
        preflight = scope["method"] == "OPTIONS" and "access-control-request-method" in headers
        if refused is None and preflight:
            refused = Response(status_code=204, headers=_PREFLIGHT if known else {})
        await self._forward(refused or self._app, scope, receive, sender)

    def _refuse(self, scope: Scope, headers: Headers, request_id: str) -> Response | None:
        hosts = headers.getlist("host")
        shape = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if shape is None or not self._is_own_host(shape[1].lower()):
            said = "the Host header is not one of this service's names"
            hint = "Add the name to OCTAVO_HOSTS, or use the address that the service listens on."
            return make_problem(400, "bad_host", said, hint, request_id=request_id)
        if _CONTROL.search(scope["path"]):
            return make_problem(
                404, "not_found", "a path may not have control characters", request_id=request_id
            )
        if "octv_" in scope["path"] or b"octv_" in scope["query_string"]:
            said = "a key does not belong in an address, because logs and histories keep addresses"
            hint = "Send it as `Authorization: Bearer …`, and revoke this one."
            return make_problem(401, "unauthorized", said, hint, request_id=request_id)
        return None

    def _is_own_host(self, host: str) -> bool:
        return self._hosts is None or host in self._hosts or is_loopback(host)

    async def _allows(self, origin: str) -> bool:
        access: AccessControl | None = getattr(self._state, "access", None)
        try:
            return access is not None and await access.allows_origin(origin)
        except OctavoError:
            # The records do not respond. The route will report that.
            return False

    async def _forward(self, app: ASGIApp, scope: Scope, receive: Receive, sender: _HeaderSender) -> None:
        """Turn a bug, or a panic of a library, into a problem document like any other."""
        try:
            await app(scope, receive, sender)
        except (asyncio.CancelledError, KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:
            log.error("a request failed", exc_info=error, extra={"request_id": sender.request_id})
            if sender.started:
                raise
            await (await handle_unexpected(Request(scope), error))(scope, receive, sender)


class _HeaderSender:
    """Adds the headers that every response has, unless the route has set them."""

    def __init__(self, send: Send, request_id: str, origin: str | None) -> None:
        self._send, self.request_id, self._origin = send, request_id, origin
        self.started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            message = {**message, "headers": self._add_headers(list(message.get("headers", ())))}
        await self._send(message)

    def _add_headers(self, given: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        headers = [pair for pair in given if pair[0] != b"vary"]
        there = {name for name, _ in headers}
        headers += [pair for pair in _RAW if pair[0] not in there]
        varies = [value for name, value in given if name == b"vary"]
        headers.append((b"vary", b", ".join([*varies, b"Origin"])))
        headers.append((b"x-request-id", self.request_id.encode()))
        if self._origin is not None:
            headers = [pair for pair in headers if pair[0] != b"access-control-allow-origin"]
            headers.append((b"access-control-allow-origin", self._origin.encode("latin-1")))
            headers.append((b"access-control-expose-headers", b"x-request-id, retry-after, location"))
        return headers


_RAW = tuple((name.encode(), value.encode()) for name, value in _HEADERS)


def _drop_long_range(scope: Scope, headers: Headers) -> None:
    """Ignore a Range header with very many parts, which would only keep the server busy."""
    if len(headers.get("range", "")) > RANGES_LONGEST or len(headers.getlist("range")) > 1:
        kept: list[tuple[bytes, bytes]] = [pair for pair in scope["headers"] if pair[0] != b"range"]
        scope["headers"] = kept
