"""The development suite as books and questions with gold passages, by the rules of its own scorer."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from octavo.types import Chunk

Row = dict[str, Any]
WORDS = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Item:
    """A question, the book it is asked of (None: the only one), and which chunks count as found."""

    question: str
    book: str | None
    is_gold: Callable[[Chunk], bool]


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """`titled` says whether the books are added with their names here as titles; else they have their own."""

    name: str
    books: tuple[tuple[str, Path], ...]
    items: tuple[Item, ...]
    titled: bool = True


def rows(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def bare(text: str) -> list[str]:
    """The words without articles, as the suite's scorer compares them."""
    return [word for word in WORDS.findall(text.lower()) if word not in ("a", "an", "the")]


def grams(text: str) -> frozenset[tuple[str, ...]]:
    words = WORDS.findall(text.lower())
    return frozenset(tuple(words[i : i + 5]) for i in range(max(1, len(words) - 4)))


def covers(*golds: str) -> Callable[[Chunk], bool]:
    """A chunk finds a gold passage when either holds at least half of the other's word 5-grams."""
    wanted = [grams(gold) for gold in golds]

    def found(chunk: Chunk) -> bool:
        have = grams(chunk.content)
        return any(len(have & gold) >= 0.5 * min(len(gold), len(have)) for gold in wanted)

    return found


def load(suite: Path, name: str, limit: int) -> QuestionSet:
    made = {
        "squad2_book": _squad,
        "fairytaleqa": _fairytale,
        "rust_book": _rust,
        "financebench_pdf": _finance,
        "pdf_manuals": _manuals,
        "stated_measures": _stated_measures,
    }
    books, items = made[name](suite / name)
    chosen = items if not limit or len(items) <= limit else random.Random(5).sample(items, limit)
    return QuestionSet(
        name, tuple(books), tuple(chosen), titled=name not in ("financebench_pdf", "stated_measures")
    )


def _squad(base: Path) -> tuple[list[tuple[str, Path]], list[Item]]:
    texts = {r["context_id"]: covers(r["text"]) for r in rows(base / "contexts.jsonl")}
    asked = [r for r in rows(base / "qa.jsonl") if r["answerable"]]
    return [("encyclopaedia", base / "book")], [
        Item(r["question"], None, texts[r["context_id"]]) for r in asked
    ]


def _fairytale(base: Path) -> tuple[list[tuple[str, Path]], list[Item]]:
    texts = {r["section_id"]: r["text"] for r in rows(base / "sections.jsonl")}
    books = [(re.sub(r"_html$", "", p.name.split(".")[0]), p) for p in sorted((base / "books").iterdir())]
    names = {name for name, _ in books}
    items = [
        Item(r["question"], r["book"], covers(*(texts[g] for g in r["gold_sections"] if g in texts)))
        for r in rows(base / "qa.jsonl")
        if r["book"] in names
    ]
    return books, items


def _rust(base: Path) -> tuple[list[tuple[str, Path]], list[Item]]:
    def in_file(name: str) -> Callable[[Chunk], bool]:
        return lambda chunk: Path(chunk.source_file).name == Path(name).name

    asked = [r for r in rows(base / "qa.jsonl") if r.get("type") != "Tracing" and r["question"].strip()]
    items = [Item(r["question"].strip()[:1000], None, in_file(r["gold_file"])) for r in asked]
    return [("rust-book", base / "book_md")], items


def on_page(pages: set[int]) -> Callable[[Chunk], bool]:
    return lambda chunk: chunk.page_number in pages


def _manuals(base: Path) -> tuple[list[tuple[str, Path]], list[Item]]:
    """Our own questions to manuals that Debian 12 packages; `base` has their PDFs.

    They are `debian-reference.en.pdf` of debian-reference-en and `sdccman.pdf` of sdcc-doc.
    """
    items = _read_questions("pdf_questions.tsv")
    return [(name, base / f"{name}.pdf") for name in sorted({item.book or "" for item in items})], items


def _read_questions(name: str) -> list[Item]:
    """Read our own questions, each with its book and the pages that answer it."""
    asked = (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
    return [
        Item(question, book, on_page({int(page) for page in pages.split(",")}))
        for book, pages, question in (line.split("\t") for line in asked)
    ]


def _stated_measures(base: Path) -> tuple[list[tuple[str, Path]], list[Item]]:
    """Our own questions for measures of accounting that five of the reports of financebench_pdf state."""
    items = _read_questions("stated_measures.tsv")
    books, _ = _finance(base.parent / "financebench_pdf")
    return [book for book in books if book[0] in {item.book for item in items}], items


def _finance(base: Path) -> tuple[list[tuple[str, Path]], list[Item]]:
    books = [(p.stem.lower().replace("_", "-"), p) for p in sorted((base / "pdfs").glob("*.pdf"))]
    names = {name for name, _ in books}
    items = []
    for r in rows(base / "qa.jsonl"):
        name = Path(r["doc"]).stem.lower().replace("_", "-")
        if name in names:
            items.append(Item(r["question"], name, on_page({e["page_index0"] + 1 for e in r["evidence"]})))
    return books, items
