"""What many tests need: a PostgreSQL server for this process, and a fresh place for records.

Most tests are about other things than the models that come with Octavo and must be quick, so those are off
unless a test asks for `local_models`. The tests that go from end to end as a reader would (the examples, a
question at the command line, one to the service, one to the library) have them on.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from places import File, Place
from postgres import Server, Shelf

pytest_plugins = ["staging"]
LOCAL_MODELS = "OCTAVO_LOCAL_MODELS"


def pytest_configure() -> None:
    os.environ[LOCAL_MODELS] = "false"
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # started in the background, where Ctrl-C is ignored
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def local_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader and the verifier are used, as they are by default."""
    monkeypatch.delenv(LOCAL_MODELS)


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
