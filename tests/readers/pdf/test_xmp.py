"""The XMP packet of a PDF says who wrote the book and what it is about; those of its pictures do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.limits import Limits
from octavo.readers.pdf.reader import read_pdf
from octavo.readers.pdf.xmp import Xmp, read_xmp
from octavo.types import BookMetadata
from tests.support import pdf_files

DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'


def write_packet(said: str, attributes: str = "") -> bytes:
    return (
        f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF {RDF}><rdf:Description {DC} {attributes}>{said}'
        "</rdf:Description></rdf:RDF></x:xmpmeta>"
    ).encode()


def write_list(name: str, *values: str) -> str:
    items = "".join(f"<rdf:li>{value}</rdf:li>" for value in values)
    return f"<dc:{name}><rdf:Bag>{items}</rdf:Bag></dc:{name}>"


PACKET = write_packet(
    write_list("creator", "Ann Writer", "Bob Editor")
    + write_list("subject", "Ferries", "Fog &amp; mist")
    + write_list("date", "1999-02-03T10:00:00Z")
    + write_list("publisher", "North Pier Press")
    + "<dc:identifier>urn:isbn:978-0-14-243724-7</dc:identifier>"
    + write_list("language", "en-GB")
)


def make_book(*packets: bytes, named: int = 0, info: bytes = b"") -> bytes:
    """A book with these packets, from object 100 on, of which the catalog names one."""
    made = pdf_files.objects([pdf_files.column(["The ferry leaves the north pier at seven."])])
    for number, packet in enumerate(packets, 100):
        made[number] = pdf_files.stream(packet, b"/Type /Metadata /Subtype /XML")
    if named:
        made[1] = made[1].replace(b"/Type /Catalog", b"/Type /Catalog /Metadata %d 0 R" % named)
    made[99] = b"<< %s >>" % info
    return pdf_files.write_file(made, trailer=b"/Info 99 0 R")


def test_the_packet_is_read_into_the_catalogue(tmp_path: Path) -> None:
    path = tmp_path / "ferry.pdf"
    path.write_bytes(make_book(PACKET))
    book = read_pdf(path, Limits())
    assert (book.authors, book.language) == (("Ann Writer", "Bob Editor"), "en-GB")
    assert book.metadata == BookMetadata(
        subjects=("Ferries", "Fog & mist"),
        publisher="North Pier Press",
        published="1999-02-03",
        identifiers=("isbn:9780142437247",),
    )


def test_what_the_file_says_itself_goes_first_and_its_keywords_are_subjects(tmp_path: Path) -> None:
    path = tmp_path / "ferry.pdf"
    packet = write_packet(write_list("creator", "Somebody Else"))
    path.write_bytes(make_book(packet, info=b"/Author (Ann Writer) /Keywords (sea, ships; fog)"))
    book = read_pdf(path, Limits())
    assert book.authors == ("Ann Writer",)
    assert book.metadata.subjects == ("sea", "ships", "fog")


def test_of_several_packets_the_one_of_the_catalog_counts() -> None:
    picture = write_packet(write_list("creator", "A Photographer"))
    assert read_xmp(make_book(PACKET, picture, named=100)).authors == ("Ann Writer", "Bob Editor")
    assert read_xmp(make_book(picture, PACKET, named=100)).authors == ("A Photographer",)
    assert read_xmp(make_book(picture, PACKET)) == Xmp()
    assert read_xmp(make_book(PACKET, PACKET)).authors == ("Ann Writer", "Bob Editor")


def test_values_may_be_attributes() -> None:
    assert read_xmp(write_packet("", 'dc:publisher="North Pier Press"')).publisher == "North Pier Press"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<x:xmpmeta",
        b"<x:xmpmeta " * 100_000,
        b"<x:xmpmeta></x:xmpmeta>",
        b"<x:xmpmeta><dc:creator>open</x:xmpmeta>",
        b"<x:xmpmeta>" + b"x" * 300_000 + b"</x:xmpmeta>",
        b'<x:xmpmeta><!DOCTYPE a [<!ENTITY b "c">]></x:xmpmeta>',
    ],
)
def test_damaged_and_hostile_packets_say_nothing(data: bytes) -> None:
    assert read_xmp(data) == Xmp()
