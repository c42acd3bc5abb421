"""Books over HTTP: sent in, listed, read, shown with their covers, and taken out."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from octavo.library import Library
from octavo.limits import MB
from octavo.readers.parsed import COVER_MOST_MB
from octavo.types import Book
from tests.records.test_covers import BY_PROPERTY, PNG, write_epub_with_cover
from tests.support import small_books
from tests.support.book_service import Service, ServiceResponse, serve_books

TIDES = b"# The Tides\n\n" + b"\n".join(
    f"## {name}\n\n{said}\n".encode() for name, said in small_books.TIDES.items()
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("books")
    with serve_books(folder / "library") as made:
        assert made.taken_in(TIDES)["state"] == "done"
        made.taken_in(covered(folder), name="hills.epub", title="Hills")
        yield made


def covered(folder: Path) -> bytes:
    """An EPUB with a cover, and other words than the tides."""
    path = write_epub_with_cover(
        folder / "hills.epub", BY_PROPERTY, {"pic.bin": PNG}, chapters={"One": "Goats graze on a hill."}
    )
    return path.read_bytes()


def test_a_book_that_was_sent_can_be_asked(service: Service) -> None:
    answer = service.post("/v1/ask", {"question": "How many boats were lost?", "book_id": "the-tides"}).json
    assert "Seven boats were lost" in answer["answer"]


def test_books_are_listed_page_by_page(service: Service) -> None:
    first = service.get("/v1/books", limit=1).json
    assert [book["id"] for book in first["books"]] == ["hills"]
    second = service.get("/v1/books", limit=1, after=first["next"]).json
    assert ([book["id"] for book in second["books"]], second["next"]) == (["the-tides"], None)
    assert service.get("/v1/books", limit=0).status == 422


def test_one_book_is_found_by_its_id(service: Service) -> None:
    book = service.get("/v1/books/the-tides").json
    assert (book["title"], book["format"], book["section_count"]) == ("The Tides", "markdown", 4)
    missing = service.get("/v1/books/the-waves")
    assert (missing.status, missing.code) == (404, "not_found")


def test_a_section_comes_with_its_text_and_the_places_in_it(service: Service) -> None:
    sections = service.get("/v1/books/the-tides/contents").json["sections"]
    storm = next(section for section in sections if section["title"] == "Storm")
    read = service.get(f"/v1/books/the-tides/sections/{storm['id']}").json
    assert read["text"] == small_books.TIDES["Storm"]
    assert (read["blocks"], read["pages"], read["characters"]) == ([], [], len(read["text"]))
    assert read["language"] == ""
    assert service.get("/v1/books/the-tides/sections/nothing").code == "not_found"


def test_pages_of_a_section_are_told_with_their_labels(service: Service, tmp_path: Path) -> None:
    pages = [
        ["PREFACE", "The harbour was old before the lighthouse was built."],
        ["More was said of it later."],
    ]
    data = small_books.write_pdf(tmp_path / "paged.pdf", pages, roman=2).read_bytes()
    book_id = service.taken_in(data, name="paged.pdf", title="Paged")["book_id"]
    sections = service.get(f"/v1/books/{book_id}/contents").json["sections"]
    read = [service.get(f"/v1/books/{book_id}/sections/{s['id']}").json for s in sections]
    marks = [mark for section in read for mark in section["pages"]]
    assert {(mark["number"], mark["label"]) for mark in marks} == {(1, "i"), (2, "ii")}
    assert service.call("DELETE", f"/v1/books/{book_id}").status == 204


def test_a_cover_is_sent_as_the_picture_that_it_is(service: Service) -> None:
    got = service.get("/v1/books/hills/cover")
    assert (got.status, got.body, got.headers["content-type"]) == (200, PNG, "image/png")
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.headers["etag"].startswith('"')


@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}'])
def test_a_cover_that_the_browser_has_is_not_sent_again(service: Service, form: str) -> None:
    tag = service.get("/v1/books/hills/cover").headers["etag"]
    again = service.call("GET", "/v1/books/hills/cover", headers={"if-none-match": form.format(tag)})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)


def test_a_book_says_whether_there_is_a_cover_to_ask_for(service: Service) -> None:
    listed = {book["id"]: book["cover"] for book in service.get("/v1/books").json["books"]}
    assert {name: listed[name] for name in ("hills", "the-tides")} == {"hills": True, "the-tides": False}
    for name in ("hills", "the-tides"):
        assert service.get(f"/v1/books/{name}").json["cover"] is listed[name]
        assert (service.get(f"/v1/books/{name}/cover").status == 200) is listed[name]


def test_a_book_without_a_cover_says_so(service: Service) -> None:
    got = service.get("/v1/books/the-tides/cover")
    assert (got.status, got.code) == (404, "not_found")


def change(service: Service, said: dict[str, Any], *, book: str = "the-tides") -> ServiceResponse:
    kind = {"content-type": "application/json"}
    return service.call("PATCH", f"/v1/books/{book}", json.dumps(said).encode(), headers=kind)


def test_title_address_and_cover_of_a_book_can_be_changed(service: Service) -> None:
    before = service.get("/v1/books/the-tides").json
    said = {"title": "  The  Ebb ", "base_url": "https://example.org/ebb", "cover": b64encode(PNG).decode()}
    got = change(service, {"title": said["title"], "cover": said["cover"]})
    assert (got.status, got.json["title"], got.json["cover"]) == (200, "The Ebb", True)
    assert service.get("/v1/books/the-tides/cover").body == PNG
    found = service.post("/v1/search", {"query": small_books.TIDES["Storm"], "book_id": "the-tides"}).json
    assert {result["source_title"] for result in found["results"]} == {"The Ebb"}
    refused = change(service, {"base_url": said["base_url"]})
    assert refused.status == 422
    assert b"when this book is added" in refused.body
    back = change(service, {"title": before["title"], "cover": ""}).json
    assert (back["title"], back["cover"], back["chunk_count"]) == ("The Tides", False, before["chunk_count"])


def test_a_cover_may_be_as_large_as_is_said_and_no_larger(service: Service) -> None:
    largest = PNG.ljust(COVER_MOST_MB * MB, b"\0")
    assert change(service, {"cover": b64encode(largest).decode()}).status == 200
    assert service.get("/v1/books/the-tides/cover").body == largest
    assert change(service, {"cover": b64encode(largest + b"\0\0\0").decode()}).status == 422
    assert change(service, {"cover": b64encode(2 * largest).decode()}).status == 413
    assert change(service, {"cover": ""}).status == 200


@pytest.mark.parametrize(
    "body", [{"cover": "no base64!"}, {"cover": "AAAA"}, {"title": ""}, {"title": " "}, {"x": 1}]
)
def test_a_change_that_makes_no_sense_is_refused(service: Service, body: dict[str, Any]) -> None:
    assert change(service, body).status == 422
    assert service.get("/v1/books/the-tides").json["title"] == "The Tides"


@pytest.mark.parametrize(
    "body",
    [
        {"tags": ["drawn"], "cover": "aGVsbG8="},
        {"tags": ["moved"], "base_url": "https://example.org/ebb"},
        {"tags": ["named"], "title": "\u200b"},
        {"tags": ["\u200b"], "title": "The Ebb"},
    ],
)
def test_a_refused_change_changes_nothing(service: Service, body: dict[str, Any]) -> None:
    before = service.get("/v1/books/the-tides").json
    assert change(service, body).status == 422
    assert service.get("/v1/books/the-tides").json == before


def test_a_removed_book_is_gone_with_all_that_was_stored_of_it(service: Service, tmp_path: Path) -> None:
    path = write_epub_with_cover(
        tmp_path / "x.epub", BY_PROPERTY, {"pic.bin": PNG}, chapters={"A": "Bees hum in the clover."}
    )
    book_id = service.taken_in(path.read_bytes(), name="x.epub", title="Bees")["book_id"]
    assert service.get(f"/v1/books/{book_id}/cover").status == 200
    gone = service.call("DELETE", f"/v1/books/{book_id}")
    assert (gone.status, gone.body) == (204, b"")
    for path_ in ("", "/cover", "/contents", "/sections/s1"):
        assert service.get(f"/v1/books/{book_id}{path_}").status == 404
    assert service.call("DELETE", f"/v1/books/{book_id}").status == 404
    found = service.post("/v1/search", {"query": "bees hum in the clover"}).json["results"]
    assert all(result["book_id"] != book_id for result in found)


def test_a_new_edition_replaces_the_old_one(service: Service) -> None:
    first = service.taken_in(b"# Ebb\n\nThe first edition says one.", name="ebb.md")
    second = service.taken_in(
        b"# Ebb\n\nThe second edition says two.", name="ebb.md", book_id=first["book_id"]
    )
    assert second["book_id"] == first["book_id"] == "ebb"
    found = service.post("/v1/search", {"query": "edition says", "book_id": "ebb"}).json["results"]
    assert [result["content"] for result in found] == ["The second edition says two."]


@pytest.mark.parametrize(
    "address",
    [
        "http://169.254.169.254/latest",
        "http://127.1/",
        "http://[::1]/",
        "http://0x7f000001",
        "file:///etc/passwd",
    ],
)
def test_an_address_is_never_fetched(service: Service, address: str) -> None:
    refused = service.post("/v1/books", {"url": address})
    assert (refused.status, refused.code) == (422, "url_refused")
    assert "file" in refused.json["hint"]


def test_books_are_listed_by_author_subject_and_language(service: Service) -> None:
    change(service, {"authors": ["Ann Writer"]}, book="hills")
    for query, wanted in (
        ("author=writer", ["hills"]),
        ("author=writer&language=zz", []),
        ("author=nobody", []),
        ("subject=cooking", []),
    ):
        listed = service.get(f"/v1/books?{query}").json["books"]
        assert [book["id"] for book in listed] == wanted, query
    assert service.get("/v1/books?language=%00").status == 422


def test_tags_choose_the_books_of_a_request(service: Service) -> None:
    tagged = change(service, {"tags": ["High", "short"]}, book="hills")
    assert (tagged.status, tagged.json["tags"]) == (200, ["high", "short"])
    change(service, {"tags": ["short"]})
    assert change(service, {"title": "The Tides"}).json["tags"] == ["short"]
    listed = service.get("/v1/books?tag=high").json["books"]
    assert [(book["id"], book["tags"]) for book in listed] == [("hills", ["high", "short"])]
    for tags, books, wanted in (
        (["high"], None, {"hills"}),
        (["short"], None, {"hills", "the-tides"}),
        (["short"], ["the-tides"], {"the-tides"}),
        (["high", "short"], ["the-tides", "hills"], {"hills", "the-tides"}),
    ):
        body = {"query": "goats, boats and tides", "top_k": 50, "tags": tags, "books": books}
        found = service.post("/v1/search", body).json["results"]
        assert {item["book_id"] for item in found} == wanted
    for path in ("/v1/ask", "/query"):
        asked = service.post(path, {"question": "How many boats were lost?", "tags": ["high"]})
        assert asked.status == 200
        assert "boats" not in asked.json["answer"]
    for named in ({"books": ["the-tides"]}, {"book_id": "the-tides"}):
        neither = service.post("/v1/search", {"query": "goats", "tags": ["high"], **named})
        assert (neither.status, neither.code) == (404, "not_found")
        assert "no book named the-tides with the tag 'high' here" in neither.json["detail"]
    unknown = service.post("/v1/search", {"query": "goats", "tags": ["deep"]})
    assert (unknown.status, unknown.code) == (404, "not_found")
    assert service.post("/v1/search", {"query": "goats", "tags": ["x" * 51]}).status == 422
    assert change(service, {"tags": []}, book="hills").json["tags"] == []
    change(service, {"tags": []})


def test_a_change_of_a_book_keeps_what_another_does_to_its_tags_meanwhile(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(service, {"tags": ["old", "kept", "gone"]}, book="hills")
    library: Library = service.app.state.library
    edit = library.edit

    async def edit_beside_another(
        name: str, *, title: str | None, base_url: str | None, cover: bytes | None
    ) -> Book:
        await library.tag(name, add=["theirs"], remove=["gone"])
        return await edit(name, title=title, base_url=base_url, cover=cover)

    monkeypatch.setattr(library, "edit", edit_beside_another)
    changed = change(service, {"title": "Hills", "tags": ["kept", "gone", "mine"]}, book="hills")
    assert (changed.status, changed.json["tags"]) == (200, ["kept", "mine", "theirs"])
    change(service, {"tags": []}, book="hills")
