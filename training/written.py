"""Keeps the claims and questions that a large language model wrote about passages of books.

    python training/written.py expand DATA SUITE KEPT TARGET
    python training/written.py pack TARGET KEPT

TARGET (`written.jsonl.xz`) has a passage in each line: id, part, book, kind, heading, sentences, claims (c
text, s numbers of the sentences that it is about, k in which ways it was made, honest) and questions (q, and
a the words that answer, or null). KEPT has the same without the words of the books. A passage is known by the
beginning of its SHA-256, and an answer by its place. A claim that is a sentence of the book is known by that
sentence's number, counted from 1. `expand` finds the passages again in DATA and SUITE (`passages.py`) and
says how many.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def pack_row(row: Row) -> Row:
    text = " ".join(row["sentences"])
    numbers = {sentence: n for n, sentence in enumerate(row["sentences"], 1)}
    claims = [c | {"c": numbers.get(c["c"], c["c"])} for c in row["claims"]]
    asked = []
    for q in row["questions"]:
        at = text.find(q["a"]) if q["a"] else -1
        asked.append({"q": q["q"], "a": [at, at + len(q["a"])] if at >= 0 else None})
    about = {name: row[name] for name in ("id", "part", "book", "kind")}
    return about | {"p": digest(text), "claims": claims, "questions": asked}


def expand_row(row: Row, heading: str, sentences: list[str]) -> Row:
    text = " ".join(sentences)
    claims = [c | {"c": sentences[c["c"] - 1]} if isinstance(c["c"], int) else c for c in row["claims"]]
    asked = [{"q": q["q"], "a": text[slice(*q["a"])] if q["a"] else None} for q in row["questions"]]
    about = {name: row[name] for name in ("id", "part", "book", "kind")}
    return about | {"heading": heading, "sentences": sentences, "claims": claims, "questions": asked}


def read_kept(path: Path) -> list[Row]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def write_rows(path: Path, found: Iterable[Row]) -> None:
    with lzma.open(path, "wt", encoding="utf-8", preset=9) as file:
        for row in found:
            file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")


def expand(data: Path, suite: Path, kept: Path, target: Path) -> None:
    from passages import list_passages, split_text

    texts = {}
    for _, passages in list_passages(data, suite).values():
        for heading, text in passages:
            sentences = split_text(text)
            texts[digest(" ".join(sentences))] = heading, sentences
    rows = read_kept(kept)
    write_rows(target, (expand_row(row, *texts[row["p"]]) for row in rows if row["p"] in texts))
    print(f"{sum(row['p'] in texts for row in rows):,} of {len(rows):,} passages found")


def main(task: str, *names: str) -> None:
    paths = [Path(name) for name in names]
    if task == "pack":
        write_rows(paths[1], (pack_row(row) for row in read_kept(paths[0])))
    else:
        expand(*paths)


if __name__ == "__main__":
    main(*sys.argv[1:])
