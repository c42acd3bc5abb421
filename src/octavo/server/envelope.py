"""What every request and every response goes through, whatever the route.

A request has an id, which its response repeats. The Host must be one of ours, a path must be a path, and
a key in an address is refused: addresses end up in logs. Pages of other origins may read a response only
when their exact origin is allowed. Every response says what browsers may do with it; a route that needs
other rules sets its own.
"""

from __future__ import annotations

import asyncio
import logging
import re
from uuid import uuid4

from starlette.datastructures import Headers, State
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from octavo.errors import OctavoError
from octavo.server.access import Gate, is_loopback
from octavo.server.problems import problem, unforeseen

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
