"""Covers: the picture a book came with, kept as it is, given to nobody as anything but a picture."""

from __future__ import annotations

import asyncio
import zipfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import BadBook, InvalidValue
from octavo.library import Library
from octavo.limits import MB, Limits
from octavo.readers import read_book
from octavo.readers.parsed import COVER_MOST_MB, Cover, ParsedBook, find_picture_type, make_cover
from octavo.readers.sandbox import parse
from octavo.records import covers
from octavo.records.database import Database
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.support import small_books

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 30
JPEG = b"\xff\xd8\xff\xe0" + b"\1" * 30
GIF = b"GIF89a" + b"\2" * 30
WEBP = b"RIFF\x20\0\0\0WEBP" + b"\3" * 30
KINDS = {"image/png": PNG, "image/jpeg": JPEG, "image/gif": GIF, "image/webp": WEBP}
NOT_PICTURES = {
    "svg": b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
    "html": b"<html><script>alert(1)</script>",
    "empty": b"",
    "a RIFF that is no WebP": b"RIFF\0\0\0\0WAVE" + b"\0" * 20,
}
BY_PROPERTY = '<item id="p" href="pic.bin" media-type="image/png" properties="cover-image"/>'
BY_META = '<meta name="cover" content="p"/>'
PLAIN = '<item id="p" href="pic.bin" media-type="image/jpeg"/>'
NAMED = '<item id="my-cover" href="pic.bin" media-type="image/jpeg"/>'


def write_epub_with_cover(
    path: Path,
    item: str,
    files: Mapping[str, bytes],
    *,
    meta: str = "",
    chapters: Mapping[str, str] = small_books.TIDES,
) -> Path:
    """The small EPUB with one more line in its manifest and more files."""
    plain = small_books.write_epub(path.with_suffix(".plain"), chapters)
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = old.read(name).decode()
            if name == "book.opf":
                data = data.replace("</manifest>", f"{item}</manifest>").replace(
                    "</metadata>", f"{meta}</metadata>"
                )
            new.writestr(name, data)
        for name, extra in files.items():
            new.writestr(name, extra)
    return path


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    settings = Settings(data=tmp_path / "library")
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as opened:
        yield opened


@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_is_known_by_its_first_bytes(kind: str) -> None:
    assert find_picture_type(KINDS[kind]) == kind
    made = make_cover(KINDS[kind])
    assert made is not None
    assert (made.media_type, made.data) == (kind, KINDS[kind])


@pytest.mark.parametrize("data", NOT_PICTURES.values(), ids=NOT_PICTURES)
def test_what_is_no_picture_is_no_cover(data: bytes) -> None:
    assert make_cover(data) is None
    with pytest.raises(InvalidValue, match="PNG, JPEG, GIF or WebP"):
        Cover(data)


@given(head=st.sampled_from([b"", *(kind[:12] for kind in KINDS.values())]), rest=st.binary(max_size=40))
def test_a_cover_begins_like_one_of_four_kinds_of_picture(head: bytes, rest: bytes) -> None:
    made = make_cover(head + rest)
    assert (made is None) == (find_picture_type(head + rest) == "")
    assert made is not None or not head
    assert made is None or made.media_type in KINDS


def test_a_picture_that_is_too_large_is_no_cover() -> None:
    large = PNG + b"\0" * COVER_MOST_MB * MB
    assert make_cover(large) is None
    with pytest.raises(InvalidValue, match="at most 2 MB"):
        Cover(large)


@pytest.mark.parametrize(
    ("item", "meta"), [(BY_PROPERTY, ""), (PLAIN, BY_META), (NAMED, "")], ids=["property", "meta", "id"]
)
async def test_the_cover_of_an_epub_is_found_however_it_is_named(
    tmp_path: Path, item: str, meta: str
) -> None:
    path = write_epub_with_cover(tmp_path / "tides.epub", item, {"pic.bin": JPEG}, meta=meta)
    parsed = await parse(path, Limits())  # through the parser's own process
    assert parsed.cover == Cover(JPEG)
    assert ParsedBook.from_json(parsed.to_json()) == parsed


def test_a_cover_that_lies_about_what_it_is_is_left_out(tmp_path: Path) -> None:
    svg = NOT_PICTURES["svg"]
    path = write_epub_with_cover(tmp_path / "tides.epub", BY_PROPERTY, {"pic.bin": svg})
    book = read_book(path, Limits())
    assert book.cover is None
    assert len(book.sections) == len(small_books.TIDES)


def test_a_cover_that_is_missing_or_too_large_or_outside_costs_the_book_nothing(tmp_path: Path) -> None:
    outside = BY_PROPERTY.replace("pic.bin", "../../etc/passwd")
    huge = {"pic.bin": PNG + b"\0" * 3 * MB}
    for number, (item, files) in enumerate([(BY_PROPERTY, {}), (BY_PROPERTY, huge), (outside, {})]):
        path = write_epub_with_cover(tmp_path / f"{number}.epub", item, files)
        assert read_book(path, Limits()).cover is None


def test_an_epub_without_a_cover_has_none(tmp_path: Path) -> None:
    assert read_book(small_books.write_epub(tmp_path / "tides.epub"), Limits()).cover is None


def write_site(folder: Path, name: str, data: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    for chapter, said in small_books.TIDES.items():
        (folder / f"{chapter}.md").write_text(f"# {chapter}\n\n{said}\n", encoding="utf-8")
    (folder / name).parent.mkdir(exist_ok=True, parents=True)
    (folder / name).write_bytes(data)
    return folder


@pytest.mark.parametrize("name", ["cover.png", "images/cover.webp", "static/img/cover.jpg"])
def test_a_folder_may_have_its_cover_where_people_put_it(tmp_path: Path, name: str) -> None:
    assert read_book(write_site(tmp_path / "docs", name, GIF), Limits()).cover == Cover(GIF)


def test_a_folders_cover_is_never_taken_from_outside(tmp_path: Path) -> None:
    (tmp_path / "private.png").write_bytes(PNG)
    docs = write_site(tmp_path / "docs", "cover.txt", b"no picture")
    (docs / "cover.png").symlink_to(tmp_path / "private.png")
    assert read_book(docs, Limits()).cover is None


def test_a_parser_that_was_taken_over_cannot_hand_back_a_page_as_cover() -> None:
    from octavo.readers.sandbox import _read_answer

    with pytest.raises(BadBook, match="answered nonsense"):
        _read_answer(b'{"book": {"title": "x", "cover": "PGh0bWw+", "sections": []}}', "x.epub")


async def test_a_cover_comes_with_the_book_and_leaves_with_it(library: Library, tmp_path: Path) -> None:
    path = write_epub_with_cover(tmp_path / "tides.epub", BY_PROPERTY, {"pic.bin": PNG})
    book = await library.add(path)
    assert await covers.find_cover(library.database, book.id) == Cover(PNG)
    await library.remove(book.id)
    assert await covers.find_cover(library.database, book.id) is None


async def test_a_new_edition_brings_its_own_cover_or_none(library: Library, tmp_path: Path) -> None:
    path = write_epub_with_cover(tmp_path / "tides.epub", BY_PROPERTY, {"pic.bin": PNG})
    book = await library.add(path)
    await library.add(
        write_epub_with_cover(path, BY_PROPERTY, {"pic.bin": JPEG})
    )  # only the picture is another
    assert await covers.find_cover(library.database, book.id) == Cover(JPEG)
    more = small_books.TIDES | {"Evening": "The nets were mended by the evening, and the ledger was closed."}
    assert (await library.add(small_books.write_epub(path, more))).id == book.id
    assert await covers.find_cover(library.database, book.id) is None


async def test_the_same_book_in_a_format_without_cover_keeps_the_cover(
    library: Library, tmp_path: Path
) -> None:
    path = write_epub_with_cover(tmp_path / "tides.epub", BY_PROPERTY, {"pic.bin": PNG})
    book = await library.add(path)
    assert (await library.add(small_books.write_epub(tmp_path / "tides.epub"))).id == book.id
    assert await covers.find_cover(library.database, book.id) == Cover(PNG)


async def test_a_cover_that_was_chosen_stays_when_the_file_is_added_again(
    library: Library, tmp_path: Path
) -> None:
    path = write_epub_with_cover(tmp_path / "tides.epub", BY_PROPERTY, {"pic.bin": PNG})
    book = await library.add(path)
    await library.edit(book.id, cover=GIF)
    await library.add(write_epub_with_cover(path, BY_PROPERTY, {"pic.bin": JPEG}))
    assert await covers.find_cover(library.database, book.id) == Cover(GIF)
    more = small_books.TIDES | {"Evening": "The nets were mended by the evening, and the ledger was closed."}
    await library.add(write_epub_with_cover(path, BY_PROPERTY, {"pic.bin": JPEG}, chapters=more))
    assert await covers.find_cover(library.database, book.id) == Cover(GIF)
    await library.edit(book.id, cover=b"")
    assert await covers.find_cover(library.database, book.id) is None
    await library.add(write_epub_with_cover(path, BY_PROPERTY, {"pic.bin": WEBP}, chapters=more))
    assert await covers.find_cover(library.database, book.id) == Cover(WEBP)


async def test_the_books_with_covers_are_told_from_those_without(library: Library, tmp_path: Path) -> None:
    pictured = await library.add(
        write_epub_with_cover(tmp_path / "tides.epub", BY_PROPERTY, {"pic.bin": PNG})
    )
    hills = small_books.write_markdown(
        tmp_path / "hills.md", {"Top": "Goats graze there."}, title="The Hills"
    )
    bare = await library.add(hills)
    assert await covers.find_covered_books(library.database, [pictured.id, bare.id, "unknown"]) == {
        pictured.id
    }
    assert await covers.find_covered_books(library.database, [bare.id]) == set()
    assert await covers.find_covered_books(library.database, []) == set()


async def test_a_cover_that_is_chosen_while_the_file_is_added_stays(database: Database) -> None:
    for n in range(10):
        book_id = f"book {n}"
        await asyncio.gather(
            covers.save_cover(database, book_id, Cover(PNG), replacing=True),
            covers.choose_cover(database, book_id, Cover(GIF)),
            covers.save_cover(database, book_id, Cover(JPEG)),
        )
        assert await covers.find_cover(database, book_id) == Cover(GIF)
