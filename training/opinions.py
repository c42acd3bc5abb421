"""Keeps what a strong reader says of the passages that Octavo's small reader puts first, and learns from it.

    PYTHONPATH=training python -m training.opinions mine LIBRARY TARGET [--each 66] BOOK [BOOK ...]
    PYTHONPATH=training python -m training.opinions pack LIBRARY SAID KEPT

LIBRARY is what `mined.py gather` wrote. `mine` asks the models that ship about each of the books: TARGET has
a line for each question, with the six passages that come first for the small reader and that nobody named.
SAID has a line for each of these questions: `book`, `q`, and `said`, the number of each passage with 2 (it
answers), 1 (in part, or only together with what stands elsewhere) or 0 (it does not). KEPT
(`labels/opinions.jsonl.xz`) has a checksum of each passage's words beside its number, so that passages that
were cut in another way are left out.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

if TYPE_CHECKING:
    from octavo.models.cross_encoders import Reader
    from octavo.models.embedding import OnnxEmbedder

READ, FIRST = 30, 6  # passages that the small reader reads, and those that a strong reader is asked about
ODDS = {2: 3.0, 1: -0.5, 0: -4.0}  # the log-odds that a passage answers
NAMED, SEEMING, NEAR = 2.5, -2.5, -2.5  # ... that its writer named, that only seems to, that shares words
SKIPPED, OTHERS = 3, 10  # passages that share most words often answer; so many others for a question
Row = dict[str, Any]


def read_library(library: Path) -> Iterator[Row]:
    with lzma.open(library, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def mine(library: Path, target: Path, books: Sequence[str], each: int) -> None:
    from octavo.models.cross_encoders import Reader
    from octavo.models.embedding import OnnxEmbedder
    from octavo.models.weights import find_weights

    embedder = OnnxEmbedder(find_weights("minilm-int8", cache=target.parent), threads=1)
    reader = Reader(threads=1)
    with target.open("w") as out:
        for book in read_library(library):
            if book["book"] in books:
                asked = list(book["asked"])
                random.Random(book["book"]).shuffle(asked)
                for row in mine_book(book, asked[:each], embedder, reader):
                    out.write(json.dumps(row, ensure_ascii=False) + "\n")
                print(book["book"], flush=True)


def mine_book(book: Row, asked: Sequence[Row], embedder: OnnxEmbedder, reader: Reader) -> Iterator[Row]:
    import numpy as np
    from mined import Headed, mix, order_by_small

    from octavo.models.cross_encoders import HeadedText

    passages, read = book["passages"], Headed(book["passages"])
    vectors = np.array(embedder.embed([f"{heading}\n{text}" for heading, text in passages]))
    for row in asked:
        near = np.array(embedder.embed([row["q"]]))[0] @ vectors.T
        found = mix(row["words"], near)[:READ]
        scores = reader.read(row["q"], [HeadedText(read[n]) for n, _ in found])
        given = [[n, s, one.rank, one.answerable] for (n, s), one in zip(found, scores, strict=True)]
        right = {n for n, *_ in row["right"]}
        first = [int(one[0]) for one in order_by_small(given) if one[0] not in right][:FIRST]
        yield {"book": book["book"], "q": row["q"], "first": first}


def pack(library: Path, said: Path, kept: Path) -> None:
    passages = {book["book"]: book["passages"] for book in read_library(library)}
    merged = merge([json.loads(line) for line in said.read_text(encoding="utf-8").splitlines()])
    with lzma.open(kept, "wt", encoding="utf-8") as file:
        for (book, question), opinions in merged.items():
            texts = passages[book]
            own = [[n, sum_up(texts[n][1]), opinion] for n, opinion in opinions.items()]
            file.write(json.dumps({"book": book, "q": question, "said": own}) + "\n")
    print(f"{len(merged):,} questions, {Counter(o for one in merged.values() for o in one.values())}")


def merge(rows: Sequence[Row]) -> dict[tuple[str, str], dict[int, int]]:
    """What was said of each passage of a question. One that was judged twice, in two ways, is left out."""
    heard: dict[tuple[str, str], dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for row in rows:
        for n, opinion in row["said"].items():
            heard[row["book"], row["q"]][int(n)].add(opinion)
    return {
        asked: {n: min(every) for n, every in opinions.items() if len(every) == 1}
        for asked, opinions in heard.items()
    }


def sum_up(text: str) -> int:
    return crc32(text.encode())


def read_opinions(library: Path, kept: Path, part: str, *, around: int = 0, between: str = ": ") -> list[Row]:
    """Questions with Octavo's own passages: those that answer, and others with the log-odds that they do."""
    from mined import Headed

    said = {(row["book"], row["q"]): row["said"] for row in read_library(kept)}
    made = []
    for book in read_library(library):
        if book["part"] == part:
            read = Headed(book["passages"], between, around)
            for row in book["asked"]:
                opinions = {
                    n: ODDS[opinion]
                    for n, known, opinion in said.get((book["book"], row["q"]), ())
                    if n < len(book["passages"]) and sum_up(book["passages"][n][1]) == known
                }
                made.append(make_row(read, row, opinions))
    return made


def make_row(read: Any, row: Row, opinions: dict[int, float]) -> Row:
    """A question with `right`, and `others` with their log-odds, as `mined.make_row` makes them.

    A passage with the words that answer around it is right as well. `said` tells whether anybody was asked.
    """
    odds = opinions | {n: SEEMING for n in row["wrong"] if n not in opinions}
    for n, _ in row["words"][SKIPPED:]:
        if len(odds) < OTHERS:
            odds.setdefault(int(n), NEAR)
    right: dict[int, Row] = {}
    for n in dict.fromkeys([*(n for n, *_ in row["right"]), *odds]):
        for words in row["right"]:
            if n not in right and (place := read.place(n, words)):
                start, end = place
                right[n] = {"t": read[n], "a": read[n][start:end], "s": start, "z": NAMED}
    others = [[read[n], z] for n, z in odds.items() if n not in right]
    return {"q": row["q"], "right": list(right.values()), "others": others, "said": bool(opinions)}


def main() -> None:
    known = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tasks = known.add_subparsers(dest="task", required=True)
    mining, packing = tasks.add_parser("mine"), tasks.add_parser("pack")
    for name in ("library", "target"):
        mining.add_argument(name, type=Path)
    mining.add_argument("books", nargs="+")
    mining.add_argument("--each", type=int, default=66, help="questions about each book")
    for name in ("library", "said", "kept"):
        packing.add_argument(name, type=Path)
    given = known.parse_args()
    if given.task == "mine":
        mine(given.library, given.target, given.books, given.each)
    else:
        pack(given.library, given.said, given.kept)


if __name__ == "__main__":
    main()
