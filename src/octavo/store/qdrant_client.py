"""The line to a Qdrant server: one place where calls are timed, tried again, and their failures explained.

A call that finds no server, a busy one or a failing one (429, 5xx, a cut connection, no answer in time) is
tried again a few times after pauses that grow and vary; every call that Octavo makes may safely be made
twice. What the server refuses (4xx) is not tried again. In the end every failure is a `StoreError` that says
where it happened and what to do.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

from qdrant_client import AsyncQdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from octavo.errors import InvalidValue, StoreError

T = TypeVar("T")
LONGEST_PAUSE = 5.0
REACH = "Check that the server runs and that OCTAVO_STORE_URL is its address; then do the same again."
ADDRESS = "It looks like http://localhost:6333 or https://name.cloud.qdrant.io:6333."


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a call may take, how often it is made, and the first pause between (they double)."""

    seconds: float = 30.0
    tries: int = 5
    pause: float = 0.2


class QdrantConnection:
    """An open line to the server at `url`. `key` goes into a header of every call."""

    def __init__(self, url: str, *, key: str = "", patience: Patience | None = None) -> None:
        self.url = check_address(url)
        self._patience = patience or Patience()
        self._client = AsyncQdrantClient(
            url=self.url,
            headers={"api-key": key} if key else None,
            timeout=max(1, round(self._patience.seconds)),
            check_compatibility=False,
        )

    async def call(self, what: str, work: Callable[[AsyncQdrantClient], Awaitable[T]]) -> T:
        """What `work` returns. `what` names it in the error, as in "the server did not <what>"."""
        pause, tried = self._patience.pause, 0
        while True:
            tried += 1
            try:
                async with asyncio.timeout(self._patience.seconds):
                    return await work(self._client)
            except (ResponseHandlingException, TimeoutError) as error:
                failed, wait = self._explain_unreachable(what, error), 0.0
            except ResourceExhaustedResponse as error:
                failed, wait = self._explain_refusal(what, 429, str(error)), float(error.retry_after_s)
            except UnexpectedResponse as error:
                status = error.status_code or 0
                failed, wait = self._explain_refusal(what, status, _said(error)), 0.0
                if status < 500 and status not in (408, 429):
                    raise failed from error
            if tried >= self._patience.tries:
                raise failed
            await asyncio.sleep(min(LONGEST_PAUSE, max(wait, pause * random.uniform(0.5, 1.5))))
            pause *= 2

    async def close(self) -> None:
        await self._client.close()

    def _explain_unreachable(self, what: str, error: Exception) -> StoreError:
        cause = getattr(error, "source", error)
        said = " ".join(str(cause).split()) or type(cause).__name__
        return StoreError(f"the Qdrant server at {self.url} did not {what}: {said[:300]}", hint=REACH)

    def _explain_refusal(self, what: str, status: int, said: str) -> StoreError:
        where = f"the Qdrant server at {self.url}"
        if status in (401, 403):
            return StoreError(f"{where} refused the key: {said}", hint="Set OCTAVO_STORE_KEY to a valid key.")
        hint = "Do the same again in a while." if status >= 500 or status == 429 else ""
        return StoreError(f"{where} did not {what} ({status}): {said}", hint=hint or REACH)


def check_address(url: str) -> str:
    """The address of a server without a slash at its end; `InvalidValue` when it cannot be one."""
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


def _said(error: UnexpectedResponse) -> str:
    """The server's own words, if it says anything in the form that Qdrant does."""
    try:
        said = json.loads(error.content)["status"]["error"]
    except (ValueError, KeyError, TypeError):
        said = error.content.decode("utf-8", "replace") or error.reason_phrase
    return " ".join(str(said).split())[:300]
