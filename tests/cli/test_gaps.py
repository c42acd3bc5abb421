"""The gap report on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from octavo.cli import octavo
from tests.support import small_books


def test_a_question_that_was_refused_is_shown_with_the_nearest_section(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OCTAVO_DATA", str(tmp_path / "library"))
    monkeypatch.setenv("OCTAVO_LOCAL_MODELS", "false")
    run = CliRunner().invoke
    assert "has no books" in run(octavo, ["gaps"]).stderr
    assert run(octavo, ["add", str(small_books.write_markdown(tmp_path / "tides.md"))]).exit_code == 0
    assert run(octavo, ["ask", "What does a violin cost in Vienna?"]).exit_code == 3
    shown = run(octavo, ["gaps", "the-tides"]).stdout
    assert "The Tides  1 of 1 question without a good answer since " in shown
    assert "  1. What does a violin cost in Vienna?" in shown
    assert "1 refused; last " in shown
    (report,) = json.loads(run(octavo, ["gaps", "--json"]).stdout)["books"]
    assert report["gaps"][0]["sections"][0]["section_id"]
    monkeypatch.setenv("OCTAVO_LOG_QUESTIONS", "false")
    assert "OCTAVO_LOG_QUESTIONS is false" in run(octavo, ["gaps", "the-tides"]).stderr
