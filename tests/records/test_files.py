"""The file of a PDF is stored with its edition, found by its hash, and deleted with the last that has it."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from sqlalchemy import delete, func, select

from octavo.library import Library
from octavo.records.files import PART_BYTES, find_file, list_books_with_files, read_file
from octavo.records.markup import find_lines
from octavo.records.tables import edition_files, files, markup
from octavo.testing import TinyEmbedder
from tests.support import pdf_files

WORDS = (
    "The ferry leaves the north pier at seven every morning and comes back at noon.",
    "In winter it waits for the mail, and the keeper of the lamp signs for both bags.",
    "Nobody has ever asked him to sign for the fog that comes with it.",
)


def write_pdf(path: Path, *words: str) -> Path:
    path.write_bytes(pdf_files.make_book([pdf_files.column(words)], title="The Ferry"))
    return path


async def count(library: Library, table: object) -> int:
    async with library.database.connect() as connection:
        return int(await connection.scalar(select(func.count()).select_from(table)) or 0)  # type: ignore[arg-type]


async def test_the_file_and_the_lines_of_a_pdf_are_kept_until_it_is_removed(tmp_path: Path) -> None:
    pdf = write_pdf(tmp_path / "ferry.pdf", *WORDS)
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        book = await library.add(pdf)
        name = await find_file(library.database, book.id)
        assert name == sha256(pdf.read_bytes()).hexdigest()
        assert await read_file(library.database, name) == pdf.read_bytes()
        assert await list_books_with_files(library.database, [book.id, "other"]) == {book.id}
        section = await library.section(book.id, (await library.contents(book.id))[0].id)
        lines = await find_lines(library.database, section)
        ends = [line.offset for line in lines[1:]] + [len(section.text)]
        texts = [section.text[a.offset : b].strip() for a, b in zip(lines, ends, strict=True)]
        assert texts == list(WORDS)
        assert [line.length for line in lines] == [len(words) for words in WORDS]
        assert [line.page for line in lines] == [1, 1, 1]
        await library.remove(book.id)
        assert [await count(library, table) for table in (files, edition_files, markup)] == [0, 0, 0]


async def test_a_new_edition_replaces_the_file_of_the_old_one(tmp_path: Path) -> None:
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        await library.add(write_pdf(tmp_path / "ferry.pdf", *WORDS))
        new = write_pdf(tmp_path / "ferry.pdf", *WORDS, "There is a second ferry on Sundays.")
        book = await library.add(new)
        assert await find_file(library.database, book.id) == sha256(new.read_bytes()).hexdigest()
        assert await count(library, files) == 1


async def test_a_book_from_before_gets_its_file_when_it_is_added_again(tmp_path: Path) -> None:
    pdf = write_pdf(tmp_path / "ferry.pdf", *WORDS)
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        book = await library.add(pdf)
        section = (await library.contents(book.id))[0]
        section = await library.section(book.id, section.id)
        before = await find_lines(library.database, section)
        async with library.database.begin() as connection:
            await connection.execute(markup.update().values(lines=None))
            for table in (edition_files, files):
                await connection.execute(delete(table))
        assert await find_file(library.database, book.id) == ""
        assert await find_lines(library.database, section) == ()
        again = await library.add(pdf)
        assert again.updated_at == book.updated_at
        assert await find_lines(library.database, section) == before
        assert await find_file(library.database, book.id)


async def test_a_file_of_several_parts_comes_back_whole_and_a_damaged_one_not_at_all(tmp_path: Path) -> None:
    pdf = write_pdf(tmp_path / "ferry.pdf", *WORDS)
    pdf.write_bytes(pdf.read_bytes() + b"\n%" + b"x" * (2 * PART_BYTES))
    folder = tmp_path / "shelf"
    folder.mkdir()
    pdf.rename(folder / pdf.name)
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        book = await library.add(folder)
        name = await find_file(library.database, book.id)
        assert await count(library, files) == 3
        assert await read_file(library.database, name) == (folder / pdf.name).read_bytes()
        async with library.database.begin() as connection:
            await connection.execute(delete(files).where(files.c.part == 1))
        assert await read_file(library.database, name) == b""


async def test_other_formats_keep_no_file(tmp_path: Path) -> None:
    text = tmp_path / "ferry.txt"
    text.write_text("\n".join(WORDS))
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        book = await library.add(text)
        assert await find_file(library.database, book.id) == ""
        assert await count(library, files) == 0
