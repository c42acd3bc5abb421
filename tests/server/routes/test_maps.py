"""The map over HTTP: its shapes, its bounds, and whose books it shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tests.support.book_service import Service, serve_books
from tests.support.mapped_books import MANUAL, STORY

HOSTILE = """# Bad <script>

## One

We met Bob<img/src=x>Smith and Eve there. It was Eve again, and <b>Eve</b>.
"""


def write(chapters: dict[str, str], title: str) -> bytes:
    body = "".join(f"## {name}\n\n{text}\n\n" for name, text in chapters.items())
    return f"# {title}\n\n{body}".encode()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serve_books(tmp_path_factory.mktemp("maps") / "library") as made:
        assert made.taken_in(write(dict(STORY), "The Tide Clock"), name="story.md")["state"] == "done"
        assert made.taken_in(write(dict(MANUAL), "The Pottery"), name="manual.md")["state"] == "done"
        assert made.taken_in(HOSTILE.encode(), name="bad.md")["state"] == "done"
        yield made


def test_the_map_of_a_book(service: Service) -> None:
    found = service.get("/v1/books/the-tide-clock/map", limit=2).json
    assert [e["name"] for e in found["entities"] if e["kind"] == "person"] == ["Edda", "Brandt"]
    assert [chapter["title"] for chapter in found["chapters"]] == list(STORY)
    assert service.get("/v1/books/the-tide-clock/map", limit=0).status == 422
    assert service.get("/v1/books/nothing/map").status == 404


def test_a_name_is_looked_up_whatever_is_in_it(service: Service) -> None:
    found = service.get(f"/v1/books/the-tide-clock/map/{quote('Captain Brandt')}", mentions=1).json
    assert (found["name"], found["aliases"], len(found["mentions"])) == ("Brandt", ["Captain Brandt"], 1)
    assert service.get("/v1/books/the-pottery/map/kiln.toml").json["kind"] == "term"
    missing = service.get(f"/v1/books/the-tide-clock/map/{quote('no/such name', safe='')}")
    assert (missing.status, missing.code) == (404, "not_found")


def test_up_to_is_obeyed_on_the_server(service: Service) -> None:
    place = "/v1/books/the-tide-clock/map"
    assert service.get(f"{place}/Cormorant").status == 200
    assert service.get(f"{place}/Cormorant", up_to="The Box").status == 404
    read = json.dumps(service.get(place, up_to="The Box", limit=500).json)
    assert "Edda" in read
    assert "Cormorant" not in read
    assert "Aldous" not in read
    assert service.get(place, up_to="No such chapter").status == 404


def test_markup_in_a_book_stays_text(service: Service) -> None:
    book = next(b for b in service.get("/v1/books").json["books"] if b["id"].startswith("bad"))
    response = service.get(f"/v1/books/{book['id']}/map")
    assert response.headers["content-type"].startswith("application/json")
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "Eve" in [entity["name"] for entity in response.json["entities"]]
