"""Notes and reading places over HTTP: whose they are, and how they are taken elsewhere."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.support.answerers import AllSentencesAnswerer, add_tides
from tests.support.serving import RunningService, create_key, serve_library

BOATS = "Seven boats were lost with all their nets."
BOOK = "/v1/books/the-tides"


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = add_tides(tmp_path_factory.mktemp("tides"))
    with serve_library(folder, answerer=AllSentencesAnswerer("boats"), keys_required=True) as served:
        yield served


def with_key(served: RunningService, name: str = "reader", **wishes: object) -> RunningService:
    return replace(served, key=create_key(served.folder, name, **wishes)[1])


def find_storm(served: RunningService) -> tuple[str, int]:
    sections = served.get(f"{BOOK}/contents").json["sections"]
    id_ = next(section["id"] for section in sections if section["title"] == "Storm")
    return id_, served.get(f"{BOOK}/sections/{id_}").json["text"].index(BOATS)


def add_note(served: RunningService, **more: object) -> str:
    section, at = find_storm(served)
    body = {"section_id": section, "start": at, "end": at + len(BOATS), **more}
    made = served.post(f"{BOOK}/notes", body)
    assert (made.status, made.json["text"], made.json["section"]) == (201, BOATS, "Storm")
    return str(made.json["id"])


def test_a_note_is_made_changed_listed_and_deleted(closed: RunningService) -> None:
    ann = with_key(closed, "ann")
    id_ = add_note(ann)
    changed = ann.call("PATCH", f"/v1/notes/{id_}", {"kind": "note", "comment": " so many "})
    assert (changed.status, changed.json["kind"], changed.json["comment"]) == (200, "note", "so many")
    (listed,) = ann.get(f"{BOOK}/notes").json["notes"]
    assert listed == changed.json
    assert ann.call("DELETE", f"/v1/notes/{id_}").status == 204
    assert ann.get(f"{BOOK}/notes").json["notes"] == []


def test_nobody_sees_or_touches_what_belongs_to_another(closed: RunningService) -> None:
    ann, ben = with_key(closed, "ann"), with_key(closed, "ben")
    id_ = add_note(ann)
    section, _ = find_storm(ann)
    assert ann.call("PUT", f"{BOOK}/place", {"section_id": section, "share": 0.5}).status == 200
    assert ben.get(f"{BOOK}/notes").json["notes"] == []
    assert ben.get("/v1/places").json["places"] == []
    assert ben.get("/v1/export/notes?format=json").json["notes"] == []
    assert ben.call("PATCH", f"/v1/notes/{id_}", {"comment": "mine"}).status == 404
    assert ben.call("DELETE", f"/v1/notes/{id_}").status == 404
    assert [place["share"] for place in ann.get("/v1/places").json["places"]] == [0.5]
    assert len(ann.get(f"{BOOK}/notes").json["notes"]) == 1


def test_strangers_who_share_a_key_have_no_notes(closed: RunningService) -> None:
    site = {"origin": "https://docs.example.com"}
    shared = with_key(closed, "site", public=True, origins=["https://docs.example.com"])
    for path in ("/v1/places", f"{BOOK}/notes", "/v1/export/notes"):
        assert shared.get(path, headers=site).status == 403


def test_a_key_for_other_books_reaches_neither_the_notes_nor_the_place(closed: RunningService) -> None:
    other = with_key(closed, "other", books=("another",))
    assert other.get(f"{BOOK}/notes").status == 404
    body = {"section_id": "x", "start": 0, "end": 1}
    assert other.post(f"{BOOK}/notes", body).status == 404
    assert other.call("PUT", f"{BOOK}/place", {"section_id": "x"}).status == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"section_id": "nowhere", "start": 0, "end": 4}, 404),
        ({"section_id": "STORM", "start": 5, "end": 5}, 422),
        ({"section_id": "STORM", "start": 0, "end": 10_000}, 422),
        ({"section_id": "STORM", "start": 0, "end": 4, "kind": "graffiti"}, 422),
        ({"section_id": "STORM", "start": 0, "end": 4, "owner": "ben"}, 422),
    ],
)
def test_a_note_on_nothing_is_refused(closed: RunningService, body: dict[str, object], status: int) -> None:
    ann = with_key(closed)
    if body["section_id"] == "STORM":
        body = {**body, "section_id": find_storm(ann)[0]}
    assert ann.post(f"{BOOK}/notes", body).status == status


def test_every_export_has_the_words_and_a_link_that_opens_them(closed: RunningService) -> None:
    ann = with_key(closed)
    add_note(ann, kind="note", comment="=HYPERLINK(1) [x](y)")
    section, at = find_storm(ann)
    link = (
        f"http://127.0.0.1:{ann.port}/#/books/the-tides/sections/{section}?start={at}&end={at + len(BOATS)}"
    )
    (made,) = ann.get("/v1/export/notes?format=json&book_id=the-tides").json["notes"]
    assert (made["text"], made["title"], made["link"].replace("%2F", "/")) == (BOATS, "The Tides", link)
    page = ann.get("/v1/export/notes?format=md").text
    assert f"> {BOATS}" in page
    assert made["link"] in page
    assert "[x](y)" not in page
    heads, row = csv.reader(io.StringIO(ann.get("/v1/export/notes?format=csv").text))
    assert dict(zip(heads, row, strict=True)) | {"Date": ""} == {
        "Highlight": BOATS,
        "Title": "The Tides",
        "Author": "",
        "URL": made["link"],
        "Note": "'=HYPERLINK(1) [x](y)",
        "Location": "Storm",
        "Date": "",
    }
