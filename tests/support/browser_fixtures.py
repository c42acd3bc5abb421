"""A pytest plugin: tests that ask for the `stage` run on the browser's thread; see `browser`.

The browser's own module is imported when it is first wanted, so that the other tests never load it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.answerers import add_tides
from tests.support.copies import copy_library

if TYPE_CHECKING:
    from tests.support.browser import BrowserThread, PageVisit


@pytest.fixture(scope="session")
def stage() -> Iterator[BrowserThread]:
    from tests.support.browser import BrowserThread

    made = BrowserThread()
    yield made
    made.close()


@pytest.fixture
def visit(stage: BrowserThread, base: str) -> Iterator[PageVisit]:
    """A page of one's own at the module's `base`. In the end it must have had no error."""
    from tests.support.browser import open_page

    with open_page(stage, base) as opened:
        yield opened
        stage.call(opened.assert_clean)


@pytest.fixture(scope="session")
def tides_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return add_tides(tmp_path_factory.mktemp("tides"))


@pytest.fixture
def tides(tides_made: Path, tmp_path: Path) -> Path:
    """A library with one small book, for this test alone."""
    return copy_library(tides_made, tmp_path / "library")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if "stage" not in pyfuncitem.funcargs or inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    stage: BrowserThread = pyfuncitem.funcargs["stage"]  # type: ignore[assignment]
    wanted = inspect.signature(pyfuncitem.obj).parameters
    given = {name: value for name, value in pyfuncitem.funcargs.items() if name in wanted}
    stage.call(lambda: pyfuncitem.obj(**given))
    return True
