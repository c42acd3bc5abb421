"""Whether the gap report names what is missing.

    python -m benchmarks.gaps SUITE [--book tales] [--others 250] [--seed 17]

Takes 20 sections out of a book of the development suite, asks the questions about them and some others, and
reads the report. A missing section is named when it is what at least half of the questions of one of the
first 25 entries ask about.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from benchmarks.suite import rows
from octavo.library import Library
from octavo.settings import Settings

MISSING, ENTRIES, SEED = 20, 25, 17


class Trial(NamedTuple):
    """What to ask, each with the section that answers it, and the sections that were taken out."""

    asked: list[tuple[str, str]]
    missing: set[str]


def make_encyclopaedia(base: Path, folder: Path, chance: random.Random, *, others: int) -> Trial:
    """Every paragraph is a section."""
    asked = [(r["question"], r["context_id"]) for r in rows(base / "qa.jsonl") if r["answerable"]]
    counts = Counter(section for _, section in asked)
    missing = set(chance.sample(sorted(s for s, n in counts.items() if n >= 3), MISSING))
    pages: dict[str, list[str]] = {}
    for row in rows(base / "contexts.jsonl"):
        name, _, number = row["context_id"].partition("#")
        title = name.replace("_", " ")
        page = pages.setdefault(name, [f"# {title}\n"])
        if row["context_id"] not in missing:
            page.append(f"## {title}, part {int(number) + 1}\n\n{row['text']}\n")
    for name, parts in pages.items():
        (folder / f"{name}.md").write_text("\n".join(parts), encoding="utf-8")
    return Trial(_choose(asked, missing, chance, others=others), missing)


def make_tales(base: Path, folder: Path, chance: random.Random, *, others: int) -> Trial:
    """Every tale is a section."""
    asked = [(r["question"], r["story"]) for r in rows(base / "qa.jsonl") if r["book"] == "chinese-fairybook"]
    missing = set(chance.sample(sorted({section for _, section in asked}), MISSING))
    for path in (base / "books" / "chinese-fairybook_html").glob("*.html"):
        if re.sub(r"^\d+-", "", path.stem) not in missing:
            shutil.copy(path, folder)
    return Trial(_choose(asked, missing, chance, others=others), missing)


def make_stories(base: Path, folder: Path, chance: random.Random, *, others: int) -> Trial:
    """Every story or article is a section; five questions about each, of those that only one of them has."""
    found = [(r["question"], r["context_id"]) for r in rows(base / "qa.jsonl") if r["answerable"]]
    counts = Counter(question for question, _ in found)
    by_section: dict[str, list[str]] = {}
    for question, section in found:
        if counts[question] == 1:
            by_section.setdefault(section, []).append(question)
    missing = set(chance.sample(sorted(by_section), MISSING))
    for row in rows(base / "contexts.jsonl"):
        if row["context_id"] not in missing:
            page = folder / f"{row['context_id']}.md"
            page.write_text(f"# {row['title']}\n\n{row['text']}\n", encoding="utf-8")
    asked = [
        (question, section)
        for section, all_ in sorted(by_section.items())
        for question in chance.sample(all_, min(5, len(all_)))
    ]
    return Trial(_choose(asked, missing, chance, others=others), missing)


def _choose(
    asked: list[tuple[str, str]], missing: set[str], chance: random.Random, *, others: int
) -> list[tuple[str, str]]:
    """All questions about what is missing, and some of the others, shuffled."""
    rest = [each for each in asked if each[1] not in missing]
    chosen = [each for each in asked if each[1] in missing] + chance.sample(rest, min(others, len(rest)))
    chance.shuffle(chosen)
    return chosen


BOOKS = {
    "encyclopaedia": ("squad2_book", make_encyclopaedia),
    "tales": ("fairytaleqa", make_tales),
    "stories": ("quail", make_stories),
}


def find_named(entries: Iterable[Iterable[str]], trial: Trial) -> set[str]:
    about = dict(trial.asked)
    named = set()
    for questions in entries:
        counts = Counter(about[question] for question in questions)
        section, count = counts.most_common(1)[0]
        if section in trial.missing and 2 * count >= counts.total():
            named.add(section)
    return named


async def measure(suite: Path, name: str, *, others: int, seed: int = SEED) -> None:
    part, make = BOOKS[name]
    with tempfile.TemporaryDirectory() as folder:
        pages = Path(folder) / "book"
        pages.mkdir()
        trial = make(suite / part, pages, random.Random(seed), others=others)
        async with Library.open(settings=Settings(data=Path(folder) / "data", reader="small")) as library:
            book = await library.add(pages, title=name)
            for question, _ in trial.asked:
                await library.ask(question, book_id=book.id)
            report = await library.gaps(book.id, limit=ENTRIES)
    named = find_named((gap.questions for gap in report.gaps), trial)
    gone = sum(section in trial.missing for _, section in trial.asked)
    print(
        f"{name}: {len(trial.asked)} questions, {gone} of them about missing sections; "
        f"{report.open_count} without a good answer, in {report.gap_count} groups"
    )
    print(f"{len(named)} of {MISSING} missing sections are named among the first {ENTRIES} entries")
    for gap in report.gaps:
        print(f"  {gap.count:3} {gap.question}  ({', '.join(gap.topic)})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--book", choices=sorted(BOOKS), default="encyclopaedia")
    parser.add_argument("--others", type=int, default=250)
    parser.add_argument("--seed", type=int, default=SEED, help="which sections are taken out")
    given = parser.parse_args()
    asyncio.run(measure(given.suite, given.book, others=given.others, seed=given.seed))


if __name__ == "__main__":
    main()
