"""Printed pages over HTTP: images of the pages of a PDF, and boxes around its words."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

import pytest

from octavo.library.printed import make_page_tag
from octavo.limits import Limits
from tests.support import pdf_files
from tests.support.book_service import Service, serve_books

WORDS = ("The ferry leaves the north pier at seven.", "Nobody signs for the fog that comes with it.")
MORE = ("In winter it waits for the mail.", "The keeper of the lamp signs for both bags.")
TEXT = b"# The Tides\n\nThe tide comes in twice a day, and it never says why it does so.\n"


FERRY = pdf_files.make_book(
    [pdf_files.column(WORDS), pdf_files.column(MORE)], labels=b"0 << /S /r /St 4 >>", title="The Ferry"
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serve_books(tmp_path_factory.mktemp("printed") / "library") as made:
        assert made.taken_in(FERRY, name="ferry.pdf")["state"] == "done"
        assert made.taken_in(TEXT, name="tides.md")["state"] == "done"
        yield made


def test_a_book_says_whether_its_pages_can_be_shown(service: Service) -> None:
    listed = {book["id"]: book["printed"] for book in service.get("/v1/books").json["books"]}
    assert listed == {"the-ferry": True, "the-tides": False}
    assert service.get("/v1/books/the-ferry").json["printed"] is True


def test_a_page_is_sent_as_a_picture_of_the_width_that_is_asked_for(service: Service) -> None:
    got = service.get("/v1/books/the-ferry/pages/2", width=300)
    assert (got.status, got.headers["content-type"]) == (200, "image/png")
    assert got.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in got.headers["content-security-policy"]
    again = service.call(
        "GET", "/v1/books/the-ferry/pages/2?width=300", headers={"if-none-match": got.headers["etag"]}
    )
    assert again.status == 304


def test_a_page_that_the_browser_has_is_not_drawn_again(service: Service) -> None:
    made = pdf_files.objects([pdf_files.column(MORE), pdf_files.column(WORDS)])
    made[12] = b"null"
    torn = pdf_files.write_file(made)
    assert service.taken_in(torn, name="torn.pdf", title="Torn")["state"] == "done"
    path = "/v1/books/torn/pages/2?width=500"
    # This page cannot be drawn at all.
    assert service.call("GET", path).status == 422
    tag = make_page_tag(sha256(torn).hexdigest(), 2, width=500, limits=Limits())
    assert service.call("GET", path, headers={"if-none-match": f'"{tag}"'}).status == 304
    other = path.replace("500", "501")
    assert service.call("GET", other, headers={"if-none-match": f'"{tag}"'}).status == 422


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/books/the-ferry/pages/3", 404),
        ("/v1/books/the-ferry/pages/0", 422),
        ("/v1/books/the-ferry/pages/1?width=99999", 422),
        ("/v1/books/the-tides/pages/1", 404),
        ("/v1/books/nothing/pages/1", 404),
        ("/v1/books/the-ferry/sections/nothing/pages", 404),
        ("/v1/books/the-tides/sections/the-tides/pages", 404),
    ],
)
def test_what_cannot_be_shown_is_refused(service: Service, path: str, status: int) -> None:
    assert service.call("GET", path).status == status


def test_the_words_of_a_section_are_boxed_on_their_page(service: Service) -> None:
    (section,) = service.get("/v1/books/the-ferry/contents").json["sections"]
    text = service.get(f"/v1/books/the-ferry/sections/{section['id']}").json["text"]
    place = f"/v1/books/the-ferry/sections/{section['id']}/pages"
    start = text.index(MORE[1])
    pages = service.get(place, start=start, end=start + len(MORE[1])).json["pages"]
    assert [(page["number"], page["label"], len(page["boxes"])) for page in pages] == [
        (1, "iv", 0),
        (2, "v", 1),
    ]
    (box,) = pages[1]["boxes"]
    # The line stands 708 points above the foot of a page of 842, 72 from its left edge.
    assert box["left"] == pytest.approx(72 / 595, abs=0.01)
    assert box["top"] < (842 - 708) / 842 < box["bottom"]
    assert [len(page["boxes"]) for page in service.get(place).json["pages"]] == [0, 0]
    assert service.get(place, start=9, end=4).status == 422
