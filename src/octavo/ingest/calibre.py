"""Read the catalogue of a Calibre library: its books, their formats, and what Calibre knows about them.

`metadata.db` is opened for reading only and is never written to, so that Calibre can be running. It may take
only so many steps and give only so many rows and characters, whatever its tables really are. Every path in it
must stay inside the library's folder.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from octavo.errors import BadBook
from octavo.limits import MB
from octavo.readers.files import resolve_inside
from octavo.readers.folders import get_format, rank_format
from octavo.readers.metadata import build_metadata
from octavo.readers.titles import clean_line
from octavo.records.options import BookOptions

CATALOGUE = "metadata.db"
# Calibre libraries of 100,000 books need a tenth of these steps of the database.
_MOST_STEPS, _STEPS_AT_ONCE = 1_000_000_000, 10_000
# The same holds for its rows, and for the characters in them.
_MOST_ROWS, _MOST_CHARACTERS, _LONGEST_VALUE = 2_000_000, 128 * MB, MB
_HEADER = b"SQLite format 3\0"
_LINKS = {
    "authors": ("authors", "author", "name"),
    "subjects": ("tags", "tag", "name"),
    "series": ("series", "series", "name"),
    "publisher": ("publishers", "publisher", "name"),
    "language": ("languages", "lang_code", "lang_code"),
}
# Calibre writes languages with three letters, books with two.
_LANGUAGES = {
    "eng": "en",
    "deu": "de",
    "ger": "de",
    "fra": "fr",
    "fre": "fr",
    "spa": "es",
    "ita": "it",
    "por": "pt",
    "nld": "nl",
    "dut": "nl",
    "rus": "ru",
    "pol": "pl",
    "ces": "cs",
    "cze": "cs",
    "swe": "sv",
    "dan": "da",
    "nor": "no",
    "fin": "fi",
    "hun": "hu",
    "ron": "ro",
    "tur": "tr",
    "ell": "el",
    "gre": "el",
    "heb": "he",
    "ara": "ar",
    "zho": "zh",
    "chi": "zh",
    "jpn": "ja",
    "kor": "ko",
    "ukr": "uk",
    "cat": "ca",
    "hin": "hi",
    "lat": "la",
    "vie": "vi",
    "ind": "id",
}


def is_calibre(folder: Path) -> bool:
    """Whether a folder is a Calibre library."""
    file = folder / CATALOGUE
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        return opened.read(len(_HEADER)) == _HEADER


def read_calibre(
    folder: Path, *, most_steps: int = _MOST_STEPS, most_rows: int = _MOST_ROWS
) -> list[tuple[tuple[Path, ...], BookOptions]]:
    """List the books of a Calibre library: the files of each, best first, and what Calibre says of it."""
    with _open(folder, most_steps, most_rows) as database:
        lists = {name: database.read_links(*link) for name, link in _LINKS.items()}
        identifiers = _group(database.query("SELECT book, type, val FROM identifiers ORDER BY id"))
        formats = _group(database.query("SELECT book, format, name FROM data ORDER BY id"))
        books = list(database.query("SELECT id, title, path, series_index, pubdate FROM books ORDER BY id"))
    found = []
    for number, title, place, position, date in books:
        files = _find_files(folder, str(place), formats.get(number, []))
        if not files:
            continue
        said = {name: [str(value) for (value,) in links.get(number, [])] for name, links in lists.items()}
        metadata = build_metadata(
            subjects=said["subjects"],
            series="".join(said["series"][:1]),
            series_position=str(position if position is not None else ""),
            publisher="".join(said["publisher"][:1]),
            published=str(date or ""),
            identifiers=[(str(kind), str(value)) for kind, value in identifiers.get(number, [])],
        )
        # A comma in a name is a bar in the catalogue.
        authors = (clean_line(name.replace("|", ",")) for name in said["authors"])
        language = clean_line("".join(said["language"][:1]))[:20]
        options = BookOptions(
            title=clean_line(str(title)) or None,
            authors=tuple(name for name in authors if name and name != "Unknown"),
            language=_LANGUAGES.get(language, "" if language == "und" else language),
            metadata=metadata,
        )
        found.append((files, options))
    return found


def _find_files(folder: Path, place: str, formats: list[tuple[Any, ...]]) -> tuple[Path, ...]:
    """Return the files of one book that exist, those that Octavo reads first and the best of them first."""
    home = resolve_inside(folder, folder, quote(place))
    if home is None:
        return ()
    named = (resolve_inside(folder, home, quote(f"{name}.{str(kind).lower()}")) for kind, name in formats)
    files = [file for file in named if file is not None and file.is_file()]
    readable = [file for file in files if get_format(file)]
    return tuple(sorted(readable, key=rank_format)) or tuple(files[:1])


@contextmanager
def _open(folder: Path, most_steps: int, most_rows: int) -> Iterator[_Catalogue]:
    left = most_steps // _STEPS_AT_ONCE

    def count() -> int:
        nonlocal left
        left -= 1
        return left < 0

    address = f"file:{quote(str((folder / CATALOGUE).absolute()))}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=10)) as database:
            database.text_factory = lambda raw: raw.decode("utf-8", "replace")
            # The file may come from anywhere: its own views and triggers may call nothing.
            database.execute("PRAGMA trusted_schema = OFF")
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
            database.set_progress_handler(count, _STEPS_AT_ONCE)
            yield _Catalogue(database, most_rows)
    except sqlite3.Error as failed:
        raise BadBook(
            "unsupported_format",
            f"{folder.name}/{CATALOGUE} cannot be read as a Calibre catalogue: {failed}",
            hint="Let Calibre check it: Library maintenance, Check library.",
        ) from None


class _Catalogue:
    """The database, which gives only so many rows and characters in all."""

    def __init__(self, database: sqlite3.Connection, most_rows: int) -> None:
        self._database = database
        self._rows, self._characters = most_rows, _MOST_CHARACTERS

    def query(self, statement: str) -> Iterator[tuple[Any, ...]]:
        for row in self._database.execute(statement):
            self._rows -= 1
            self._characters -= sum(len(value) for value in row if isinstance(value, str | bytes))
            if self._rows < 0 or self._characters < 0:
                raise sqlite3.DataError("it has far more entries than a library")
            yield row

    def read_links(self, table: str, link: str, column: str) -> dict[Any, list[tuple[Any, ...]]]:
        """Read a list of values of each book, in the order in which they were linked to it."""
        statement = (
            f"SELECT l.book, v.{column} FROM books_{table}_link AS l "  # noqa: S608 (names of our own)
            f"JOIN {table} AS v ON v.id = l.{link} ORDER BY l.id"
        )
        return _group(self.query(statement))


def _group(rows: Iterable[tuple[Any, ...]]) -> dict[Any, list[tuple[Any, ...]]]:
    grouped: dict[Any, list[tuple[Any, ...]]] = {}
    for number, *rest in rows:
        grouped.setdefault(number, []).append(tuple(rest))
    return grouped
