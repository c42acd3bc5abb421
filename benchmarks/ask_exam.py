"""Asks the questions of an exam in one process, and keeps the library for the next time.

    python -m benchmarks.ask_exam TARGET EXAM LIBRARY [--answers FILE]

TARGET has the books as `benchmarks.second_exam` and its sisters write them, EXAM the questions
(`benchmarks/questions/`). Answers are judged by the rules of the suite's `exam.py`, which asks a running
service; here each question is asked of its book alone. `--answers` keeps what was said, a line of JSON for
each question.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.fitting_exam import has_all
from benchmarks.suite import Row, rows
from octavo.library import Library

SURE = 0.5


@dataclass(frozen=True, slots=True)
class Judged:
    """An answer to a question of an exam, and what became of it."""

    id: str
    type: str
    book: str
    answerable: bool
    refused: bool
    right: bool
    confidence: float
    said: str

    @property
    def wrong_and_sure(self) -> bool:
        return not self.refused and not self.right and self.confidence >= SURE


async def ask_all(asked: Sequence[Row], target: Path, folder: Path) -> AsyncIterator[Judged]:
    async with Library.open(folder) as library:
        books = dict.fromkeys(str(row["book"]) for row in asked)
        ids = {book: (await library.add(target / book, title=book)).id for book in books}
        for row in asked:
            answer = await library.ask(row["question"], book_id=ids[row["book"]])
            refused = answer.refusal is not None
            right = not refused and has_all(answer.content, row["must"], row.get("need"))
            about = {name: row[name] for name in ("id", "type", "book", "answerable")}
            yield Judged(
                **about, refused=refused, right=right, confidence=answer.confidence, said=answer.content
            )


def tell(name: str, judged: Sequence[Judged]) -> str:
    can = [one for one in judged if one.answerable]
    absent = [one for one in judged if not one.answerable]
    given = [one for one in judged if not one.refused]
    return (
        f"{name:20} right {sum(one.right for one in can)} of {len(can)}, "
        f"refused {sum(one.refused for one in absent)} of {len(absent)}, "
        f"wrong and sure {sum(one.wrong_and_sure for one in judged)} of {len(judged)}, "
        f"right of those answered {sum(one.right for one in given)} of {len(given)}"
    )


def group(judged: Iterable[Judged], by: str) -> dict[str, list[Judged]]:
    groups: defaultdict[str, list[Judged]] = defaultdict(list)
    for one in judged:
        groups[getattr(one, by)].append(one)
    return dict(sorted(groups.items()))


def report(judged: Sequence[Judged], answers: Path | None) -> None:
    """Print what became of the questions, by type and book too, and keep what was said."""
    print(tell("all", judged))
    for by in ("type", "book"):
        for name, some in group(judged, by).items():
            print(tell(name, some))
    if answers:
        lines = (json.dumps(asdict(one), ensure_ascii=False) for one in judged)
        answers.write_text("\n".join(lines) + "\n", encoding="utf-8")


async def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("target", "exam", "library"):
        options.add_argument(name, type=Path)
    options.add_argument("--answers", type=Path)
    given = options.parse_args()
    judged = [one async for one in ask_all(list(rows(given.exam)), given.target, given.library)]
    report(judged, given.answers)


if __name__ == "__main__":
    asyncio.run(main())
