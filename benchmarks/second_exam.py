"""Writes the six books of a second exam, which has 120 more questions.

    python -m benchmarks.second_exam DATA FAQ GNUCASH TARGET
    exam.py TARGET --exam benchmarks/questions/second_exam.jsonl --cli octavo

DATA holds `books.jsonl.xz`. FAQ is the folder of the Debian FAQ (package debian-faq 11.1) and GNUCASH that of
the GnuCash guide in English (package gnucash-docs 4.13), both as HTML. The questions were written by a large
language model that had the books and knew nothing of the code under test.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from training.passages import TEXTBOOKS, read_rows

Row = dict[str, Any]
BOOKS = {
    "robert-louis-stevenson_treasure-island": ("treasure", "Treasure Island"),
    "bram-stoker_dracula": ("novel", "Dracula"),
    "benjamin-franklin_the-autobiography-of-benjamin-franklin": (
        "nonfiction",
        "The Autobiography of Benjamin Franklin",
    ),
    "astronomy": ("textbook", "Astronomy"),
}
_FRONT = ("Epigraph", "Dedication", "To the Hesitating Purchaser", "Preface", "Introduction")
_BACK = ("Note",)
_NUMBER = re.compile(r"([IVXL]+)(?:: |$)")
_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50}


def find_place(numbered: tuple[int, Row]) -> tuple[int, int]:
    """Where a chapter of a narrative stands: front matter first, then by its Roman numeral."""
    number, title = numbered[0], numbered[1]["title"]
    if title in _FRONT:
        return 0, _FRONT.index(title)
    found = _NUMBER.match(title)
    if found:
        values = [_VALUES[letter] for letter in found[1]]
        signs = [-1 if later > value else 1 for value, later in zip(values, [*values[1:], 0], strict=True)]
        return 1, sum(sign * value for sign, value in zip(signs, values, strict=True))
    return (2 if title in _BACK else 1), number


def place_in_textbook(numbered: tuple[int, Row]) -> tuple[int, int]:
    """Where a chapter of a textbook stands: as given, behind the preface."""
    number, chapter = numbered
    return int(chapter["title"] != "Preface"), number


def write_chapter(chapter: Row) -> Iterator[str]:
    yield f"## {chapter['title']}"
    above: list[str] = []
    own = {chapter["title"], re.sub(r"^[IVX]+: ", "", chapter["title"])}
    for paragraph in chapter["paragraphs"]:
        if isinstance(paragraph, dict):
            heads = [] if paragraph["head"] in own else paragraph["head"].split(" > ")
            same = next((n for n, (a, b) in enumerate(zip(heads, above, strict=False)) if a != b), len(above))
            yield from (f"{'#' * (3 + n)} {head}" for n, head in enumerate(heads) if n >= same and head)
            above, paragraph = heads, paragraph["text"]
        text = " ".join(paragraph.replace("\u2060", "").split())
        if text and text not in own:
            yield text


def write_books(books: Mapping[str, tuple[str, str]], data: Path, target: Path) -> None:
    """Write books of DATA, each as a file in a folder of its own. `books` has the folder and the title."""
    chapters: dict[str, list[Row]] = {name: [] for name in books}
    for row in read_rows(data / "books.jsonl.xz"):
        if row["book"] in books and not row["title"].startswith("Part "):
            chapters[row["book"]].append(row)
    for name, (folder, title) in books.items():
        told = sorted(enumerate(chapters[name]), key=place_in_textbook if name in TEXTBOOKS else find_place)
        (target / folder).mkdir(parents=True, exist_ok=True)
        text = "\n\n".join([f"# {title}", *(line for _, row in told for line in write_chapter(row))])
        (target / folder / "book.md").write_text(text + "\n", encoding="utf-8")


def copy_pages(pages: Iterable[Path], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for page in pages:
        shutil.copy(page, folder)


def main(data: Path, faq: Path, gnucash: Path, target: Path) -> None:
    write_books(BOOKS, data, target)
    copy_pages(faq.glob("*.en.html"), target / "debianfaq")
    copy_pages(gnucash.glob("*.html"), target / "gnucash")


if __name__ == "__main__":
    main(*(Path(name) for name in sys.argv[1:]))
