"""The map on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from octavo.cli import octavo
from tests.support import mapped_books


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("maps")
    added = run(folder, "add", str(mapped_books.write_story(folder / "story.md")))
    assert added.exit_code == 0, added.output
    return folder


def run(data: Path, *arguments: str) -> Result:
    return CliRunner().invoke(octavo, ["--data", str(data / "library"), *arguments])


def test_a_map_shows_people_places_and_chapters(data: Path) -> None:
    shown = run(data, "map", "the-tide-clock").output
    lines = shown.splitlines()
    assert lines.index("People") < lines.index("Places") < lines.index("Chapters")
    assert "  Brandt (Captain Brandt)  19 mentions" in lines
    assert "  The Tooth  [the-tide-clock.the-tooth]" in lines or "  The Tooth  [the-tooth]" in lines


def test_a_name_is_shown_with_its_places_and_company(data: Path) -> None:
    shown = run(data, "map", "the-tide-clock", "Ysolde", "--mentions", "2").output
    assert shown.startswith("Ysolde  person, 10 mentions in ")
    assert "also Ysolde Crane" in shown
    assert "Her name was Ysolde Crane, and the village called her the Lamplighter." in shown
    assert "Occurs with" in shown
    assert "and 8 more; --mentions shows more of them" in shown


def test_json_has_the_same_in_full(data: Path) -> None:
    found = json.loads(run(data, "map", "the-tide-clock", "--json", "--top", "2").output)
    assert [e["name"] for e in found["entities"] if e["kind"] == "person"] == ["Edda", "Brandt"]
    assert len(found["chapters"]) == len(mapped_books.STORY)
    details = json.loads(run(data, "map", "the-tide-clock", "Finn", "--json").output)
    assert details["introduction"]["text"].startswith("His name was Finn")
    assert len(details["mentions"]) == details["mention_count"]


def test_up_to_hides_what_comes_later(data: Path) -> None:
    hidden = run(data, "map", "the-tide-clock", "Ysolde", "--up-to", "Captain Brandt")
    assert hidden.exit_code != 0
    read = run(data, "map", "the-tide-clock", "--up-to", "Captain Brandt").output
    assert "Ysolde" not in read
    assert "The Tooth" not in read


def test_maps_are_built_for_all_books(data: Path) -> None:
    assert run(data, "map", "--build").output == "the-tide-clock: ready\n"
    built = json.loads(run(data, "map", "the-tide-clock", "--build", "--json").output)
    assert built == {"books": [{"book_id": "the-tide-clock", "sections": 0}]}


def test_a_map_needs_a_book(data: Path) -> None:
    assert "Name a BOOK" in run(data, "map").output
