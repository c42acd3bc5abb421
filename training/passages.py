"""Draws passages of books for people or models who write claims and questions about them.

    python training/passages.py DATA SUITE TARGET

DATA holds `books.jsonl.xz` and `manuals.jsonl.xz`, SUITE is the development suite. A passage is 90 to 260
words of prose that follow each other in one section. It lies in one part: `fit` to learn from, `tune` to
choose with, `test` to measure with. The parts have no book in common, and of the suite nothing is in `fit`.
"""

from __future__ import annotations

import json
import lzma
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from octavo.errors import OctavoError
from octavo.limits import Limits
from octavo.readers import read_book
from octavo.text.sentences import split_sentences

TEXTBOOKS = frozenset(
    {
        "american-government",
        "astronomy",
        "college-physics-bundle",
        "introduction-business",
        "introduction-philosophy",
        "introduction-sociology",
        "microbiology",
        "psychology",
        "us-history",
        "world-history",
        "physical-ai",
    }
)
TEST = frozenset(
    {
        "robert-louis-stevenson_treasure-island",
        "john-stuart-mill_on-liberty",
        "astronomy",
        "introduction-sociology",
        "rust-book",
        "debian-policy",
        "andersen-fairybook",
        "chinese-fairybook",
        "report-boeing",
        "physical-ai",
        "moby-dick",
        "encyclopaedia-1973_oil_crisis",
        "encyclopaedia-European_Union_law",
        "encyclopaedia-French_and_Indian_War",
    }
)
TUNE = frozenset(
    {
        "bram-stoker_dracula",
        "psychology",
        "scrapy-manual",
        "debian-handbook",
        "ragflow-docs",
        "grimm-fairybook",
        "japanese-fairybook",
        "report-adobe",
        "report-amcor",
        "report-americanexpress",
        "encyclopaedia-Huguenot",
        "encyclopaedia-Imperialism",
    }
)
REPORTS = ("ADOBE_2022_10K", "AMCOR_2023_10K", "AMERICANEXPRESS_2022_10K", "BOEING_2022_10K")
ASKED = "question-passages"
SHORTEST, LONGEST, ENOUGH, MOST = 90, 260, 120, 230
BLANK = re.compile(r"\n\s*\n")
Passages = dict[str, tuple[str, list[tuple[str, str]]]]


def split_text(text: str) -> list[str]:
    return [text[span.start : span.end] for span in split_sentences(text)]


def join_paragraphs(paragraphs: Iterable[str]) -> Iterator[str]:
    """Paragraphs that follow each other, joined or parted to passages."""
    held: list[str] = []
    words = 0
    for paragraph in paragraphs:
        size = len(paragraph.split())
        if size > LONGEST:
            if words >= SHORTEST:
                yield " ".join(held)
            yield from _part(paragraph)
            held, words = [], 0
            continue
        if words + size > MOST:
            if words >= SHORTEST:
                yield " ".join(held)
            held, words = [], 0
        held.append(paragraph)
        words += size
        if words >= ENOUGH:
            yield " ".join(held)
            held, words = [], 0


def _part(paragraph: str) -> Iterator[str]:
    held: list[str] = []
    words = 0
    for sentence in split_text(paragraph):
        held.append(sentence)
        words += len(sentence.split())
        if words >= ENOUGH:
            yield " ".join(held)
            held, words = [], 0


def is_good(passage: str) -> bool:
    """Whether this is prose of a fit length, with no table and no endless sentence."""
    if not SHORTEST <= len(passage.split()) <= LONGEST:
        return False
    letters = sum(c.isalpha() or c in " ,." for c in passage)
    sentences = split_text(passage)
    longest = max(len(s.split()) for s in sentences)
    return (
        letters > 0.9 * len(passage) and 3 <= len(sentences) <= 14 and passage.count("|") < 3 and longest < 90
    )


def open_text(path: Path) -> IO[str]:
    if path.suffix == ".xz":
        return lzma.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    with open_text(path) as lines:
        yield from (json.loads(line) for line in lines)


def read_books(data: Path) -> dict[str, list[list[str]]]:
    """The paragraphs of each chapter, each with single spaces. The title of a chapter is its paragraph 0."""
    found: dict[str, list[list[str]]] = defaultdict(list)
    for row in read_rows(data / "books.jsonl.xz"):
        texts = [p if isinstance(p, str) else p["text"] for p in row["paragraphs"]]
        found[row["book"]].append([" ".join(text.split()) for text in (row["title"], *texts)])
    return found


def read_sections(paths: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Title and passage of every section of these files."""
    for path in paths:
        try:
            book = read_book(path, Limits())
        except OctavoError:
            continue
        for section in book.sections:
            paragraphs = [" ".join(part.split()) for part in BLANK.split(section.text)]
            yield from ((section.title, p) for p in join_paragraphs(p for p in paragraphs if p))


def read_asked(data: Path) -> Iterator[str]:
    """Passages of the sets of questions: articles, news, reviews, talk."""
    wanted = {row["c"] for row in read_rows(data / "qa.jsonl.xz") if "squad" in row["set"]}
    yield from (row["t"] for row in read_rows(data / "contexts.jsonl.xz") if row["i"] in wanted)


def list_passages(data: Path, suite: Path) -> Passages:
    """The passages of every book, with its kind."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    kinds: dict[str, str] = {}
    for name in ("books", "manuals"):
        path = data / f"{name}.jsonl.xz"
        if not path.exists():
            print(f"{path} is missing: its passages are left out", file=sys.stderr)
            continue
        for row in read_rows(path):
            texts = [p if isinstance(p, str) else p["text"] for p in row["paragraphs"]]
            found[row["book"]] += [(row["title"], p) for p in join_paragraphs(texts)]
            kinds[row["book"]] = "manual" if name == "manuals" else "novel"
    found[ASKED] = [("", text) for text in read_asked(data)]
    kinds[ASKED] = "web"
    for row in read_rows(suite / "squad2_book" / "contexts.jsonl"):
        found[f"encyclopaedia-{row['title']}"].append((row["title"], row["text"]))
        kinds[f"encyclopaedia-{row['title']}"] = "encyclopaedia"
    for row in read_rows(suite / "fairytaleqa" / "sections.jsonl"):
        found[row["book"]] += [(row["story"], p) for p in join_paragraphs([row["text"]])]
        kinds[row["book"]] = "tale"
    formats = suite / "formats"
    others = {
        "rust-book": ("manual", sorted((suite / "rust_book" / "book_md").rglob("*.md"))),
        "debian-policy": ("manual", sorted((formats / "debian_policy").glob("*.epub"))),
        "debian-handbook": ("manual", sorted((formats / "debian_handbook_html").glob("*.html"))),
        "ragflow-docs": ("manual", sorted((formats / "docusaurus_ragflow_docs_Apache2").rglob("*.md*"))),
        "physical-ai": ("textbook", sorted((formats / "docusaurus_physical_ai_MIT").rglob("*.md*"))),
        "moby-dick": ("novel", [formats / "epub3_samples" / "moby-dick.epub"]),
    }
    for report in REPORTS:
        path = suite / "financebench_pdf" / "pdfs" / f"{report}.pdf"
        others[f"report-{report.split('_')[0].lower()}"] = ("report", [path])
    for book, (kind, paths) in others.items():
        found[book], kinds[book] = list(read_sections(paths)), kind
    return {
        book: ("textbook" if book in TEXTBOOKS else kinds[book], [p for p in passages if is_good(p[1])])
        for book, passages in found.items()
    }


def find_part(book: str) -> str:
    """The part that a book lies in. One of the suite that is not in `tune` or `test` lies in none."""
    if book in TEST or book in TUNE:
        return "test" if book in TEST else "tune"
    return "" if book.startswith("encyclopaedia-") or book.endswith("-fairybook") else "fit"


def main(data: Path, suite: Path, target: Path, *, most: int = 68) -> None:
    drawn = []
    for book, (kind, passages) in sorted(list_passages(data, suite).items()):
        part = find_part(book)
        if not part or book == ASKED:
            continue
        every = list(dict.fromkeys(passages))
        random.Random(f"passages:{book}").shuffle(every)
        for number, (heading, text) in enumerate(every[: most if part == "fit" else 20]):
            about = {"id": f"{book}/{number}", "book": book, "kind": kind, "part": part, "heading": heading}
            drawn.append(about | {"sentences": split_text(text)})
    target.write_text(json.dumps(drawn, ensure_ascii=False, indent=1), encoding="utf-8")
    print(f"{len(drawn):,} passages of {len({row['book'] for row in drawn})} books")


if __name__ == "__main__":
    main(*(Path(name) for name in sys.argv[1:]))
