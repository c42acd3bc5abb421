"""What an answer costs on top of a search, and what a serving process weighs.

    python -m benchmarks.asking BOOK QUESTIONS [--limit 120]

QUESTIONS is a file of JSON lines with a `question` each. CPU times of this process, and their ratio.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.suite import rows
from octavo.library import Library


async def measure(book: Path, questions: list[str], data: Path) -> tuple[float, float]:
    """Median CPU seconds of a search and of an answer; no query is asked twice in the same words."""
    searches, answers = [], []
    async with Library.open(data) as library:
        await library.add(book)
        await library.ask("Is everything warm?")
        for question in questions:
            began = time.process_time()
            await library.search(f"about this: {question}", top_k=5)
            searches.append(time.process_time() - began)
            began = time.process_time()
            await library.ask(question)
            answers.append(time.process_time() - began)
    return statistics.median(searches), statistics.median(answers)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("book", type=Path)
    options.add_argument("questions", type=Path)
    options.add_argument("--limit", type=int, default=120)
    said = options.parse_args()
    questions = [row["question"].strip()[:1000] for row in rows(said.questions)][: said.limit]
    with tempfile.TemporaryDirectory(prefix="octavo-asking-") as data:
        search, answer = asyncio.run(measure(said.book, questions, Path(data)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print("| search, p50 CPU | answer, p50 CPU | ratio | peak memory |\n|---|---|---|---|")
    print(f"| {search * 1000:.1f} ms | {answer * 1000:.1f} ms | {answer / search:.1f} | {peak} MB |")


if __name__ == "__main__":
    main()
