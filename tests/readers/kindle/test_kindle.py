"""Kindle books, old and new: contents, text, links and pictures; locked and damaged ones are refused."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers import read_book
from octavo.readers.kindle.palm import unpack
from octavo.readers.parsed import ParsedBook
from octavo.types import BookFormat, BookMetadata, Element, ElementKind
from tests.support.kindle_files import (
    HUFF,
    PALMDOC,
    make_new,
    make_old,
    write_codes,
    write_huff,
    write_phrases,
)

PNG = b"\x89PNG\r\n\x1a\n" + bytes(30)
SAID = [
    (100, b"Ann Writer"),
    (101, b"North Pier Press"),
    (104, b"978-0-14-243724-7"),
    (105, b"Ferries"),
    (105, b"Fog"),
    (106, b"1999-02-03T00:00:00+00:00"),
    (503, b"The Ferry"),
    (524, b"en"),
    (201, b"\0\0\0\0"),
]
ONE = "<h2>Morning</h2><p>The ferry leaves the north pier at seven, as the bell says.</p>"
TWO = "<p>Nobody signs for the fog that comes with it. See <a filepos=%010d>the morning</a>.</p>"


def make_old_book(**more: object) -> bytes:
    head = "<html><head><guide></guide></head><body><p>For the keeper — of the lamp.</p><mbp:pagebreak/>"
    first = len(head.encode())
    text = head + ONE + '<img recindex="00001"/><mbp:pagebreak/>'
    second = len(text.encode())
    text += "<h2>Evening</h2>"
    third = len(text.encode())
    text += TWO % first + "</body></html>"
    contents = [(first, 0, "Morning"), (second, 0, "Evening"), (third, 1, "Fog")]
    return make_old(text.encode(), contents, pictures=[PNG], said=SAID, **more)  # type: ignore[arg-type]


def make_new_book() -> bytes:
    link = "kindle:pos:fid:0000:off:0000000000"
    pages = [
        (b"<html><body><div>", ONE.encode() + b'<img src="kindle:embed:0001?mime=image/png"/>', b"</div>"),
        (
            b"<html><body>",
            f'<h2>Evening</h2><p>Nobody signs for the fog, <a href="{link}">as said</a>.</p>'.encode(),
            b"</body></html>",
        ),
    ]
    place = pages[1][1].index(b"<p>")
    contents = [(0, 0, 0, "Morning"), (1, 0, 0, "Evening"), (1, place, 1, "Fog")]
    return make_new(pages, contents, said=SAID, pictures=[PNG])


def make_coded_book() -> bytes:
    """A book whose text is codes for phrases."""
    phrases = [b"<h1>Fog</h1><p>The", b" fog", b" comes and the", b" goes.</p>"]
    # The fifth phrase is the code of the second: it has to be unpacked itself.
    return make_old(
        b"?" * 70,
        compression=HUFF,
        packed=[write_codes([0, 4, 2, 1, 3])],
        numbers={112: 2, 116: 2},
        more=[write_huff(), write_phrases(phrases, [write_codes([1])])],
    )


def read(folder: Path, data: bytes, name: str = "tale.azw3") -> ParsedBook:
    path = folder / name
    path.write_bytes(data)
    return read_book(path, Limits())


def find_links(elements: tuple[Element, ...]) -> list[object]:
    return [e.attributes.get("section") for e in elements if e.kind is ElementKind.LINK]


@pytest.mark.parametrize("make", [make_old_book, make_new_book])
def test_contents_text_links_and_pictures_are_read(tmp_path: Path, make: object) -> None:
    book = read(tmp_path, make())  # type: ignore[operator]
    paths = [section.heading_path for section in book.sections]
    assert paths[-3:] == [("Morning",), ("Evening",), ("Evening", "Fog")]
    morning, _, fog = book.sections[-3:]
    assert morning.text.startswith("The ferry leaves the north pier at seven")
    assert fog.text.startswith("Nobody signs for the fog")
    assert find_links(fog.markup) == [book.sections.index(morning)]
    assert list(book.images.values()) == [PNG]
    assert book.cover is not None
    assert (book.title, book.format, book.authors, book.language) == (
        "The Ferry",
        BookFormat.MOBI,
        ("Ann Writer",),
        "en",
    )
    assert book.metadata == BookMetadata(
        subjects=("Ferries", "Fog"),
        publisher="North Pier Press",
        published="1999-02-03",
        identifiers=("isbn:9780142437247",),
    )


def test_text_before_the_first_entry_is_kept(tmp_path: Path) -> None:
    book = read(tmp_path, make_old_book(), "tale.mobi")
    assert book.sections[0].heading_path == ("The Ferry",)
    assert book.sections[0].text == "For the keeper — of the lamp."


def test_a_book_without_an_index_is_divided_by_its_headings(tmp_path: Path) -> None:
    text = b"<html><body><h1>One</h1><p>First words.</p><h1>Two</h1><p>Second words.</p></body></html>"
    book = read(tmp_path, make_old(text))
    assert [section.title for section in book.sections] == ["One", "Two"]
    assert "no table of contents" in book.warnings[0]
    assert book.title == "A Tale"


def test_text_is_unpacked_and_what_stands_behind_it_is_dropped(tmp_path: Path) -> None:
    assert unpack(b"\x02\x00\x01ab\x80\x11\xe1\x00") == b"\x00\x01" + b"ab" + b"abab" + b" a" + b"\x00"
    assert unpack(b"a\x80\x50") == b"a"
    assert unpack(b"\x08ab") == b"ab"
    first = b"<p>The fog comes" + b"\xe1" + b"nd goes."
    # Three bytes that belong to a letter, and two of another kind; each says how many.
    records = [first + b"yz\x02" + b"q\x82", b"</p><h1>End</h1><p>No more.</p>" + b"\x00" + b"\x81"]
    book = read(tmp_path, make_old(b"?" * 60, compression=PALMDOC, packed=records, flags=0b11))
    assert book.sections[0].text == "The fog comes and goes."


def test_a_locked_book_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(BadBook, match="locked by its publisher with Kindle DRM") as refused:
        read(tmp_path, make_old(b"text", encryption=2))
    assert refused.value.code == "drm"


def test_a_compression_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    for compression in (3, 17480):
        with pytest.raises(BadBook, match="compressed in an unknown way"):
            read(tmp_path, make_old(b"text", compression=compression))


def test_a_book_with_codes_and_phrases_is_unpacked(tmp_path: Path) -> None:
    book = read(tmp_path, make_coded_book())
    assert [section.title for section in book.sections] == ["Fog"]
    assert book.sections[0].text == "The fog comes and the fog goes."


@pytest.mark.parametrize("make", [make_old_book, make_new_book, make_coded_book])
def test_a_damaged_book_is_read_or_refused_and_never_an_error_of_ours(tmp_path: Path, make: object) -> None:
    data = make()  # type: ignore[operator]
    chance = random.Random(7)
    for _ in range(150):
        broken = bytearray(data)
        for _ in range(chance.randint(1, 6)):
            broken[chance.randrange(len(broken))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
        if chance.random() < 0.2:
            broken = broken[: chance.randrange(68, len(broken))]
        with suppress(BadBook):
            assert read(tmp_path, bytes(broken)).sections
