"""Reads the prose of HTML manuals into `manuals.jsonl.xz`, in the form of `books.jsonl.xz`.

    python training/manuals.py NAME=FOLDER [NAME=FOLDER ...] TARGET

DATA.md names the manuals and their licences. Pages without prose (indexes, source code, lists of changes) and
paragraphs that are mostly code are left out.
"""

from __future__ import annotations

import json
import lzma
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from octavo.errors import OctavoError
from octavo.limits import Limits
from octavo.readers import read_book

LEFT_OUT = re.compile(
    r"genindex|search|modindex|_modules|_sources|change(log|s)|release|c3ref|whatsnew|bookindex"
)
BLANK = re.compile(r"\n\s*\n")


def is_prose(paragraph: str) -> bool:
    letters = sum(c.isalpha() or c in " ,." for c in paragraph)
    return len(paragraph.split()) >= 8 and letters > 0.88 * len(paragraph)


def read_manual(name: str, folder: Path) -> Iterator[dict[str, object]]:
    for path in sorted(folder.rglob("*.html")):
        if LEFT_OUT.search(str(path.relative_to(folder))):
            continue
        try:
            book = read_book(path, Limits())
        except OctavoError:
            continue
        for section in book.sections:
            paragraphs = [" ".join(part.split()) for part in BLANK.split(section.text)]
            kept = [part for part in paragraphs if is_prose(part)]
            if kept:
                yield {"book": name, "title": section.title, "paragraphs": kept}


def main(*said: str) -> None:
    *manuals, target = said
    with lzma.open(target, "wt", encoding="utf-8") as file:
        for manual in manuals:
            name, folder = manual.split("=", 1)
            many = 0
            for row in read_manual(name, Path(folder)):
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                many += 1
            print(f"{name}: {many:,} sections", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
