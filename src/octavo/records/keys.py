"""API keys: who may use the service, for what, and on which books.

A key is `octv_<id>_<secret>`. The secret has 256 random bits, is shown once when the key is made, and is
stored only as its SHA-256: what is in the records gives no access. A key is found by its id and compared in
constant time. A key that is missing, wrong, expired or revoked is refused with the same message. A revoked
key stops working within a second, in every process that shares the records.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from octavo import validation
from octavo.errors import AccessDenied, InvalidValue, NotFound, OctavoError
from octavo.records.tables import api_keys

if TYPE_CHECKING:
    from octavo.records.database import Database

SCOPES = ("ask", "ingest", "gaps", "admin")
FRESH_SECONDS = 1.0
"""How long a key is cached before the records are asked again."""
USE_SECONDS = 60.0
"""How often the last use of a key is saved."""
CACHED_KEYS = 1_000
_SHAPE = re.compile(r"octv_([0-9a-f]{12})_([0-9a-f]{64})")
_NO_HASH = "0" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key without its secret. `books` is None where the whole library may be read."""

    id: str
    name: str
    scopes: tuple[str, ...]
    created_at: datetime
    books: tuple[str, ...] | None = None
    origins: tuple[str, ...] = ()
    public: bool = False
    per_minute: int | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    used_at: datetime | None = None

    def __post_init__(self) -> None:
        validation.check_text("Key.name", self.name, most=200)
        for scope in self.scopes:
            validation.check_one_of("Key.scopes", scope, SCOPES)
        if not self.scopes:
            raise InvalidValue("Key.scopes", f"must name at least one of {', '.join(SCOPES)}", self.scopes)
        if self.books is not None and not self.books:
            raise InvalidValue("Key.books", "must name a book, or be left out for all of them", self.books)
        for origin in self.origins:
            if origin != validation.parse_origin(origin):
                rule = "must be a scheme and a host, like https://example.com"
                raise InvalidValue("Key.origins", rule, origin)
        if self.per_minute is not None:
            validation.check_integer("Key.per_minute", self.per_minute, least=1)
        if self.public and self.scopes != ("ask",):
            raise InvalidValue("Key.scopes", "of a public key must be `ask` alone", self.scopes)
        if self.public and not self.origins:
            raise InvalidValue("Key.origins", "of a public key must name the sites that use it", self.origins)

    def is_valid(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def allows(self, scope: str) -> bool:
        return scope in self.scopes or "admin" in self.scopes


class Keyring:
    """The keys of one library."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._database, self._clock = database, clock
        self._known: OrderedDict[str, tuple[float, Key | None, str]] = OrderedDict()
        self._used: dict[str, float] = {}
        self._origins: tuple[float, frozenset[str]] | None = None

    async def create(
        self,
        name: str,
        *,
        scopes: Sequence[str] = ("ask",),
        books: Sequence[str] | None = None,
        origins: Sequence[str] = (),
        public: bool = False,
        per_minute: int | None = None,
        days: float | None = None,
    ) -> tuple[Key, str]:
        """Creates a key; returns it with the token, which cannot be read again."""
        now = datetime.now(UTC)
        if days is not None and not 0 < days <= 36_500:
            raise InvalidValue("days", "must be more than 0 and at most 36500", days)
        key = Key(
            id=secrets.token_hex(6),
            name=name,
            scopes=tuple(dict.fromkeys(scopes)),
            books=None if books is None else tuple(dict.fromkeys(books)),
            origins=tuple(dict.fromkeys(origins)),
            public=public,
            per_minute=per_minute,
            created_at=now,
            expires_at=None if days is None else now + timedelta(days=days),
        )
        secret = secrets.token_hex(32)
        async with self._database.begin() as connection:
            await connection.execute(insert(api_keys), _build_row(key) | {"hash": _hash_secret(secret)})
        return key, f"octv_{key.id}_{secret}"

    async def list_keys(self) -> list[Key]:
        """The oldest first, revoked and expired ones too."""
        async with self._database.connect() as connection:
            query = select(api_keys).order_by(api_keys.c.created_at, api_keys.c.id)
            return [_parse_key(row) for row in await connection.execute(query)]

    async def has_valid_key(self) -> bool:
        now = datetime.now(UTC)
        return any(key.is_valid(now) for key in await self.list_keys())

    async def revoke(self, key_id: str) -> Key:
        """Revokes a key now. Revoking it again changes nothing."""
        async with self._database.begin() as connection:
            query = select(api_keys).where(api_keys.c.id == key_id)
            row = (await connection.execute(query)).one_or_none()
            if row is None:
                raise NotFound("key", key_id, hint="`octavo keys list` shows them.")
            ended = row.revoked_at or datetime.now(UTC)
            changed = update(api_keys).where(api_keys.c.id == key_id).values(revoked_at=ended)
            await connection.execute(changed)
        self._known.pop(key_id, None)
        return replace(_parse_key(row), revoked_at=ended)

    async def check(self, token: str) -> Key:
        """Returns the key of a token; raises the same `AccessDenied` for every token that is not valid."""
        shape = _SHAPE.fullmatch(token)
        id_, secret = (shape[1], shape[2]) if shape else ("", token)
        key, kept = await self._look_up(id_) if shape else (None, _NO_HASH)
        same = hmac.compare_digest(_hash_secret(secret), kept)
        if key is None or not same or not key.is_valid(datetime.now(UTC)):
            raise deny_access()
        await self._save_use(key.id)
        return key

    async def list_origins(self) -> frozenset[str]:
        """Lists every site that a valid public key names."""
        now = self._clock()
        if self._origins is None or now - self._origins[0] >= FRESH_SECONDS:
            moment = datetime.now(UTC)
            found = {o for key in await self.list_keys() if key.is_valid(moment) for o in key.origins}
            self._origins = (now, frozenset(found))
        return self._origins[1]

    async def _look_up(self, id_: str) -> tuple[Key | None, str]:
        now = self._clock()
        known = self._known.get(id_)
        if known is not None and now - known[0] < FRESH_SECONDS:
            return known[1], known[2]
        async with self._database.connect() as connection:
            row = (await connection.execute(select(api_keys).where(api_keys.c.id == id_))).one_or_none()
        found = (None, _NO_HASH) if row is None else (_parse_key(row), str(row.hash))
        self._known[id_] = (now, *found)
        while len(self._known) > CACHED_KEYS:
            self._known.popitem(last=False)
        return found

    async def _save_use(self, id_: str) -> None:
        """Saves the last use now and then. A failure to do so does not refuse the key."""
        now = self._clock()
        if now - self._used.get(id_, -USE_SECONDS) < USE_SECONDS:
            return
        self._used[id_] = now
        with suppress(OctavoError):
            async with self._database.begin() as connection:
                used = update(api_keys).where(api_keys.c.id == id_).values(used_at=datetime.now(UTC))
                await connection.execute(used)


def deny_access() -> AccessDenied:
    """Builds the error for every caller without a valid key, whatever is wrong with it."""
    return AccessDenied(
        "a valid key is needed",
        hint="Send `Authorization: Bearer octv_…`; `octavo keys create` makes one.",
    )


def _hash_secret(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _build_row(key: Key) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": list(key.scopes),
        "books": None if key.books is None else list(key.books),
        "origins": list(key.origins),
        "public": int(key.public),
        "per_minute": key.per_minute,
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "used_at": key.used_at,
    }


def _parse_key(row: Any) -> Key:
    return Key(
        id=row.id,
        name=row.name,
        scopes=tuple(row.scopes),
        books=None if row.books is None else tuple(row.books),
        origins=tuple(row.origins),
        public=bool(row.public),
        per_minute=row.per_minute,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        used_at=row.used_at,
    )
