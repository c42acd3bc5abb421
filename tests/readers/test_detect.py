"""What a file is: content first, then its name; a contradiction is an error that names both."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers import READERS_VERSION, read_book
from octavo.readers.detect import detect_format
from octavo.types import BookFormat
from tests.support.pdf_files import make_prose


def archive(members: dict[str, str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return made.getvalue()


EPUB = archive({"mimetype": "application/epub+zip", "META-INF/container.xml": "<container/>"})
LATE_EPUB = archive({"a.txt": "x" * 99, "META-INF/container.xml": "<container/>"})
DOCX = archive({"[Content_Types].xml": "<Types/>", "word/document.xml": "<w/>"})
XLSX = archive({"[Content_Types].xml": "<Types/>", "xl/workbook.xml": "<w/>"})
ODT = archive({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": "<x/>"})
ZIP = archive({"notes/readme": "hello"})
PASSWORDS = archive({"password/document.xml": "x", "word/documents/a.md": "See word/document.xml there."})
HTML = b"<!DOCTYPE html><html><body><h1>A</h1><p>Words.</p></body></html>"


def kind(folder: Path, name: str, data: bytes) -> str:
    path = folder / name
    path.write_bytes(data)
    return detect_format(path)


def catch_refusal(folder: Path, name: str, data: bytes) -> BadBook:
    path = folder / name
    path.write_bytes(data)
    with pytest.raises(BadBook) as caught:
        read_book(path, Limits())
    return caught.value


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("book.pdf", make_prose(1), "pdf"),
        ("BOOK.PDF", make_prose(1), "pdf"),
        ("book", make_prose(1), "pdf"),
        ("book.download", make_prose(1), "pdf"),
        ("book.pdf", b"rubbish before it\n" + make_prose(1), "pdf"),
        ("book.epub", EPUB, "epub"),
        ("book", EPUB, "epub"),
        ("book", DOCX, "docx"),
        ("book.docx", archive({"a/b.md": "x" * 400_000, "word/document2.xml": "<w/>"}), "docx"),
        ("book.epub", LATE_EPUB, "epub"),
        ("book.epub", EPUB[: len(EPUB) // 2], "epub"),
        ("page.html", HTML, "html"),
        ("page", HTML, "html"),
        ("page.xhtml", b"<?xml version='1.0'?>\n<!-- hi -->\n<html></html>", "html"),
        ("page.htm", b"no tags at all", "html"),
        ("notes.md", b"# Title\n\nWords.", "markdown"),
        ("notes.mdx", b"# Title\n\nWords.", "markdown"),
        ("notes.md", HTML, "markdown"),
        ("book.txt", b"Once upon a time.", "text"),
        ("README", b"Once upon a time.", "text"),
        ("wide.txt", "Once upon a time.".encode("utf-16"), "text"),
        ("wide.txt", ("Once upon a time. " * 9).encode("utf-16-le"), "text"),
        ("about.txt", b"A file that begins with %PDF-1.4 is a PDF.", "text"),
        ("about.md", b"The mark %PDF-1.4 says so.", "markdown"),
        ("tags.txt", b"ID3 tags and BZh archives, explained.", "text"),
    ],
)
def test_a_file_is_what_its_content_and_name_agree_on(
    tmp_path: Path, name: str, data: bytes, expected: str
) -> None:
    assert kind(tmp_path, name, data) == expected


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("book.pdf", ZIP, ("a PDF", "a zip archive")),
        ("book.pdf", EPUB, ("a PDF", "an EPUB")),
        ("book.pdf", HTML, ("a PDF", "an HTML page")),
        ("book.pdf", b"just some text", ("a PDF", "plain text")),
        ("book.epub", make_prose(1), ("an EPUB", "a PDF")),
        ("book.epub", DOCX, ("an EPUB", "a Word document")),
        ("book.epub", b"just some text", ("an EPUB", "plain text")),
        ("book.txt", make_prose(1), ("plain text", "a PDF")),
        ("book.txt", HTML, ("plain text", "an HTML page")),
        ("book.md", ZIP, ("Markdown", "a zip archive")),
        ("book.html", b"\x89PNG\r\n\x1a\n....", ("an HTML page", "a picture")),
        ("book.txt", b"\x7fELF\0\0\0\0\0\0words", ("plain text", "a program")),
        ("book.txt", b"\1\2\3\0\0\0\0\0\0words", ("plain text", "binary data of an unknown kind")),
    ],
)
def test_a_name_that_contradicts_the_content_is_refused_naming_both(
    tmp_path: Path, name: str, data: bytes, words: tuple[str, str]
) -> None:
    error = catch_refusal(tmp_path, name, data)
    assert error.code == "type_mismatch"
    assert all(word in error.message for word in words), error.message


@pytest.mark.parametrize(
    ("data", "found", "advice"),
    [
        (EPUB, "an EPUB", "If that is the book, name it book.epub"),
        (XLSX, "an Excel workbook", "Save it as PDF"),
        (ZIP, "a zip archive", "Unpack it"),
        (b"\x1f\x8b\x08\0\0....", "a packed archive", "Unpack it"),
        (b"\x89PNG\r\n\x1a\n\0\0", "a picture", "Run OCR on it"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "a picture", "Run OCR on it"),
        (b"RIFF\x24\0\0\0WEBPVP8 ", "a picture", "Run OCR on it"),
        (b"RIFF\x24\0\0\0WAVEfmt ", "audio or video", "to a text file"),
        (b"\0\0\0\x20ftypM4B \0\0", "audio or video", "to a text file"),
        (b"MZ\x90\0\3\0\0\0", "a program", "not a book"),
        (b"\0" * 4096, "nothing but zeros at its beginning", "repeat it"),
        (HTML, "an HTML page", "download it again. If that is the book, name it book.html"),
        (b"404: not here", "plain text", "download it again. If that is the book, name it book.txt"),
        (b"\x93\0\7\xf1" * 99, "binary data of an unknown kind", "damaged or encrypted"),
    ],
)
def test_what_is_no_pdf_whatever_its_name_says_is_told_with_what_to_do(
    tmp_path: Path, data: bytes, found: str, advice: str
) -> None:
    error = catch_refusal(tmp_path, "book.pdf", data)
    assert error.message == f"book.pdf is named like a PDF, but its content is {found}"
    assert advice in error.hint


def test_words_that_begin_like_a_program_are_words(tmp_path: Path) -> None:
    assert kind(tmp_path, "book.txt", b"MZ is how a program begins; BM, a picture.") == "text"


@pytest.mark.parametrize(
    ("name", "data", "word", "hint"),
    [
        ("a.xlsx", XLSX, "Excel", "PDF"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1....", "Office", "PDF"),
        ("a.pdb", b"x" * 60 + b"TEXtREAd" + b"\0" * 9, "Palm", "EPUB"),
        ("a.djvu", b"AT&TFORM....", "DjVu", "OCR"),
        ("a.rtf", b"{\\rtf1 hello}", "Rich Text", "plain text"),
        ("a.jpg", b"\xff\xd8\xff\xe0....", "picture", "OCR"),
        ("a.ps", b"%!PS-Adobe-3.0", "PostScript", "PDF"),
        ("a.zip", ZIP, "zip archive", "Unpack"),
        ("a.zip", PASSWORDS, "zip archive", "Unpack"),
        ("a.gz", b"\x1f\x8b\x08....", "archive", "Unpack"),
        ("a.bin", b"\0\1\2\3" * 99, "binary", "Octavo reads"),
        ("a.kfx", b"words that are not a Kindle book", "Kindle", "EPUB"),
    ],
)
def test_what_octavo_does_not_read_is_named_with_what_to_do(
    tmp_path: Path, name: str, data: bytes, word: str, hint: str
) -> None:
    error = catch_refusal(tmp_path, name, data)
    assert error.code == "unsupported_format"
    assert word in error.message
    assert hint in error.hint


@pytest.mark.parametrize("suffix", ["pdf", "epub", "html", "md", "txt", "docx", ""])
def test_an_empty_file_is_empty_whatever_it_is_called(tmp_path: Path, suffix: str) -> None:
    assert catch_refusal(tmp_path, f"book.{suffix}".rstrip("."), b"").code == "empty_file"


def test_a_missing_file_a_broken_link_and_a_pipe_are_refused(tmp_path: Path) -> None:
    (tmp_path / "link.pdf").symlink_to(tmp_path / "gone.pdf")
    os.mkfifo(tmp_path / "pipe.txt")
    for name, code in (
        ("gone.pdf", "not_found"),
        ("link.pdf", "not_found"),
        ("pipe.txt", "unsupported_format"),
    ):
        with pytest.raises(BadBook) as caught:
            read_book(tmp_path / name, Limits())
        assert caught.value.code == code


def test_a_file_over_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.pdf"
    with path.open("wb") as file:
        file.truncate(3 << 20)
    with pytest.raises(BadBook) as caught:
        read_book(path, Limits(max_file_mb=2))
    assert caught.value.code == "too_large"
    assert "3 MB" in caught.value.message


def test_a_pdf_without_a_suffix_is_read(tmp_path: Path) -> None:
    path = tmp_path / "download"
    path.write_bytes(make_prose(2))
    told: list[int] = []
    assert read_book(path, Limits(), announce=told.append).format is BookFormat.PDF
    assert told == [2]


def test_a_folder_with_one_book_is_that_book(tmp_path: Path) -> None:
    (tmp_path / "only.pdf").write_bytes(make_prose(1))
    (tmp_path / "COPYING").write_text("You may.")
    assert read_book(tmp_path, Limits()).sections[0].source_file == "only.pdf"
    (tmp_path / "readme.md").write_text("# About\n\nThis is about the book.")
    assert read_book(tmp_path, Limits()).format is BookFormat.PDF


def test_a_folder_with_several_books_asks_for_them_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "one.pdf").write_bytes(make_prose(1))
    (tmp_path / "two.epub").write_bytes(EPUB)
    with pytest.raises(BadBook, match=r"one\.pdf, two\.epub") as caught:
        read_book(tmp_path, Limits())
    assert caught.value.code == "unsupported_format"
    assert "one by one" in caught.value.hint


def test_a_folder_with_several_texts_asks_for_them_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("One.")
    (tmp_path / "two.txt").write_text("Two.")
    with pytest.raises(BadBook, match="2 books"):
        read_book(tmp_path, Limits())


def test_a_folder_with_nothing_to_read_has_no_text(tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(BadBook) as caught:
        read_book(tmp_path, Limits())
    assert caught.value.code == "no_text"
    assert ".epub" in caught.value.hint


def test_a_folder_of_markdown_is_one_book(tmp_path: Path) -> None:
    (tmp_path / "01-one.md").write_text("# One\n\nThe first words.")
    (tmp_path / "02-two.md").write_text("# Two\n\nThe second words.")
    (tmp_path / "extra.pdf").write_bytes(make_prose(1))
    found = read_book(tmp_path, Limits())
    assert found.format is BookFormat.MARKDOWN
    assert any("second words" in section.text for section in found.sections)


def test_a_folder_with_too_many_files_is_refused(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"{number}.md").write_text("x")
    with pytest.raises(BadBook) as caught:
        read_book(tmp_path, Limits(max_members=5))
    assert caught.value.code == "too_many_members"


@pytest.mark.parametrize(
    "name",
    ["..x.pdf", "CON.pdf", "n" * 240 + ".pdf", "📚 book.pdf", "a\r\nb.pdf", "a;rm -rf ~.pdf", "a'\"$(x).pdf"],
)
def test_odd_names_are_only_names(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(make_prose(1))
    assert "Here begins page 1" in read_book(path, Limits()).sections[0].text


def test_reading_a_pdf_loads_no_library_for_other_formats(tmp_path: Path) -> None:
    path = tmp_path / "book.pdf"
    path.write_bytes(make_prose(1))
    others = ("lxml", "selectolax", "pyromark", "numpy", "pydantic", "yaml")
    code = f"""
import sys
from pathlib import Path
from octavo.limits import Limits
from octavo.readers import read_book
read_book(Path({str(path)!r}), Limits())
print([name for name in {others} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_readers_have_a_version_for_the_index() -> None:
    assert int(READERS_VERSION) >= 1


def test_a_sitemap_is_no_book_and_the_error_says_what_to_add(tmp_path: Path) -> None:
    path = tmp_path / "sitemap.xml"
    path.write_text(
        '<?xml version="1.0"?>\n<urlset xmlns="x"><url><loc>https://a.example/</loc></url></urlset>'
    )
    with pytest.raises(BadBook, match="list of a web site's pages") as refused:
        detect_format(path)
    assert "octavo add https://" in refused.value.hint


def test_a_word_document_that_may_be_protected_says_what_to_do(tmp_path: Path) -> None:
    error = catch_refusal(tmp_path, "book.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    assert "password" in error.hint
