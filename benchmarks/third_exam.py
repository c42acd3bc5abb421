"""Writes the six books of a third exam, which has 120 more questions.

    python -m benchmarks.third_exam DATA SUITE APTITUDE GIT TARGET
    exam.py TARGET --exam benchmarks/questions/third_exam.jsonl --cli octavo

DATA holds `books.jsonl.xz`, SUITE is the development suite, for Moby-Dick. APTITUDE is the folder of the
manual of aptitude in English (package aptitude-doc-en 0.8.13) and GIT that of the documentation of Git
(package git-doc 2.39), both as HTML. The questions were written by a large language model that had the books
and knew nothing of the code under test.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.second_exam import copy_pages, write_books

BOOKS = {
    "robert-louis-stevenson_treasure-island": ("treasure", "Treasure Island"),
    "john-stuart-mill_on-liberty": ("liberty", "On Liberty"),
    "introduction-sociology": ("sociology", "Introduction to Sociology"),
}
GUIDES = (
    "user-manual", "gittutorial", "gittutorial-2", "gitworkflows", "giteveryday", "gitcore-tutorial",
    "gitglossary", "gitfaq",
)  # fmt: skip


def main(data: Path, suite: Path, aptitude: Path, git: Path, target: Path) -> None:
    write_books(BOOKS, data, target)
    copy_pages([suite / "formats/epub3_samples/moby-dick.epub"], target / "moby")
    copy_pages(aptitude.glob("*.html"), target / "aptitude")
    copy_pages((git / f"{name}.html" for name in GUIDES), target / "gituser")


if __name__ == "__main__":
    main(*(Path(name) for name in sys.argv[1:]))
