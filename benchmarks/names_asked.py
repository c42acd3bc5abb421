"""Asks 77 questions for the name of a ship, a captain or a sister, and judges how the answers open.

    python -m benchmarks.names_asked TARGET LIBRARY [--answers FILE] [--write DATA SUITE FAQ]

`--write` first writes the ten books to TARGET: DATA holds `books.jsonl.xz`, SUITE is the development suite,
FAQ the folder of the Debian FAQ as HTML. The questions (`questions/names_asked.jsonl`) were written before
the rules that answer them. An answer is right if its short answer, or else its first sentence, has the name.
To 21 of the questions the books give no answer, and three are asked of a manual, where nothing should change.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from benchmarks.ask_exam import Judged, report
from benchmarks.fitting_exam import has_all
from benchmarks.second_exam import copy_pages, write_books
from benchmarks.suite import Row, rows
from octavo.library import Library

QUESTIONS = Path(__file__).parent / "questions" / "names_asked.jsonl"
BOOKS = {
    "robert-louis-stevenson_treasure-island": ("treasure", "Treasure Island"),
    "bram-stoker_dracula": ("dracula", "Dracula"),
    "charles-dickens_great-expectations": ("expectations", "Great Expectations"),
    "jane-austen_pride-and-prejudice": ("pride", "Pride and Prejudice"),
    "jules-verne_twenty-thousand-leagues-under-the-seas_f-p-walter": (
        "leagues",
        "Twenty Thousand Leagues Under the Seas",
    ),
    "mary-shelley_frankenstein": ("frankenstein", "Frankenstein"),
    "arthur-conan-doyle_the-adventures-of-sherlock-holmes": ("sherlock", "The Adventures of Sherlock Holmes"),
}


def write_all(data: Path, suite: Path, faq: Path, target: Path) -> None:
    write_books(BOOKS, data, target)
    copy_pages([suite / "formats/epub3_samples/moby-dick.epub"], target / "moby")
    copy_pages(faq.glob("*.html"), target / "debianfaq")
    (target / "norwegian").mkdir(parents=True, exist_ok=True)
    shutil.copy(suite / "fairytaleqa/books/norwegian-fairybook.md", target / "norwegian/book.md")


async def ask_all(asked: Sequence[Row], target: Path, folder: Path) -> AsyncIterator[Judged]:
    async with Library.open(folder) as library:
        ids = {row["book"]: "" for row in asked}
        for book in ids:
            ids[book] = (await library.add(target / book, title=book)).id
        for row in asked:
            answer = await library.ask(row["question"], book_id=ids[row["book"]])
            refused = answer.refusal is not None
            first = "" if refused else answer.citations[0].content_snippet
            opening = answer.short.text if answer.short else first
            about = {name: row[name] for name in ("id", "type", "book", "answerable")}
            right = not refused and has_all(opening, row["must"])
            yield Judged(
                **about, refused=refused, right=right, confidence=answer.confidence, said=answer.content
            )


async def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("target", type=Path)
    options.add_argument("library", type=Path)
    options.add_argument("--answers", type=Path)
    options.add_argument("--write", type=Path, nargs=3, metavar=("DATA", "SUITE", "FAQ"))
    given = options.parse_args()
    if given.write:
        data, suite, faq = given.write
        write_all(data, suite, faq, given.target)
    judged = [one async for one in ask_all(list(rows(QUESTIONS)), given.target, given.library)]
    report(judged, given.answers)


if __name__ == "__main__":
    asyncio.run(main())
