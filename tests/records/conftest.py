"""Fixtures that the tests of the records share. A module that needs another place defines its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from octavo.records.catalogue import Records
from octavo.records.database import Database
from tests.support.places import RecordsPlace


@pytest.fixture
async def records(place: RecordsPlace) -> AsyncIterator[Records]:
    """Records in SQLite, then in PostgreSQL."""
    opened = await Records.open(place.url)
    yield opened
    await opened.close()


@pytest.fixture
async def database(place: RecordsPlace) -> AsyncIterator[Database]:
    """A database in SQLite, then in PostgreSQL."""
    opened = await Database.open(place.url)
    yield opened
    await opened.close()


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[Database]:
    """A database of which the test knows that SQLite keeps it."""
    opened = await Database.open(tmp_path / "records.sqlite")
    yield opened
    await opened.close()
