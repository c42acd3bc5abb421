"""Writes seven books of which 307 questions are asked, to fit the confidence on.

    python -m benchmarks.fitting_exam DOC SUITE TARGET
    exam.py TARGET --exam benchmarks/questions/fitting_exam.jsonl --cli octavo

DOC is the folder `usr/share/doc` of five unpacked Debian packages: anarchism 15.3 (its section A), harden-doc
3.19, debian-history 2.28, mutt 2.2.12 and installation-guide-amd64 20230508. SUITE is the development suite,
for two books of fairy tales. No model has learnt from these books, apart from `gate-large-2`. The questions
were written by a large language model that had the books and knew nothing of the code under test.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

QUESTIONS = Path(__file__).parent / "questions" / "fitting_exam.jsonl"
KINDS = {
    "anarchism": "asked_essay",
    "securing/html": "asked_manual",
    "history/book.html": "asked_history",
    "mutt/html": "asked_manual",
    "install/html": "asked_manual",
    "japanese/book.epub": "asked_tale",
    "blue/book.md": "asked_tale",
}
_PLAIN = str.maketrans("‘’“”\u00a0‐‑–−", "''\"\" ----")
_EMPHASIS = re.compile(r"[`*]|(?<!\w)_+|_+(?!\w)")


def read_exam(target: Path) -> tuple[list[tuple[str, Path]], list[dict[str, Any]]]:
    """The books that TARGET has, and the questions about them."""
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    items = [row | {"kind": KINDS[row["book"]], "gold": []} for row in rows]
    return [(book, target / book) for book in KINDS], items


def has_all(said: str, wanted: Sequence[Sequence[str]], need: int | None = None) -> bool:
    """Whether the answer has what it must: one expression of each list, or of as many lists as are needed."""
    text = " ".join(_EMPHASIS.sub("", said.translate(_PLAIN)).split())
    found = sum(any(re.search(one, text, re.IGNORECASE) for one in either) for either in wanted)
    return bool(wanted) and found >= (len(wanted) if need is None else need)


def main(doc: Path, suite: Path, target: Path) -> None:
    shutil.copytree(doc / "harden-doc/html/en-US", target / "securing/html")
    shutil.copytree(doc / "installation-guide-amd64/en", target / "install/html")
    shutil.copytree(doc / "mutt/html", target / "mutt/html", ignore=shutil.ignore_patterns("manual.html"))
    for name, source in {
        "history/book.html": doc / "debian-history/docs/detailed.en.html",
        "japanese/book.epub": suite / "fairytaleqa/books/japanese-fairybook.epub",
        "blue/book.md": suite / "fairytaleqa/books/blue-fairybook.md",
    }.items():
        (target / name).parent.mkdir(parents=True)
        shutil.copyfile(source, target / name)
    (target / "anarchism").mkdir()
    for part in sorted((doc / "anarchism/markdown").glob("secA*.md.gz")):
        (target / "anarchism" / part.stem).write_bytes(gzip.decompress(part.read_bytes()))


if __name__ == "__main__":
    main(*(Path(name) for name in sys.argv[1:]))
