"""Keys: shown once, kept as a hash, refused alike for every reason."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import AccessDenied, InvalidValue, NotFound
from octavo.records.database import Database
from octavo.records.keys import FRESH_SECONDS, Key, Keyring
from octavo.records.tables import api_keys
from octavo.validation import parse_origin


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_a_key_has_256_random_bits_and_only_their_hash_is_stored(database: Database) -> None:
    ring = Keyring(database)
    key, token = await ring.create("laptop")
    start, id_, secret = token.split("_")
    assert (start, id_, len(bytes.fromhex(secret))) == ("octv", key.id, 32)
    async with database.connect() as connection:
        (row,) = (await connection.execute(api_keys.select())).all()
    assert row.hash == hashlib.sha256(secret.encode()).hexdigest()
    assert secret not in repr(tuple(row))
    assert (await ring.create("another"))[1].split("_")[2] != secret


async def test_the_right_key_is_known_with_all_that_it_may(database: Database) -> None:
    wishes = {"scopes": ("ask", "ingest"), "books": ["a", "b", "a"], "per_minute": 7}
    key, token = await Keyring(database).create("laptop", **wishes)  # type: ignore[arg-type]
    found = await Keyring(database).check(token)
    assert found == key
    assert (found.scopes, found.books, found.per_minute) == (("ask", "ingest"), ("a", "b"), 7)
    assert [found.allows(scope) for scope in ("ask", "ingest", "admin")] == [True, True, False]


async def test_every_key_that_does_not_work_is_refused_with_the_same_words(database: Database) -> None:
    ring = Keyring(database)
    key, token = await ring.create("good")
    _, expired = await ring.create("expired", days=1e-9)
    gone, revoked = await ring.create("revoked")
    await ring.revoke(gone.id)
    wrong = [
        "",
        "x",
        "octv__",
        token[:-1],
        token + "0",
        token.upper(),
        f"octv_{key.id}_{'0' * 64}",
        f"octv_{'0' * 12}_{token[-64:]}",
        f"{token}\n",
        expired,
        revoked,
        "octv_\ud800_é",
    ]
    said = set()
    for each in wrong:
        with pytest.raises(AccessDenied) as refused:
            await ring.check(each)
        said.add((refused.value.code, refused.value.message, refused.value.hint))
    assert len(said) == 1
    assert (await ring.check(token)).id == key.id


async def test_a_key_revoked_elsewhere_stops_working_within_a_second(database: Database) -> None:
    clock = Clock()
    here, elsewhere = Keyring(database, clock=clock), Keyring(database)
    key, token = await here.create("laptop")
    await here.check(token)
    await elsewhere.revoke(key.id)
    clock.now += FRESH_SECONDS
    with pytest.raises(AccessDenied):
        await here.check(token)
    assert FRESH_SECONDS <= 1


async def test_revoking_here_takes_effect_at_once_and_twice_changes_nothing(database: Database) -> None:
    ring = Keyring(database)
    key, token = await ring.create("laptop")
    await ring.check(token)
    first = await ring.revoke(key.id)
    assert (await ring.revoke(key.id)).revoked_at == first.revoked_at
    with pytest.raises(AccessDenied):
        await ring.check(token)
    with pytest.raises(NotFound, match="no key 'nothing'"):
        await ring.revoke("nothing")


async def test_the_list_has_every_key_and_when_it_was_used(database: Database) -> None:
    clock = Clock()
    ring = Keyring(database, clock=clock)
    assert not await ring.has_valid_key()
    first, token = await ring.create("first")
    second, _ = await ring.create("second", days=2)
    assert await ring.list_keys() == [first, second]
    await ring.check(token)
    used = (await ring.list_keys())[0].used_at
    assert used is not None
    await ring.check(token)
    assert (await ring.list_keys())[0].used_at == used  # not written down again so soon
    clock.now += 61
    await ring.check(token)
    assert ((await ring.list_keys())[0].used_at or used) > used
    assert await ring.has_valid_key()
    for key in (first, second):
        await ring.revoke(key.id)
    assert not await ring.has_valid_key()


async def test_the_origins_are_those_of_working_keys(database: Database) -> None:
    clock = Clock()
    ring = Keyring(database, clock=clock)
    key, _ = await ring.create("site", public=True, origins=["https://a.example"])
    assert await ring.list_origins() == {"https://a.example"}
    await ring.revoke(key.id)
    clock.now += FRESH_SECONDS
    assert await ring.list_origins() == frozenset()


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        ({"scopes": ()}, "at least one"),
        ({"scopes": ("read",)}, "must be one of ask, ingest, gaps, admin"),
        ({"books": ()}, "must name a book"),
        ({"per_minute": 0}, "integer from 1"),
        ({"public": True}, "must name the sites"),
        ({"public": True, "origins": ("https://a.example",), "scopes": ("ask", "ingest")}, "`ask` alone"),
        ({"origins": ("https://a.example/",)}, "a scheme and a host"),
        ({"origins": ("*",)}, "a scheme and a host"),
        ({"origins": ("null",)}, "a scheme and a host"),
        ({"days": 0}, "more than 0"),
    ],
)
async def test_a_key_that_makes_no_sense_is_not_made(
    database: Database, wishes: dict[str, object], said: str
) -> None:
    ring = Keyring(database)
    with pytest.raises(InvalidValue, match=said):
        await ring.create("odd", **wishes)  # type: ignore[arg-type]
    assert await ring.list_keys() == []


def test_a_key_expires_at_its_moment() -> None:
    noon = datetime(2025, 3, 1, 12, tzinfo=UTC)
    key = Key(id="k", name="n", scopes=("admin",), created_at=noon, expires_at=noon + timedelta(days=1))
    assert key.is_valid(noon + timedelta(hours=23))
    assert not key.is_valid(noon + timedelta(days=1))
    assert all(key.allows(scope) for scope in ("ask", "ingest", "admin"))


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://a.example/path?q#f", "https://a.example"),
        ("https://a.example:443", "https://a.example"),
        ("http://a.example:8080/", "http://a.example:8080"),
        ("http://[::1]:80", "http://[::1]"),
        ("HTTPS://A.example", "https://a.example"),
        ("null", ""),
        ("file:///etc/passwd", ""),
        ("https://", ""),
        ("https://a.example:99999", ""),
        ("https://a b", ""),
    ],
)
def test_the_origin_of_an_address_is_as_browsers_write_it(url: str, origin: str) -> None:
    assert parse_origin(url) == origin


@given(st.text())
def test_an_origin_is_its_own_origin_and_nothing_breaks_it(url: str) -> None:
    assert parse_origin(parse_origin(url)) == parse_origin(url)
