"""Writes the six books of a fifth exam, which has 120 more questions.

    python -m benchmarks.fifth_exam SHARE AUSTEN ALICE TARGET
    python -m benchmarks.ask_exam TARGET benchmarks/questions/fifth_exam.jsonl LIBRARY

SHARE is the folder `usr/share` of four unpacked Debian packages: nethack-common 3.6.6, sgt-puzzles 20230122,
freedombox-doc-en 23.6.2 and golang-github-pierrec-lz4-dev 2.5.2, whose tests have Tom Sawyer. AUSTEN is the
data folder of r-cran-janeaustenr 1.0.0, for Emma, and ALICE the file `tests/testdata/alice29.txt` of Brotli
1.2.1. The questions were written by a large language model that had the books and knew nothing of the code
under test.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

from benchmarks.r_data import read_lines
from benchmarks.second_exam import copy_pages

_SAWYER = Path("gocode/src/github.com/pierrec/lz4/testdata/Mark.Twain-Tom.Sawyer.txt")
# The whole manual on one page, its index and the notes of its releases are no chapters of it.
_NO_CHAPTER = ("ReleaseNotes.part.html", "freedombox-manual.part.html", "docindex.html")


def main(share: Path, austen: Path, alice: Path, target: Path) -> None:
    texts = {
        "tomsawyer": (share / _SAWYER).read_bytes(),
        "alice": alice.read_bytes(),
        "emma": ("\n".join(read_lines(austen, "emma")) + "\n").encode(),
        "nethack": gzip.decompress((share / "doc/nethack-common/Guidebook.txt.gz").read_bytes()),
    }
    for folder, text in texts.items():
        (target / folder).mkdir(parents=True)
        (target / folder / "book.txt").write_bytes(text)
    for folder, pages in (
        ("puzzles", (share / "sgt-puzzles/help/en").glob("*.html")),
        ("freedombox", (share / "freedombox/manual/en").glob("*.html")),
    ):
        copy_pages((page for page in pages if page.name not in _NO_CHAPTER), target / folder)


if __name__ == "__main__":
    main(*(Path(name) for name in sys.argv[1:]))
