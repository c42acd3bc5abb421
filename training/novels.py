"""Keeps readers' questions about whole books: the places that answer them, and places that only seem to.

    python training/novels.py pack DATA WRITTEN KEPT
    python training/novels.py expand DATA KEPT [KEPT ...] TARGET

WRITTEN is a folder with a file for each book of DATA/books.jsonl.xz or DATA/manuals.jsonl.xz, named as the
book. Each line has `q`, `kind` (fact, who, why, how, what, list, yesno, or absent if the book does not say),
`support` (places that answer: `at` as CHAPTER.PARAGRAPH counted from 0 and 1, `quote`, and `answer`, the
words of the quote that answer) and `wrong` (`at`, `quote`). KEPT has offsets in place of the books' words,
and a checksum of the words. A question of which a place has other words, as in another version of a manual,
is left out. TARGET (`novels.jsonl.xz`) has passages of about 120 words around the places: `right` (t, and a
at s), `wrong`, and the part that the book is in.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

from passages import find_part, read_books, read_rows
from written import read_kept, write_rows

from octavo.text.sentences import split_sentences

LEAST, MOST = 120, 200  # words of a passage
Row = dict[str, Any]
Place = list[int]
Books = dict[str, list[list[str]]]


def read_texts(data: Path) -> Books:
    """The paragraphs of each chapter of a book or section of a manual. Its title is its paragraph 0."""
    manuals: Books = defaultdict(list)
    for row in read_rows(data / "manuals.jsonl.xz"):
        manuals[row["book"]].append([" ".join(text.split()) for text in (row["title"], *row["paragraphs"])])
    return read_books(data) | manuals


def pack(data: Path, written: Path, kept: Path) -> None:
    books, rows = read_texts(data), []
    for path in sorted(written.glob("*.jsonl")):
        for row in read_rows(path):
            own = {"book": path.stem, "q": row["q"], "kind": row["kind"]}
            right = [find_place(books[path.stem], s["at"], s["quote"], s["answer"]) for s in row["support"]]
            wrong = [find_place(books[path.stem], s["at"], s["quote"], s["quote"]) for s in row["wrong"]]
            rows.append(own | {"right": right, "wrong": wrong})
    write_rows(kept, rows)
    print(f"{len(rows):,} questions")


def find_place(chapters: Sequence[Sequence[str]], at: str, quote: str, words: str) -> Place:
    """Chapter, paragraph, where the words of the quote begin and end, and their checksum.

    Raises if they are not there.
    """
    chapter, paragraph = (int(number) for number in at.split("."))
    start = chapters[chapter][paragraph].index(quote) + quote.index(words)
    return [chapter, paragraph, start, start + len(words), crc32(words.encode())]


def has_words(chapters: Sequence[Sequence[str]], place: Place) -> bool:
    """Whether the words of a place are still there. Places that were kept without a checksum are."""
    chapter, paragraph, start, end, *checksum = place
    if chapter >= len(chapters) or paragraph >= len(chapters[chapter]):
        return False
    return not checksum or crc32(chapters[chapter][paragraph][start:end].encode()) == checksum[0]


def expand(data: Path, kept: Sequence[Path], target: Path) -> None:
    books = read_texts(data)
    rows, given = [], [row for path in kept for row in read_kept(path)]
    for row in given:
        chapters = books.get(row["book"], [])
        if not all(has_words(chapters, place) for place in (*row["right"], *row["wrong"])):
            continue
        right = [cut_passage(chapters, place) for place in row["right"]]
        rows.append(
            {
                "book": row["book"],
                "part": find_part(row["book"]),
                "q": row["q"],
                "kind": row["kind"],
                "right": [{"t": t, "a": t[start:end], "s": start} for t, start, end in right],
                "wrong": [cut_passage(chapters, place)[0] for place in row["wrong"]],
            }
        )
    write_rows(target, rows)
    places = sum(len(row["right"]) for row in rows)
    print(f"{len(rows):,} of {len(given):,} questions found again, {places:,} places that answer")


def cut_passage(chapters: Sequence[Sequence[str]], place: Place) -> tuple[str, int, int]:
    """A passage around a place, and where the place is in it: whole sentences, then whole paragraphs."""
    chapter, number, start, end = place[:4]
    text = chapters[chapter][number]
    if count(text) > MOST:
        return cut_sentences(text, start, end)
    first = last = number
    while count(text) < LEAST:
        before, after = chapters[chapter][1:first], chapters[chapter][last + 1 :]
        if after and count(text) + count(after[0]) <= MOST:
            last += 1
            text = f"{text} {after[0]}"
        elif before and count(text) + count(before[-1]) <= MOST:
            first -= 1
            start, end = (at + len(before[-1]) + 1 for at in (start, end))
            text = f"{before[-1]} {text}"
        else:
            break
    return text, start, end


def cut_sentences(text: str, start: int, end: int) -> tuple[str, int, int]:
    spans = split_sentences(text)
    first = next(n for n, span in enumerate(spans) if span.end > start)
    last = next((n for n, span in enumerate(spans) if span.end >= end), len(spans) - 1)
    while count(text[spans[first].start : spans[last].end]) < LEAST:
        if last + 1 < len(spans):
            last += 1
        elif first:
            first -= 1
        else:
            break
    at = spans[first].start
    return text[at : spans[last].end], start - at, end - at


def count(text: str) -> int:
    return len(text.split())


def main(task: str, *names: str) -> None:
    data, *given, target = (Path(name) for name in names)
    if task == "pack":
        pack(data, *given, target)
    else:
        expand(data, given, target)


if __name__ == "__main__":
    main(*sys.argv[1:])
