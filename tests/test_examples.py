"""The examples run as they are, on a real book with the packaged model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
BOOK = """# Lighthouses

## The lamp

The lamp of the old lighthouse was lit by the keeper's daughter every evening at six.

## The storm

In the great storm of 1851 seven boats were lost on the reef below the tower.
"""


@pytest.mark.parametrize("name", ["ask.py", "search.py"])
def test_an_example_finds_its_sentence_and_says_where(name: str, tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text(BOOK, encoding="utf-8")
    command = [
        sys.executable,
        str(EXAMPLES / name),
        "book.md",
        "How many boats were lost in the great storm of 1851?",
    ]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "seven boats were lost on the reef" in said
    assert "Lighthouses › The storm" in said
