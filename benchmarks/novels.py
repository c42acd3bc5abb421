"""Asks readers' questions of whole narratives, and counts the answers that have the words which answer.

    python -m benchmarks.novels DATA QUESTIONS [--book treasure-island] [--part test] [--rows FILE] [--show]

DATA is the folder with `books.jsonl.xz`, QUESTIONS the kept file of `training/novels.py`. Each book is added
to a library of its own. An answer is right if it has the words of a place that answers, or for a cause or a
manner at least half of them, and placed if it cites a paragraph that answers. Questions of the kind `absent`
should be refused. The part `fit` is learnt from, `tune` is chosen with, `test` is only measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from training.passages import find_part, read_books, read_rows

from octavo.library import Library
from octavo.settings import Settings
from octavo.types import Answer

Row = dict[str, Any]
_WORDS = re.compile(r"\w+")
_SMALL = re.compile(r"a|an|the|of|to|in|on|at|by|and|or|is|was|were|be|been|his|her|its|their|my|your")


def write_book(chapters: list[list[str]], path: Path) -> None:
    parts = []
    for number, (title, *paragraphs) in enumerate(chapters):
        parts.append(f"# {title or f'Part {number + 1}'}\n\n" + "\n\n".join(map(escape, paragraphs)))
    path.write_text("\n\n".join(parts), encoding="utf-8")


def escape(paragraph: str) -> str:
    """A paragraph that Markdown takes for nothing else."""
    return re.sub(r"([\\`*_<>#\[\]|~])", r"\\\1", re.sub(r"^(\d+)([.)])", r"\1\\\2", paragraph))


def list_words(text: str) -> list[str]:
    return [word for word in _WORDS.findall(text.lower()) if not _SMALL.fullmatch(word)]


def has_answer(said: str, wanted: Iterable[str], *, told: bool) -> bool:
    have = set(list_words(said))
    for words in map(list_words, wanted):
        share = sum(word in have for word in words) / max(1, len(words))
        if share == 1 or (told and len(words) > 2 and share >= 0.5):
            return True
    return False


def judge(row: Row, answer: Answer, chapters: list[list[str]]) -> Row:
    cut = [(chapters[c][p], chapters[c][p][start:end]) for c, p, start, end, *_ in row["right"]]
    told = row["kind"] in ("why", "how", "what", "yesno")
    refused = answer.refusal is not None
    quoted = [" ".join(citation.content_snippet.split()) for citation in answer.citations]
    return {
        "q": row["q"],
        "kind": row["kind"],
        "refused": refused,
        "right": not refused and has_answer(answer.content, [words for _, words in cut], told=told),
        "placed": any(quote in paragraph for quote in quoted for paragraph, _ in cut),
        "confidence": round(answer.confidence, 3),
        "said": answer.content,
    }


async def ask_book(name: str, chapters: list[list[str]], asked: list[Row]) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name.split('_')[1]}.md"
        write_book(chapters, path)
        async with Library.open(settings=Settings(data=Path(folder) / "library")) as library:
            book = await library.add(path)
            return [
                {"book": name} | judge(row, await library.ask(row["q"], book_id=book.id), chapters)
                for row in asked
            ]


def show_table(rows: list[Row]) -> None:
    kinds: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        kinds[row["kind"]].append(row)
        if row["kind"] != "absent":
            kinds["all that are answered"].append(row)
    print("| kind | questions | right | placed | refused | wrong and sure | mean confidence of answers |")
    print("|---|---|---|---|---|---|---|")
    for kind, given in sorted(kinds.items()):
        counts = [sum(bool(row[name]) for row in given) for name in ("right", "placed", "refused")]
        sure = [row for row in given if not row["refused"] and not row["right"] and row["confidence"] >= 0.5]
        answered = [row["confidence"] for row in given if not row["refused"]]
        mean = sum(answered) / max(1, len(answered))
        cells = [kind, str(len(given)), *(f"{count / len(given):.2f}" for count in counts)]
        print(f"| {' | '.join(cells)} | {len(sure)} | {mean:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--book", default="")
    parser.add_argument("--part", default="tune", choices=("fit", "tune", "test"))
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    books = read_books(given.data)
    asked: dict[str, list[Row]] = defaultdict(list)
    for row in read_rows(given.questions):
        if given.book in row["book"] and (given.book or find_part(row["book"]) == given.part):
            asked[row["book"]].append(row)
    rows = [row for name in asked for row in asyncio.run(ask_book(name, books[name], asked[name]))]
    for row in rows if given.show else ():
        mark = "refused" if row["refused"] else "right" if row["right"] else "WRONG"
        print(f"{mark} {row['confidence']:.2f} [{row['kind']}] {row['q']}\n    {row['said'][:300]!r}")
    if given.rows:
        given.rows.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    show_table(rows)


if __name__ == "__main__":
    main()
