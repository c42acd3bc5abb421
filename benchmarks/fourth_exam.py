"""Writes the seven books of a fourth exam, which has 168 more questions.

    python -m benchmarks.fourth_exam SHARE AUSTEN TARGET
    exam.py TARGET --exam benchmarks/questions/fourth_exam.jsonl --cli octavo

SHARE is the folder `usr/share` of four unpacked Debian packages: jargon-text 4.4.7, python3.11-doc 3.11.2,
lilypond-doc-html 2.24.1 and developers-reference 12.18. AUSTEN is the data folder of r-cran-janeaustenr
1.0.0, for three novels. No model has learnt from these books. The questions were written by a large language
model that had the books and knew nothing of the code under test.
"""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path

from benchmarks.r_data import read_lines
from benchmarks.second_exam import copy_pages

NOVELS = {"persuasion": "persuasion", "northangerabbey": "northanger", "mansfieldpark": "mansfield"}
# The whole reference on one page, its search and its index are no chapters of it.
_NO_CHAPTER = ("developers-reference.html", "search.html", "genindex.html")
_TRANSLATED = re.compile(r"\.[a-z]{2}\.html\Z")


def main(share: Path, austen: Path, target: Path) -> None:
    texts = {folder: "\n".join(read_lines(austen, name)) for name, folder in NOVELS.items()}
    texts["jargon"] = gzip.decompress((share / "doc/jargon-text/jargon.txt.gz").read_bytes()).decode()
    for folder, text in texts.items():
        (target / folder).mkdir(parents=True)
        (target / folder / "book.txt").write_text(text + "\n", encoding="utf-8")
    copy_pages((share / "doc/python3.11/html/tutorial").glob("*.html"), target / "pytutorial")
    learning = share / "doc/lilypond/html/Documentation/learning"
    copy_pages(
        (page for page in learning.glob("*.html") if not _TRANSLATED.search(page.name)), target / "lilypond"
    )
    chapters = (share / "developers-reference").glob("*.html")
    copy_pages((page for page in chapters if page.name not in _NO_CHAPTER), target / "devref")


if __name__ == "__main__":
    main(*(Path(name) for name in sys.argv[1:]))
