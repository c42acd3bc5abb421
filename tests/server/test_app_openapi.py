"""The API's description is what is sent: a response has the fields that it names and no others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from tests.support import book_service, pdf_files, small_books
from tests.support.answerers import fill_library
from tests.support.book_service import Service, ServiceResponse
from tests.support.json_schemas import forbid_other_keys

LOST = "How many boats were lost?"
JSON, PROBLEM = "application/json", "application/problem+json"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("openapi")
    books = (
        small_books.write_markdown(folder / "tides.md"),
        small_books.write_epub(folder / "hills.epub", title="Hills"),
    )
    with book_service.serve_books(fill_library(folder / "library", *books)) as served:
        yield served


def change(service: Service, method: str, path: str, body: object) -> ServiceResponse:
    sent = {"content-type": JSON}
    return service.call(method, path, json.dumps(body).encode(), headers=sent)


def call_routes_of_notes(service: Service) -> Iterator[tuple[str, str, ServiceResponse]]:
    place = change(service, "PUT", "/v1/books/the-tides/place", {"section_id": "storm", "offset": 3})
    yield "put", "/v1/books/{book_id}/place", place
    same = change(service, "PATCH", "/v1/books/the-tides", {"title": "The Tides"})
    yield "patch", "/v1/books/{book_id}", same
    yield "get", "/v1/places", service.get("/v1/places")
    made = service.post("/v1/books/the-tides/notes", {"section_id": "storm", "start": 0, "end": 7})
    yield "post", "/v1/books/{book_id}/notes", made
    changed = change(service, "PATCH", f"/v1/notes/{made.json['id']}", {"comment": "A storm."})
    yield "patch", "/v1/notes/{note_id}", changed
    yield "get", "/v1/books/{book_id}/notes", service.get("/v1/books/the-tides/notes")
    yield "get", "/v1/export/notes", service.get("/v1/export/notes", format="json")


def call_every_route(service: Service) -> Iterator[tuple[str, str, ServiceResponse]]:
    """Each route that responds with JSON: its method, its path in the description, and a real response."""

    def get(path: str, **names: str) -> tuple[str, str, ServiceResponse]:
        return "get", path, service.get(path.format(**names))

    def post(path: str, body: object, **names: str) -> tuple[str, str, ServiceResponse]:
        return "post", path, service.post(path.format(**names), body)

    yield get("/healthz")
    yield get("/readyz")
    yield get("/v1/config")
    yield get("/v1/books")
    yield get("/v1/books/{book_id}", book_id="the-tides")
    yield get("/v1/books/{book_id}/contents", book_id="the-tides")
    yield get("/v1/books/{book_id}/sections/{section_id}", book_id="the-tides", section_id="storm")
    yield get("/v1/books/{book_id}/gaps", book_id="the-tides")
    yield get("/v1/books/{book_id}/map", book_id="the-tides")
    yield get("/v1/books/{book_id}/map/{name}", book_id="the-tides", name="boats")
    yield post("/v1/search", {"query": LOST})
    yield post("/v1/check", {"claim": "Nine boats were lost.", "passages": [small_books.TIDES["Storm"]]})
    yield post("/query", {"question": LOST})
    harbour = {"type": "section-specific", "identifier": "Harbour"}
    yield post("/v1/ask", {"question": LOST, "book_id": "the-tides", "scope": harbour})
    yield post("/v1/ask", {"question": LOST, "session_id": "talk"})
    method, path, answered = post("/v1/ask", {"question": "And when were they lost?", "session_id": "talk"})
    yield method, path, answered
    answer_id = answered.json["answer_id"]
    yield get("/v1/answers/{answer_id}", answer_id=answer_id)
    yield get("/v1/answers/{answer_id}/verification", answer_id=answer_id)
    yield get("/v1/answers/{answer_id}/trace", answer_id=answer_id)
    yield post("/v1/sessions", {})
    yield get("/v1/sessions")
    yield get("/v1/sessions/{session_id}", session_id="talk")
    export = service.get("/v1/sessions/talk/export", format="json")
    yield "get", "/v1/sessions/{session_id}/export", export
    named = change(service, "PATCH", "/v1/sessions/talk", {"title": "Boats"})
    yield "patch", "/v1/sessions/{session_id}", named
    yield from call_routes_of_notes(service)
    queued = service.send(b"# Fen\n\nThe fen was drained in a single dry summer.\n", name="fen.md")
    yield "post", "/v1/books", queued
    yield "get", "/v1/jobs/{job_id}", service.get(f"/v1/jobs/{queued.json['job']['job_id']}")
    failed = service.ended(service.send(b"%PDF-1.4 nothing", name="bad.pdf").json["job"]["job_id"])
    assert failed["error"]
    yield "get", "/v1/jobs/{job_id}", service.get(f"/v1/jobs/{failed['job_id']}")
    yield "delete", "/v1/jobs/{job_id}", service.call("DELETE", f"/v1/jobs/{failed['job_id']}")
    yield get("/v1/jobs")
    ferry = pdf_files.make_book([pdf_files.column(("The ferry leaves at dawn.",))], title="The Ferry")
    assert service.taken_in(ferry, name="ferry.pdf")["state"] == "done"
    (part,) = service.get("/v1/books/the-ferry/contents").json["sections"]
    printed = "/v1/books/{book_id}/sections/{section_id}/pages"
    yield get(printed, book_id="the-ferry", section_id=part["id"])


def json_routes(api: dict[str, Any]) -> set[tuple[str, str]]:
    return {
        (method, path)
        for path, methods in api["paths"].items()
        for method, route in methods.items()
        for status, response in route["responses"].items()
        if status.startswith("2") and JSON in response.get("content", {})
    }


def test_every_response_has_the_fields_that_its_description_names_and_no_others(service: Service) -> None:
    api = forbid_other_keys(service.get("/openapi.json").json)
    called = set()
    for method, path, got in call_every_route(service):
        response = api["paths"][path][method]["responses"][str(got.status)]
        schema = response["content"][JSON]["schema"] | {"components": api["components"]}
        Draft202012Validator(schema).validate(got.json)
        assert got.status < 300, (method, path, got.body)
        called.add((method, path))
    assert called == json_routes(api)


def test_an_error_has_the_fields_that_its_description_names_and_no_others(service: Service) -> None:
    api = forbid_other_keys(service.get("/openapi.json").json)
    got = service.get("/v1/books/nothing")
    response = api["paths"]["/v1/books/{book_id}"]["get"]["responses"]["404"]
    Draft202012Validator(response["content"][PROBLEM]["schema"]).validate(got.json)
    assert set(got.json) == {"type", "title", "status", "code", "detail", "hint", "request_id"}


def test_a_field_that_is_sent_and_not_described_would_be_noticed(service: Service) -> None:
    api = forbid_other_keys(service.get("/openapi.json").json)
    schema = {"$ref": "#/components/schemas/BookWithCoverJson", "components": api["components"]}
    book = service.get("/v1/books/the-tides").json
    assert Draft202012Validator(schema).is_valid(book)
    assert not Draft202012Validator(schema).is_valid(book | {"colour": "red"})
    assert not Draft202012Validator(schema).is_valid({k: v for k, v in book.items() if k != "cover"})


@pytest.mark.parametrize(
    ("path", "status", "media_type", "fields"),
    [
        ("/healthz", "200", JSON, {"status"}),
        ("/readyz", "200", JSON, {"status", "books"}),
        ("/readyz", "503", PROBLEM, {"type", "title", "status", "code", "detail"}),
    ],
)
def test_fields_that_are_always_sent_are_required(
    service: Service, path: str, status: str, media_type: str, fields: set[str]
) -> None:
    api = service.get("/openapi.json").json
    schema = api["paths"][path]["get"]["responses"][status]["content"][media_type]["schema"]
    if "$ref" in schema:
        schema = api["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    assert set(schema["required"]) == fields
