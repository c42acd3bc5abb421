"""Tests of this folder run on the browser's thread; see `browser`."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Stage

from answerers import with_tides


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    made.close()


@pytest.fixture(scope="session")
def tides_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_tides(tmp_path_factory.mktemp("tides"))


@pytest.fixture
def tides(tides_made: Path, tmp_path: Path) -> Path:
    """A library with one small book, for this test alone."""
    return Path(shutil.copytree(tides_made, tmp_path / "library"))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    stage = pyfuncitem.funcargs.get("stage")
    if not isinstance(stage, Stage) or inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    given = {name: value for name, value in pyfuncitem.funcargs.items() if name in wanted}
    stage.call(lambda: pyfuncitem.obj(**given))
    return True
