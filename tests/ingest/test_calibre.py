"""A Calibre library: every book once, with what Calibre knows about it, and nothing outside of its folder."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from octavo.errors import BadBook
from octavo.ingest.calibre import is_calibre, read_calibre
from octavo.types import BookMetadata
from tests.support.calibre import add_entry, start_library

MOBY = "Herman Melville/Moby-Dick (1)"


@pytest.fixture
def calibre(tmp_path: Path) -> Path:
    folder = start_library(tmp_path / "Calibre Library")
    (folder / MOBY).mkdir(parents=True)
    for ending in ("epub", "pdf", "cbz"):
        (folder / MOBY / f"Moby-Dick - Melville.{ending}").write_text("words")
    (tmp_path / "secret.epub").write_text("words")
    return folder


def test_a_book_comes_with_its_formats_best_first_and_all_that_calibre_knows(calibre: Path) -> None:
    add_entry(
        calibre,
        "Moby-Dick",
        {"PDF": "Moby-Dick - Melville", "CBZ": "Moby-Dick - Melville", "EPUB": "Moby-Dick - Melville"},
        path=MOBY,
        position=2.0,
        date="1851-10-18 00:00:00+00:00",
        identifiers={"isbn": "978-0142437247", "uuid": "5f2c"},
        authors=["Melville| Herman", "Unknown"],
        tags=["Whaling", "Sea stories"],
        series=["Voyages"],
        publishers=["Bentley"],
        languages=["eng"],
    )
    ((files, options),) = read_calibre(calibre)
    assert [file.suffix for file in files] == [".epub", ".pdf"]
    assert (options.title, options.authors, options.language) == ("Moby-Dick", ("Melville, Herman",), "en")
    assert options.metadata == BookMetadata(
        subjects=("Whaling", "Sea stories"),
        series="Voyages",
        series_position="2",
        publisher="Bentley",
        published="1851-10-18",
        identifiers=("isbn:9780142437247",),
    )


def test_a_date_that_means_unknown_is_no_date(calibre: Path) -> None:
    add_entry(calibre, "Moby-Dick", {"EPUB": "Moby-Dick - Melville"}, path=MOBY)
    assert read_calibre(calibre)[0][1].metadata.published == ""


@pytest.mark.parametrize("path", ["..", "../", "/etc", MOBY + "/../../.."])
def test_a_catalogue_cannot_name_files_outside_of_its_folder(calibre: Path, path: str) -> None:
    add_entry(calibre, "Secret", {"EPUB": "secret"}, path=path)
    add_entry(calibre, "Secret", {"EPUB": "../../../secret"}, path=MOBY)
    assert read_calibre(calibre) == []


def test_a_catalogue_that_never_ends_is_stopped(calibre: Path) -> None:
    endless = "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n)"
    with closing(sqlite3.connect(calibre / "metadata.db")) as database, database:
        database.execute("DROP TABLE identifiers")
        database.execute(
            f"CREATE VIEW identifiers AS {endless} SELECT i AS id, i AS book, 'a' AS type, i AS val "
            "FROM n WHERE i < 0"
        )
    with pytest.raises(BadBook, match="interrupted"):
        read_calibre(calibre, most_steps=100_000)


def test_a_catalogue_gives_only_so_many_rows_and_no_huge_values(calibre: Path) -> None:
    many = "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n LIMIT 1000)"
    add_entry(calibre, "Moby-Dick", {"EPUB": "Moby-Dick - Melville"}, path=MOBY)
    for value, refusal in (("i", "far more entries"), ("zeroblob(2000000)", "too big")):
        with closing(sqlite3.connect(calibre / "metadata.db")) as database, database:
            kind = database.execute("SELECT type FROM sqlite_master WHERE name = 'identifiers'").fetchone()[0]
            database.execute(f"DROP {kind} identifiers")
            database.execute(
                f"CREATE VIEW identifiers AS {many} SELECT 1 AS id, 1 AS book, 'a' AS type, "
                f"{value} AS val FROM n"
            )
        with pytest.raises(BadBook, match=refusal):
            read_calibre(calibre, most_rows=500)


def test_other_databases_of_that_name_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "metadata.db").write_text("not a database")
    assert not is_calibre(tmp_path)
    (tmp_path / "metadata.db").unlink()
    with closing(sqlite3.connect(tmp_path / "metadata.db")) as database:
        database.execute("CREATE TABLE other (x)")
    with pytest.raises(BadBook, match="no such table") as caught:
        read_calibre(tmp_path)
    assert "Calibre" in caught.value.hint
