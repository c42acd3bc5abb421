"""Requests that may be sent twice: the second gets the response of the first, and nothing is done again.

The caller names a request with a key of its own choosing. For a day, the same key with the same request
returns the stored response, unless the question that it answers was deleted meanwhile. With another request
it is a conflict, and so it is while the first is still being worked on. A request that failed is forgotten,
so that it can be sent again.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Select, bindparam, delete, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from octavo import validation
from octavo.concurrency import complete
from octavo.errors import Conflict
from octavo.records.tables import Moment, requests

if TYPE_CHECKING:
    from octavo.records.database import Database

KEPT_FOR = timedelta(hours=24)
ABANDONED_AFTER = timedelta(minutes=10)
"""After so long without an end, the process that worked on a request is taken for dead."""
LONGEST_KEY = 200
_ADD_REQUEST = text(
    "INSERT INTO requests (owner, key, digest, created_at) VALUES (:owner, :key, :digest, :created_at) "
    "ON CONFLICT (owner, key) DO NOTHING"
).bindparams(bindparam("created_at", type_=Moment))


class RequestInProgress(Conflict):
    """The same request is being worked on at this moment."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"the request with the idempotency key {key!r} is still being worked on",
            hint="Send it again after the time in Retry-After.",
        )
        self.retry_after = 2.0


@dataclass(slots=True)
class IdempotentRequest:
    """One request. `previous` is the stored response, if any; set `response` to the new one."""

    previous: Any | None = None
    response: Any | None = field(default=None)


class IdempotentRequests:
    """The requests of the last day that had a key."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @asynccontextmanager
    async def claim(self, key: str | None, *, owner: str, request: bytes) -> AsyncIterator[IdempotentRequest]:
        """Wraps the work for a request. Without a key, nothing is stored."""
        if key is None:
            yield IdempotentRequest()
            return
        validation.check_text("Idempotency-Key", key, most=LONGEST_KEY)
        claimed = IdempotentRequest(
            previous=await self._begin(key, owner, hashlib.sha256(request).hexdigest())
        )
        if claimed.previous is not None:
            yield claimed
            return
        try:
            yield claimed
        finally:
            await complete(self._end(key, owner, claimed.response))

    async def _begin(self, key: str, owner: str, digest: str) -> Any | None:
        mine = (requests.c.owner == owner, requests.c.key == key)
        async with self._database.begin() as connection:
            now = datetime.now(UTC)
            await delete_old_requests(connection, before=now - KEPT_FOR)
            values = {"owner": owner, "key": key, "digest": digest, "created_at": now}
            if (await connection.execute(_ADD_REQUEST, values)).rowcount:
                return None
            row = (await connection.execute(select(requests).where(*mine))).one()
        if row.digest != digest:
            raise Conflict(
                f"the idempotency key {key!r} was used before for another request",
                hint="Use a new key for each request; the same one only to send the same request again.",
            )
        if row.status is None:
            raise RequestInProgress(key)
        return row.response

    async def _end(self, key: str, owner: str, response: Any | None) -> None:
        mine = (requests.c.owner == owner, requests.c.key == key)
        async with self._database.begin() as connection:
            if response is None:
                await connection.execute(delete(requests).where(*mine))
            else:
                await connection.execute(update(requests).where(*mine).values(status=200, response=response))


async def delete_old_requests(connection: AsyncConnection, *, before: datetime) -> None:
    """Deletes the requests of before a time or of more than a day ago, and those of a dead process."""
    now, began = datetime.now(UTC), requests.c.created_at
    dead = requests.c.status.is_(None) & (began < now - ABANDONED_AFTER)
    old = requests.c.status.is_not(None) & (began < max(before, now - KEPT_FOR))
    await connection.execute(delete(requests).where(old | dead))


async def delete_responses(connection: AsyncConnection, asked: Select[tuple[str]] | list[str]) -> None:
    """Deletes the stored responses that answer these questions."""
    answered: ColumnElement[str] = requests.c.response["question_id"].as_string()
    await connection.execute(delete(requests).where(answered.in_(asked)))
