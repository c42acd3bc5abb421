"""The connection to a Qdrant server: one place where calls time out, are retried, and failures are explained.

A call that finds no server, a busy one or a failing one (429, 5xx, a cut connection, no answer in time) is
retried a few times after growing random pauses; every call that Octavo makes may safely be made twice. With
several addresses of one cluster, each retry asks the next. What the server refuses (4xx) is not retried.
Every final failure is a `StoreError` that says in plain words where it happened and what to do. What a
failing server said about itself goes to the log.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from importlib.metadata import version
from typing import TypeVar
from urllib.parse import urlsplit

from qdrant_client import AsyncQdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from octavo.concurrency import RetryPolicy, retry
from octavo.errors import InvalidValue, StoreError

log = logging.getLogger(__name__)
T = TypeVar("T")
CALL_SECONDS = 30.0
OLDEST_SERVER = (1, 16)
"""The oldest server that Octavo was tested with, as major and minor version."""
RETRIES = RetryPolicy(tries=5, pause=0.2, growth=2.0, jitter=0.5, longest=5.0)
REACH = "Check that the server runs and that OCTAVO_STORE_URL is its address; then do the same again."
ADDRESS = "It looks like http://localhost:6333 or https://name.cloud.qdrant.io:6333."
LOG = "The log has what the server said."
COPIES = (
    "Bring the missing servers back, then do the same again. OCTAVO_STORE_QUORUM says how many copies must "
    "confirm a write."
)


class QdrantConnection:
    """A connection to the server at `url`, or to one of several. `key` goes into a header of every call."""

    def __init__(
        self, url: str, *, key: str = "", seconds: float = CALL_SECONDS, retries: RetryPolicy = RETRIES
    ) -> None:
        addresses = split_addresses(url)
        self.url = addresses[0]
        """The first address, by which the store is named."""
        self._place = f"the Qdrant server at {', '.join(addresses)}"
        # Every address is tried at least once.
        self._seconds, self._retries = seconds, replace(retries, tries=max(retries.tries, len(addresses)))
        self._clients = [
            AsyncQdrantClient(
                url=address,
                headers={"api-key": key} if key else None,
                timeout=max(1, round(seconds)),
                check_compatibility=False,
            )
            for address in addresses
        ]

    async def call(
        self,
        what: str,
        work: Callable[[AsyncQdrantClient], Awaitable[T]],
        *,
        retries: RetryPolicy | None = None,
    ) -> T:
        """Returns what `work` returns. Errors name it as in "the server did not <what>"."""

        async def attempt() -> T:
            asked = self._clients[0]
            try:
                async with asyncio.timeout(self._seconds):
                    return await work(asked)
            except Exception as error:
                # The next attempt, and what comes after it, asks the next address.
                if _wait_after(error) is not None and self._clients[0] is asked:
                    self._clients.append(self._clients.pop(0))
                raise

        try:
            return await retry(attempt, retries or self._retries, wait_after=_wait_after)
        except (ResponseHandlingException, TimeoutError) as error:
            raise self._explain_unreachable(what, error) from error
        except ResourceExhaustedResponse as error:
            raise self._explain_refusal(what, 429, str(error)) from error
        except UnexpectedResponse as error:
            raise self._explain_refusal(what, error.status_code or 0, _read_message(error)) from error

    async def check_version(self) -> None:
        """Raise `StoreError` for a server that is too old, or of another generation than the client.

        A proxy may keep the version from us. Then the calls themselves will show whether it fits. They also
        report a server that cannot be reached, so this one does not wait for it as long as they do.
        """
        few = replace(self._retries, tries=min(self._retries.tries, max(2, len(self._clients))))
        try:
            said = (await self.call("say its version", lambda server: server.info(), retries=few)).version
            found = tuple(int(part) for part in said.split("-")[0].split(".")[:2])
        except (StoreError, ValueError):
            return
        client = version("qdrant-client")
        if found < OLDEST_SERVER or found[0] != int(client.split(".")[0]):
            oldest = ".".join(map(str, OLDEST_SERVER))
            raise StoreError(
                f"{self._place} has version {said}; Octavo needs {oldest} or a later "
                f"{OLDEST_SERVER[0]}.x (its client has version {client})",
                hint="Upgrade the server one minor version at a time; compose.yaml names one that fits.",
            )

    async def close(self) -> None:
        for client in self._clients:
            await client.close()

    def _explain_unreachable(self, what: str, error: Exception) -> StoreError:
        cause = getattr(error, "source", error)
        message = " ".join(str(cause).split()) or type(cause).__name__
        return StoreError(f"{self._place} did not {what}: {message[:300]}", hint=REACH)

    def _explain_refusal(self, what: str, status: int, message: str) -> StoreError:
        if status in (401, 403):
            return StoreError(
                f"{self._place} refused the key: {message}", hint="Set OCTAVO_STORE_KEY to a valid key."
            )
        if status >= 500 and "replica" in message.lower():
            log.warning("%s did not %s (%d): %s", self._place, what, status, message)
            return StoreError(
                f"{self._place} did not {what}: too few copies of the collection can be reached", hint=COPIES
            )
        if status >= 500:
            log.warning("%s did not %s (%d): %s", self._place, what, status, message)
            return StoreError(
                f"{self._place} did not {what}: it failed ({status})",
                hint=f"Do the same again in a while. {LOG}",
            )
        hint = "Do the same again in a while." if status == 429 else REACH
        return StoreError(f"{self._place} did not {what} ({status}): {message}", hint=hint)


def split_addresses(url: str) -> list[str]:
    """Splits addresses between commas; raises `InvalidValue` for what cannot be a server's."""
    return list(dict.fromkeys(check_address(each.strip()) for each in url.split(",")))


def check_address(url: str) -> str:
    """Returns the address without a slash at its end; raises `InvalidValue` if it cannot be a server's."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise InvalidValue("address of the Qdrant server", f"must be an http or https URL. {ADDRESS}", url)
    if parts.username or parts.password:
        raise InvalidValue(
            "address of the Qdrant server", "must hold no password; OCTAVO_STORE_KEY is for the key", "***"
        )
    return url.rstrip("/")


def _wait_after(error: Exception) -> float | None:
    """The seconds that the server asks to wait before a retry; None for an error that a retry cannot mend."""
    if isinstance(error, ResponseHandlingException | TimeoutError):
        return 0.0
    if isinstance(error, ResourceExhaustedResponse):
        return float(error.retry_after_s)
    if isinstance(error, UnexpectedResponse):
        status = error.status_code or 0
        return 0.0 if status >= 500 or status in (408, 429) else None
    return None


def _read_message(error: UnexpectedResponse) -> str:
    """The server's own message, where the response has one in Qdrant's form."""
    try:
        message = json.loads(error.content)["status"]["error"]
    except (ValueError, KeyError, TypeError):
        message = error.content.decode("utf-8", "replace") or error.reason_phrase
    return " ".join(str(message).split())[:300]
