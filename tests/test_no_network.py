"""Nothing is fetched, reported or left behind: a question needs the library's folder and no more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support import small_books


def octavo(home: Path, *said: str) -> str:
    """The command line of someone who has just come, with all models at work."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    environment = {**kept, "HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-m", "octavo.cli", *said],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    return done.stdout


def test_a_question_leaves_nothing_in_the_readers_home(tmp_path: Path) -> None:
    home, data = tmp_path / "home", str(tmp_path / "library")
    home.mkdir()
    octavo(home, "add", str(small_books.write_markdown(tmp_path / "tides.md")), "--data", data)
    assert "[1]" in octavo(home, "ask", "How far did the beam of the lighthouse reach?", "--data", data)
    assert list(home.rglob("*")) == []
