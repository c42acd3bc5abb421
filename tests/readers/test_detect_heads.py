"""The first bytes of files as they lie on people's disks: what each is taken for, and what is said of it."""

from __future__ import annotations

import gzip
import io
import sqlite3
import tarfile
import zipfile
from pathlib import Path

import pytest

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers import read_book
from octavo.readers.detect import detect_format

PROSE = "Once upon a time there was a miller who had three sons, a mill, a donkey and a cat.\n" * 30
PAGE = f"<!DOCTYPE html><html><head><title>T</title></head><body><p>{PROSE}</p></body></html>"


def tar(content: str) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        info = tarfile.TarInfo("book.txt")
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content.encode()))
    return made.getvalue()


def zip_names(*names: str, mimetype: str = "") -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        if mimetype:
            archive.writestr("mimetype", mimetype, compress_type=zipfile.ZIP_STORED)
        for name in names:
            archive.writestr(name, f"<x>{name}</x>" * 50)
    return made.getvalue()


def catch_refusal(path: Path, data: bytes) -> BadBook:
    path.write_bytes(data)
    with pytest.raises(BadBook) as refused:
        read_book(path, Limits())
    return refused.value


OFFICE = ("[Content_Types].xml", "_rels/.rels", "docProps/app.xml")
MOBI = b"A_Tale".ljust(32, b"\0") + bytes(28) + b"BOOKMOBI" + bytes(500)
WEBP = b"RIFF\x24\x10\0\0WEBPVP8 " + bytes(64)
MP4 = b"\0\0\0\x20ftypisom\0\0\2\0isomiso2avc1mp41" + bytes(64)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("sums.xlsx", zip_names(*OFFICE, "xl/workbook.xml"), "an Excel workbook"),
        ("talk.pptx", zip_names(*OFFICE, "ppt/presentation.xml"), "a PowerPoint presentation"),
        ("old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504), "an old Microsoft Office document"),
        ("tale.pdb", MOBI.replace(b"BOOKMOBI", b"TEXtREAd"), "an old Palm book"),
        ("tale.kfx", b"\xeaDRMION\xee" + bytes(500), "a Kindle book of the newest kind"),
        ("scan.djvu", b"AT&TFORM\0\0\1\0DJVMDIRM" + bytes(50), "a DjVu scan"),
        (
            "letter.rtf",
            b"{\\rtf1\\ansi\\deff0 {\\fonttbl {\\f0 Times;}} Dear Sir\\par}",
            "a Rich Text document",
        ),
        ("page.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(50), "a picture"),
        ("page.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF\0" + bytes(50), "a picture"),
        ("page.gif", b"GIF89a\1\0\1\0" + bytes(50), "a picture"),
        ("page.tif", b"II*\0\x08\0\0\0" + bytes(50), "a picture"),
        ("page.webp", WEBP, "a picture"),
        ("film.mp4", MP4, "audio or video"),
        ("tale.mp3", b"ID3\x04\0\0\0\0\0\0" + bytes(50), "audio or video"),
        ("book.txt.gz", gzip.compress(PROSE.encode()), "a packed archive"),
        ("books.tar", tar(PROSE), "a packed archive"),
        ("books.7z", b"7z\xbc\xaf\x27\x1c\0\4" + bytes(50), "a packed archive"),
        ("books.rar", b"Rar!\x1a\x07\1\0" + bytes(50), "a packed archive"),
        ("books.zip", zip_names("one.txt", "two.txt"), "a zip archive"),
        ("setup.exe", b"MZ\x90\0\3\0\0\0\4\0\0\0\xff\xff\0\0" + bytes(200), "a program"),
        ("paper.ps", b"%!PS-Adobe-3.0\n%%Title: A Paper\n", "PostScript"),
    ],
)
def test_files_that_are_no_books_for_octavo_are_called_by_their_names(
    tmp_path: Path, name: str, data: bytes, said: str
) -> None:
    refused = catch_refusal(tmp_path / name, data)
    assert (refused.code, said in refused.message) == ("unsupported_format", True), refused.message
    assert "Octavo reads" in refused.hint


def test_a_database_is_binary_whatever_it_is_called(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "made.db") as made:
        made.execute("create table book (title text)")
    made.close()
    data = (tmp_path / "made.db").read_bytes()
    assert catch_refusal(tmp_path / "library.db", data).code == "unsupported_format"
    assert catch_refusal(tmp_path / "library.txt", data).code == "type_mismatch"


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("feed.xml", '<?xml version="1.0"?><rss version="2.0"><channel/></rss>', "text"),
        ("data.json", '{"title": "A Tale"}', "text"),
        ("table.csv", "title,year\nTales,1812\n", "text"),
        ("paper.tex", "\\documentclass{book}\n\\begin{document}", "text"),
        ("guide.rst", "Title\n=====\n\n.. note:: text", "rst"),
        ("README.md", '<h1 align="center">Tool</h1>\n\n<p>Words</p>\n\n# Use', "markdown"),
        ("whole.md", PAGE, "markdown"),
        ("page", f"<!-- saved from url --><!-- by hand -->\n{PAGE}", "html"),
        ("page", f'<?xml version="1.0"?>\n<?xml-stylesheet href="a.css"?>\n{PAGE}', "html"),
        ("page", f"\n\n   {PAGE.lower()}", "html"),
        ("page", "<HTML>\n<BODY>old</BODY></HTML>", "html"),
        ("page", "<htmlish>is no page</htmlish>", "text"),
        ("page", "<!-- a comment that never ends " + PAGE, "text"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_what_is_written_goes_to_the_reader_of_its_kind_in_any_encoding(
    tmp_path: Path, name: str, text: str, kind: str, encoding: str
) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    assert detect_format(path) == kind


def test_a_thousand_comments_before_a_page_are_looked_at_once(tmp_path: Path) -> None:
    path = tmp_path / "page"
    path.write_bytes(b"<!---->" * 1_000 + b"<p>no page begins here")
    assert detect_format(path) == "text"
    path.write_bytes(b"<!---->" * 100 + PAGE.encode())
    assert detect_format(path) == "html"


@pytest.mark.parametrize(
    ("name", "text"), [("tale.txt", PROSE), ("tale.html", PAGE), ("tale.md", f"# T\n\n{PROSE}")]
)
def test_a_stray_zero_in_a_long_text_is_damage_and_not_a_program(
    tmp_path: Path, name: str, text: str
) -> None:
    path = tmp_path / name
    path.write_bytes(text.replace("a donkey", "a\0donkey", 1).encode())
    found = read_book(path, Limits())
    assert "three sons" in found.sections[0].text
    assert "\0" not in found.to_json()


@pytest.mark.parametrize("name", ["book.epub", "book.zip", "book"])
def test_an_epub_is_known_though_its_marks_stand_at_its_end(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("images/cover.jpg", bytes(200_000))
        archive.writestr("META-INF/container.xml", "<container/>")
    assert detect_format(path) == "epub"
