"""Makes questions with all the passages of their book, to measure an embedder by: nothing is learnt from it.

    python training/retrieval_dev.py DATA SUITE NOVELS TARGET

TARGET (`retrieval.json.xz`) has for each book its passages as they are embedded, and for each question the
numbers of the passages that answer and BM25's fifty best with their scores. The books are those of NOVELS
(`training/labels/novels.jsonl.xz`) that are chosen with, and books of the development suite.
"""

from __future__ import annotations

import asyncio
import json
import lzma
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from training.passages import find_part, read_books, read_rows

from benchmarks.answering_pools import _bm25 as score_words
from benchmarks.novels import write_book
from octavo.ingest.chunking import make_embedded_text
from octavo.library import Library
from octavo.records.catalogue import Records
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.types import Chunk

BEST, MOST = 50, 250
TALES = ("grimm-fairybook", "norwegian-fairybook", "blue-fairybook")
Row = dict[str, Any]


async def list_chunks(path: Path) -> list[Chunk]:
    """The passages of a book in its order."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder), reader="off")
        async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
            book = await library.add(path)
            found = await Records(library.database).list_chunks(book.id)
    return sorted(found, key=lambda chunk: (chunk.document_position, chunk.chunk_index))


def make_set(name: str, given: Sequence[Chunk], asked: Sequence[tuple[str, list[int]]]) -> Row:
    texts = [make_embedded_text(chunk) for chunk in given]
    kept = [(question, right) for question, right in asked if right][:MOST]
    scores = score_words(texts, [question for question, _ in kept])
    rows = []
    for (question, right), own in zip(kept, scores, strict=True):
        best = sorted(range(len(texts)), key=lambda n: -own[n])[:BEST]
        words = [[n, round(float(own[n]), 3)] for n in best if own[n] > 0]
        rows.append({"q": question, "right": right, "words": words})
    print(f"{name}: {len(texts):,} passages, {len(rows)} of {len(asked)} questions")
    return {"name": name, "passages": texts, "questions": rows}


def find_words(texts: Sequence[str], around: Sequence[str]) -> list[int]:
    return [n for n, text in enumerate(texts) if any(part in text for part in around)]


def read_novels(data: Path, novels: Path) -> list[Row]:
    books, found = read_books(data), []
    rows = list(read_rows(novels))
    for name in sorted({row["book"] for row in rows if find_part(row["book"]) == "tune"}):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{name}.md"
            write_book(books[name], path)
            given = asyncio.run(list_chunks(path))
        texts = [" ".join(chunk.content.split()) for chunk in given]
        asked = []
        for row in rows:
            if row["book"] == name:
                places = [
                    books[name][c][p][max(0, start - 12) : end + 12] for c, p, start, end, *_ in row["right"]
                ]
                asked.append((row["q"], find_words(texts, places)))
        found.append(make_set(name, given, asked))
    return found


def read_tales(suite: Path) -> list[Row]:
    rows = list(read_rows(suite / "fairytaleqa" / "qa.jsonl"))
    sections = {row["section_id"]: row["text"] for row in read_rows(suite / "fairytaleqa" / "sections.jsonl")}
    found = []
    for path in sorted((suite / "fairytaleqa" / "books").iterdir()):
        if path.stem not in TALES:
            continue
        given = asyncio.run(list_chunks(path))
        texts = [" ".join(chunk.content.split()) for chunk in given]
        own = [row for row in rows if row["book"] == path.stem and row["answerable"]]
        random.Random(path.stem).shuffle(own)
        asked = []
        for row in own[:MOST]:
            told = " ".join(" ".join(sections[s].split()) for s in row["gold_sections"])
            asked.append((row["question"], [n for n, text in enumerate(texts) if text[20:120] in told]))
        found.append(make_set(path.stem, given, asked))
    return found


def read_articles(suite: Path) -> list[Row]:
    contexts = list(read_rows(suite / "squad2_book" / "contexts.jsonl"))
    given = asyncio.run(list_chunks(suite / "squad2_book" / "book"))
    texts = [" ".join(chunk.content.split()) for chunk in given]
    told = {row["context_id"]: " ".join(row["text"].split()) for row in contexts}
    rows = [row for row in read_rows(suite / "squad2_book" / "qa.jsonl") if row["answerable"]]
    random.Random("articles").shuffle(rows)
    asked = []
    for row in rows[:MOST]:
        own = told[row["context_id"]]
        asked.append((row["question"], [n for n, text in enumerate(texts) if text[10:90] in own]))
    return [make_set("squad2_book", given, asked)]


def main(data: Path, suite: Path, novels: Path, target: Path) -> None:
    found = read_novels(data, novels) + read_tales(suite) + read_articles(suite)
    with lzma.open(target, "wt", encoding="utf-8") as file:
        json.dump(found, file, ensure_ascii=False)


if __name__ == "__main__":
    main(*(Path(name) for name in sys.argv[1:]))
