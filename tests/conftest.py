"""What many tests need: a PostgreSQL server for this process, and a fresh place for records.

Most tests are about other things than the models that come with Octavo and must be quick, so those are off
unless a test asks for `local_models`. The tests that go from end to end as a reader would (the examples, a
question at the command line, one to the service, one to the library) have them on.

No test is judged by a clock: Hypothesis sets no deadlines and draws the same examples in every run, on every
machine (`--hypothesis-profile=default` looks for new ones). A test that hangs is ended after ten minutes,
with the stack of every thread.
"""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TextIO

import pytest
from hypothesis import HealthCheck, settings

from tests.support.patience import PATIENCE
from tests.support.places import RecordsPlace, SqliteFile
from tests.support.postgres import PostgresDatabase, PostgresServer

pytest_plugins = ["tests.support.browser_fixtures"]
LOCAL_MODELS = "OCTAVO_LOCAL_MODELS"
HANGS = 600.0  # seconds
FIRST = "test_widget_docusaurus.py"
settings.register_profile(
    "steady",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("steady")
STACKS = pytest.StashKey[TextIO]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[STACKS] = os.fdopen(os.dup(2), "w")  # what is written there is not captured
    os.environ[LOCAL_MODELS] = "false"
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # for tests that load the engine themselves
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # started in the background, where Ctrl-C is ignored
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the test that waits longest for others, so that the rest run beside it."""
    items.sort(key=lambda item: FIRST not in item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    faulthandler.dump_traceback_later(HANGS, exit=True, file=item.config.stash[STACKS])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def local_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader and the verifier are used, as they are by default."""
    monkeypatch.delenv(LOCAL_MODELS)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A running PostgreSQL; a test that stops it starts it again."""
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture(scope="session")
def _shared_database(postgres: PostgresServer) -> PostgresDatabase:
    return PostgresDatabase(postgres, postgres.database())


@pytest.fixture
def postgres_db(_shared_database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch) -> PostgresDatabase:
    """A PostgreSQL database without a row in it; whoever waits there for another has much patience."""
    from octavo.records import database

    monkeypatch.setattr(database, "SERVER_SECONDS", PATIENCE)
    patient = {"statement_timeout": "600000", "lock_timeout": "120000"}
    monkeypatch.setattr(database, "SERVER_SETTINGS", database.SERVER_SETTINGS | patient)
    _shared_database.empty()
    return _shared_database


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> RecordsPlace:
    """Where records can be opened: each test that takes this runs on both databases."""
    if request.param == "sqlite":
        return SqliteFile(tmp_path / "records.sqlite")
    empty: PostgresDatabase = request.getfixturevalue("postgres_db")
    return empty
