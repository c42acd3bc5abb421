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
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from training.passages import read_rows

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


def find_place(numbered: tuple[int, Row], *, ordered: bool) -> tuple[int, int]:
    """Where a chapter stands: front matter first, then by its Roman numeral, or as given where `ordered`."""
    number, title = numbered[0], numbered[1]["title"]
    if title == "Preface" or (title in _FRONT and not ordered):
        return 0, _FRONT.index(title)
    found = None if ordered else _NUMBER.match(title)
    if found:
        values = [_VALUES[letter] for letter in found[1]]
        signs = [-1 if later > value else 1 for value, later in zip(values, [*values[1:], 0], strict=True)]
        return 1, sum(sign * value for sign, value in zip(signs, values, strict=True))
    return (2 if title in _BACK else 1), number


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


def main(data: Path, faq: Path, gnucash: Path, target: Path) -> None:
    chapters: dict[str, list[Row]] = {name: [] for name in BOOKS}
    for row in read_rows(data / "books.jsonl.xz"):
        if row["book"] in BOOKS and not row["title"].startswith("Part "):
            chapters[row["book"]].append(row)
    for name, (folder, title) in BOOKS.items():
        ordered = folder == "textbook"
        given = enumerate(chapters[name])
        told = sorted(given, key=partial(find_place, ordered=ordered))
        (target / folder).mkdir(parents=True, exist_ok=True)
        text = "\n\n".join([f"# {title}", *(line for _, row in told for line in write_chapter(row))])
        (target / folder / "book.md").write_text(text + "\n", encoding="utf-8")
    for source, folder, pattern in ((faq, "debianfaq", "*.en.html"), (gnucash, "gnucash", "*.html")):
        (target / folder).mkdir(parents=True, exist_ok=True)
        for page in source.glob(pattern):
            shutil.copy(page, target / folder)


if __name__ == "__main__":
    main(*(Path(name) for name in sys.argv[1:]))
