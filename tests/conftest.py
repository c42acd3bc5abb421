"""What many tests need: a PostgreSQL server for this process, and a fresh place for records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from places import File, Place
from postgres import Server, Shelf

pytest_plugins = ["staging"]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A running PostgreSQL; a test that stops it starts it again."""
    server = Server()
    yield server
    server.close()


@pytest.fixture(scope="session")
def _common_shelf(postgres: Server) -> Shelf:
    return Shelf(postgres, postgres.database())


@pytest.fixture
def shelf(_common_shelf: Shelf) -> Shelf:
    """A PostgreSQL database without a row in it."""
    _common_shelf.empty()
    return _common_shelf


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Where records can be opened: each test that takes this runs on both databases."""
    if request.param == "sqlite":
        return File(tmp_path / "records.sqlite")
    empty: Shelf = request.getfixturevalue("shelf")
    return empty
