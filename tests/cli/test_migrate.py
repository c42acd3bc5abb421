"""`octavo migrate` and `octavo attach` as they are typed: what they print, and how they fail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from octavo.cli import octavo
from octavo.errors import OctavoError, StoreError
from octavo.models.loading import load_embedder
from octavo.settings import Settings
from tests.support.answerers import add_tides
from tests.support.foreign_collections import ROBOTS, fill_collection
from tests.support.qdrant_server import QdrantServer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[QdrantServer]:
    with QdrantServer(tmp_path / "qdrant", key="sesame") as running:
        yield running


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTAVO_STORE_KEY", "sesame")
    monkeypatch.setenv("OCTAVO_FREE_SPACE_MB", "0")


def run(*words: str | Path, typed: str | None = None) -> Result:
    result = CliRunner().invoke(octavo, [str(word) for word in words], input=typed)
    if result.exception and isinstance(result.exception, OctavoError):
        raise result.exception
    return result


def test_a_move_says_what_was_moved_and_which_settings_to_use(tmp_path: Path, server: QdrantServer) -> None:
    data = add_tides(tmp_path)
    said = run("--data", data, "migrate", "--to", server.url)
    assert said.exit_code == 0
    place = f"{server.url}/collections/ai_book_embedding"
    assert said.output.splitlines() == [
        f"4 passages are in {place} (4 written now), all verified.",
        "Use these settings from now on:",
        f"  OCTAVO_STORE_URL={server.url}",
        "  OCTAVO_RECORDS_URL not set",
    ]
    again = json.loads(run("migrate", "--data", data, "--to", server.url, "--json").output)
    assert (again["chunks"], again["written"], again["store"]) == (4, 0, place)
    assert again["settings"] == {"OCTAVO_STORE_URL": server.url, "OCTAVO_RECORDS_URL": ""}


def test_a_move_with_records_counts_their_rows(tmp_path: Path, server: QdrantServer) -> None:
    data, records = add_tides(tmp_path), tmp_path / "elsewhere.sqlite"
    said = run("--data", data, "migrate", "--to", server.url, "--records", records).output.splitlines()
    assert said[1].endswith(f"tables are in {records}, all verified.")
    assert said[-1] == f"  OCTAVO_RECORDS_URL={records}"


def test_a_move_to_nowhere_says_so(tmp_path: Path) -> None:
    assert run("migrate", "--data", tmp_path).exit_code == 2


def test_attaching_says_what_has_become_of_it(
    tmp_path: Path, server: QdrantServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with QdrantServer(tmp_path / "open") as theirs:
        fill_collection(theirs, ROBOTS, embedder=load_embedder(Settings(data=tmp_path)))
        data = tmp_path / "library"
        said = run("--data", data, "attach", theirs.url, "--title", "Robots")
        assert (
            said.output
            == "robots: attached as a copy (3 sections, 5 passages). Attach it again to update it.\n"
        )
        assert "robots: unchanged" in run("--data", data, "attach", theirs.url, "--title", "Robots").output
        as_json = json.loads(run("attach", theirs.url, "--title", "Robots", "--data", data, "--json").output)
        assert (as_json["book"]["id"], as_json["unchanged"]) == ("robots", True)
        assert "chunk_id" in run("--data", data, "search", "gripper", "--json").output
        assert not any("api-key" in request for request in theirs.requests)
    monkeypatch.setenv("OCTAVO_STORE_KEY", "")
    with pytest.raises(StoreError, match="refused the key"):
        run("--data", data, "attach", server.url)
    with pytest.raises(OctavoError, match="no collection 'ai_book_embedding'"):
        run("--data", data, "attach", server.url, "--key-file", "-", typed="sesame\n")
