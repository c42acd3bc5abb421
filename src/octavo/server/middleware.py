"""What a request may cost before a route sees it: its size, its shape, its time, and its place in the queue.

Bodies are counted while they arrive, whatever their Content-Length says. A body that is too large is refused
at once; a little more of it is taken from the line and thrown away, so that an ordinary client gets to
reading the answer, and then the connection ends. JSON is read strictly: no name twice, no NaN, no number that
a double cannot hold, no depth that people do not write. A request has a time limit; one that finds the
service full is told to come back.

What every request and every response goes through, whatever the route.

A request has an id, which its response repeats. The Host must be one of ours, a path must be a path, and
a key in an address is refused: addresses end up in logs. Pages of other origins may read a response only
when their exact origin is allowed. Every response says what browsers may do with it; a route that needs
other rules sets its own.
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

from octavo.errors import InvalidValue, OctavoError, Overloaded
from octavo.limits import MB, ServiceLimits
from octavo.server.auth import Gate, is_loopback
from octavo.server.errors import answer_to, problem, request_id_of, unforeseen
from octavo.server.load import Load

DEEPEST = 32
LARGEST = 2**53
_STRING = re.compile(
    rb'"(?:[^"\\]++|\\.)*+\\?(?:"|\Z)', re.DOTALL
)  # also one without an end: never tries twice
_BRACKET = re.compile(rb"[\[\]{}]")
_ALWAYS = frozenset({"/healthz", "/readyz", "/metrics"})
_CLOSE = {"connection": "close"}
BODY_SECONDS = 30.0
DISCARDED_MOST, DISCARDED_SECONDS = 4 * MB, 1.0
ARRIVING = 4
"""How many bodies may be on their way for each request that may be worked on."""


class TooLarge(Exception):
    pass


class TooSlow(Exception):
    pass


class Intake:
    """Stands before the routes. `upload_bytes` is what a body of `POST /v1/books` may have."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        limits: ServiceLimits,
        upload_bytes: int,
        load: Load,
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        self._app, self._limits, self._upload_bytes, self._load = app, limits, upload_bytes, load
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _ALWAYS:
            await self._app(scope, receive, send)
            return
        full = self._full()
        if full is not None:
            response = answer_to(full, request_id=request_id_of(scope))
            response.headers.update(_CLOSE if self._load.draining else {})
            await response(scope, receive, send)
            return
        await self._timed(scope, receive, send)

    def _full(self) -> Overloaded | None:
        if self._load.draining:
            return Overloaded("the service is about to stop", retry_after=5, hint="Try another instance.")
        most = self._limits.working
        if self._load.working >= most or self._load.arriving >= most * ARRIVING:
            return Overloaded("the service has its hands full", retry_after=1, hint="Try again in a moment.")
        return None

    async def _timed(self, scope: Scope, receive: Receive, send: Send) -> None:
        upload = scope["method"] == "POST" and scope["path"] == "/v1/books"
        watched = _Watched(send, self._limits)
        seconds = self._limits.stream_seconds if upload else self._limits.request_seconds
        try:
            async with asyncio.timeout(seconds) as watched.timeout:
                most = self._upload_bytes if upload else self._limits.max_body_kb * 1024
                await self._counted(scope, receive, watched, most=most, upload=upload)
        except TimeoutError:
            if not watched.timeout.expired():
                raise
            if watched.started:
                return  # cut short; the server closes a response that has no end
            said = f"the request took longer than {seconds:g} seconds"
            failed = problem(
                503, "timeout", said, request_id=request_id_of(scope), headers={"retry-after": "5"}
            )
            await failed(scope, receive, send)

    async def _counted(
        self, scope: Scope, receive: Receive, send: _Watched, *, most: int, upload: bool
    ) -> None:
        counted = _Counted(receive, most=most)
        try:
            _check_length(Headers(scope=scope), most)
            if upload or scope["method"] in ("GET", "HEAD", "OPTIONS"):
                await self._worked_on(scope, counted, send)
                return
            body = await self._arrived(counted)
            if body is None:
                return  # gone before the request was whole
            _check_json(body)
            await self._worked_on(scope, _Replayed(body, receive), send)
        except InvalidValue as wrong:
            if send.started:
                raise
            await answer_to(wrong, request_id=request_id_of(scope))(scope, receive, send)
        except TooLarge:
            if send.started:
                raise
            said = f"the body of this request may have {_size(most)} at most"
            failed = problem(413, "too_large", said, request_id=request_id_of(scope), headers=_CLOSE)
            await _while_it_is_sent(failed, scope, receive, send)
        except TooSlow:
            said = f"the body of this request took longer than {self._body_seconds:g} seconds to arrive"
            failed = problem(408, "timeout", said, request_id=request_id_of(scope), headers=_CLOSE)
            await failed(scope, receive, send)

    async def _arrived(self, receive: Receive) -> bytes | None:
        self._load.arriving += 1
        try:
            within = self._body_seconds if self._body_seconds < self._limits.request_seconds else None
            async with asyncio.timeout(within) as limit:
                return await _whole(receive)
        except TimeoutError:
            if limit.expired():
                raise TooSlow from None
            raise
        finally:
            self._load.arriving -= 1

    async def _worked_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        full = self._full()  # others may have come while the body did
        if full is not None:
            await answer_to(full, request_id=request_id_of(scope))(scope, receive, send)
            return
        self._load.working += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._load.working -= 1


class _Watched:
    """Notes that the response has begun; a stream has a time limit of its own."""

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


class _Counted:
    def __init__(self, receive: Receive, *, most: int) -> None:
        self._receive, self._left = receive, most

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise TooLarge
        return message


class _Replayed:
    """The body once more, for the route; after it, whatever the connection says."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


async def _whole(receive: Receive) -> bytes | None:
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


async def _while_it_is_sent(response: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Answers a request whose body is still coming, and throws some of that away.

    A connection that is closed with something unread is reset, and the answer is lost with it.
    """

    async def unended(message: Message) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "more_body": True}
        await send(message)

    await response(scope, receive, unended)
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


def _size(count: int) -> str:
    return f"{count // MB} MB" if count >= MB else f"{count // 1024} kB"


def _check_json(body: bytes) -> None:
    """Raises for JSON that is more than a request; what is no JSON at all is for the route to refuse."""
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub(b"", body)):
        depth += 1 if bracket in b"[{" else -1
        if depth > DEEPEST:
            raise InvalidValue("body", f"must not be nested deeper than {DEEPEST}", "more")
    try:
        json.loads(
            body, object_pairs_hook=_pairs, parse_int=_int, parse_float=_float, parse_constant=_constant
        )
    except InvalidValue:
        raise
    except (ValueError, RecursionError):
        return


def _pairs(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    made: dict[str, object] = {}
    for name, value in pairs:
        if name in made:
            raise InvalidValue("body", "must have each name once", name)
        made[name] = value
    return made


def _int(digits: str) -> int:
    if len(digits) > 17 or abs(int(digits)) > LARGEST:
        raise InvalidValue("body", "must have no integers beyond ±2^53", digits)
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise InvalidValue("body", "must have only finite numbers", digits)
    return value


def _constant(name: str) -> float:
    raise InvalidValue("body", "must have only finite numbers", name)


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
    "access-control-allow-methods": "GET, POST, DELETE",
    "access-control-allow-headers": "authorization, content-type, idempotency-key, x-request-id, accept, "
    "last-event-id, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name",
    "access-control-max-age": "600",
}


class Envelope:
    """The outermost layer. `hosts` are the names of the service; None lets every well-formed one through."""

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
        _without_range_flood(scope, headers)
        refused = self._refusal(scope, headers, request_id)
        origin = headers.get("origin")
        known = origin is not None and refused is None and await self._knows(origin)
        sender = _Sender(send, request_id, origin if known else None)
        preflight = scope["method"] == "OPTIONS" and "access-control-request-method" in headers
        if refused is None and preflight:
            refused = Response(status_code=204, headers=_PREFLIGHT if known else {})
        await self._passed_on(refused or self._app, scope, receive, sender)

    def _refusal(self, scope: Scope, headers: Headers, request_id: str) -> Response | None:
        hosts = headers.getlist("host")
        shape = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if shape is None or not self._is_ours(shape[1].lower()):
            said = "this service is not known by the name that the request's Host header has"
            hint = "Name it in OCTAVO_HOSTS, or use the address that the service listens on."
            return problem(400, "bad_host", said, hint, request_id=request_id)
        if _CONTROL.search(scope["path"]):
            return problem(404, "not_found", "no path has control characters", request_id=request_id)
        if "octv_" in scope["path"] or b"octv_" in scope["query_string"]:
            said = "a key does not belong in an address, where logs and histories keep it"
            hint = "Send it as `Authorization: Bearer …`, and revoke the one that was sent like this."
            return problem(401, "unauthorized", said, hint, request_id=request_id)
        return None

    def _is_ours(self, host: str) -> bool:
        return self._hosts is None or host in self._hosts or is_loopback(host)

    async def _knows(self, origin: str) -> bool:
        gate: Gate = self._state.gate
        try:
            return await gate.knows_origin(origin)
        except OctavoError:  # the records do not answer: the route will say so, to whoever may read it
            return False

    async def _passed_on(self, app: ASGIApp, scope: Scope, receive: Receive, sender: _Sender) -> None:
        """A mistake of ours, or a panic of a library, is a problem document like any other."""
        try:
            await app(scope, receive, sender)
        except (asyncio.CancelledError, KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:
            log.error("a request failed", exc_info=error, extra={"request_id": sender.request_id})
            if sender.started:
                raise
            await (await unforeseen(Request(scope), error))(scope, receive, sender)


class _Sender:
    """Adds the headers that every response has, unless the route has set them."""

    def __init__(self, send: Send, request_id: str, origin: str | None) -> None:
        self._send, self.request_id, self._origin = send, request_id, origin
        self.started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            message = {**message, "headers": self._headed(list(message.get("headers", ())))}
        await self._send(message)

    def _headed(self, given: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
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


def _without_range_flood(scope: Scope, headers: Headers) -> None:
    """A Range may always be passed over; one with thousands of parts only serves to keep the server busy."""
    if len(headers.get("range", "")) > RANGES_LONGEST or len(headers.getlist("range")) > 1:
        kept: list[tuple[bytes, bytes]] = [pair for pair in scope["headers"] if pair[0] != b"range"]
        scope["headers"] = kept
